"""Makes the command that starts a viewer, or another process of twixt, from any program. Also makes the search path of
a viewer.

Usually `sys.executable` is a Python interpreter. In a frozen program, or in a program that embeds Python,
`sys.executable` is the user's program. If the user's program were started as a viewer, it would run the user's loop
again. That loop would start another viewer.

Always: the user's program is started only if it is frozen and has called `freeze_support`. A process that was started
as a viewer starts no other viewer. An executable counts as a Python interpreter if its name says so. It is not run to
find this out.
"""

from __future__ import annotations

import os
import sys

import twixt
from twixt.ipc.errors import TwixtError

# Environment variable for the case that `sys.executable` is no Python interpreter. The variable names the Python to
# start, by path or by a name on PATH.
PYTHON_VARIABLE = "TWIXT_PYTHON"
# Hidden commands of a viewer with a window, and of the server of the browser view.
VIEW, SERVE, MEASURE = "_view", "_serve", "_measure"
# Endings of the file name of a Python interpreter, after the version is removed. w: no console. t: free-threaded. d,
# dbg: debug build.
NAME_ENDINGS = ("", "w", "t", "d", "td", "_d", "dbg", "intel")

_is_freeze_supported = False


class NoViewerProgram(TwixtError):
    """No program may be started as a viewer, or the start of the program failed. The message gives the reason and a
    remedy."""


class ViewerCommand:
    """Program and arguments of a viewer, and the environment variables that are changed for it. A variable with the
    value None is removed."""

    __slots__ = ("arguments", "variables")

    def __init__(self, arguments: list[str], variables: dict[str, str | None]) -> None:
        self.arguments = arguments
        self.variables = {OWNED_VARIABLE: "1", **variables}

    def environ(self) -> dict[str, str]:
        """All environment variables of the viewer."""
        changed = {**os.environ, **self.variables}
        return {name: value for name, value in changed.items() if value is not None}


def freeze_support() -> None:
    """Lets `show` open windows from a frozen program (PyInstaller, cx_Freeze).

    The frozen program is started again as the viewer. Call this function first under `if __name__ == "__main__":`,
    before `multiprocessing.freeze_support()`. In the viewer's process, the call runs the viewer and exits. In the
    program itself, and in a program that is not frozen, the call returns at once.

    Examples:
        ```python
        import twixt

        if __name__ == "__main__":
            twixt.freeze_support()
            with twixt.show(twixt.Scene([twixt.Sphere()]), dt=1 / 60) as view:
                for t in view.real_time():
                    view.publish(position=(t, 0, 1))
        ```
    """
    global _is_freeze_supported
    if not is_frozen():
        return
    _is_freeze_supported = True
    if sys.argv[1:] in ([VIEW], [SERVE], [MEASURE]) and OWNED_VARIABLE in os.environ:
        sys.exit(twixt.main(sys.argv[1:]))


def viewer_command(word: str = VIEW) -> ViewerCommand:
    """Returns the command that starts a viewer of this program. word: VIEW, SERVE or MEASURE. Raises NoViewerProgram."""
    if OWNED_VARIABLE in os.environ:
        raise NoViewerProgram(
            f"this process was itself started as a viewer ({OWNED_VARIABLE} is set), so it cannot start another one; "
            "a frozen program must call twixt.freeze_support() first"
        )
    if is_frozen():
        if _is_freeze_supported and not os.environ.get(PYTHON_VARIABLE):
            return ViewerCommand([sys.executable, word], {})
        return ViewerCommand(twixt_command(word), _library_paths(os.environ))
    return ViewerCommand(twixt_command(word), {PATH_VARIABLE: path_text(sys.path)})


def twixt_command(*arguments: str) -> list[str]:
    """Returns the command `twixt ARGUMENTS...`. It is run by the Python of this program, with the same flags. Raises
    NoViewerProgram."""
    start = [python_program(), "-P"]
    start[1:1] = python_flags(start[0] == sys.executable)
    program = str(twixt.__file__)
    if os.path.isfile(program):
        return [*start, program, *arguments]
    # In this case twixt is imported from an archive, or this program is frozen and the Python to start has its own
    # twixt.
    archive = os.path.dirname(os.path.dirname(program))
    found = f"sys.path.insert(0, {archive!r}); " if os.path.isfile(archive) else ""
    return [*start, "-c", f"import sys; {found}import twixt; sys.exit(twixt.main())", *arguments]


def python_program() -> str:
    """Path of the Python that runs this code, or of another suitable Python. Raises NoViewerProgram."""
    executable = sys.executable or ""
    if not is_frozen() and is_python(executable):
        return executable
    if named := os.environ.get(PYTHON_VARIABLE):
        return _named_python(named, executable)
    real = os.path.realpath(executable)
    if not is_frozen() and is_python(real):  # The interpreter was started through a link that has another name.
        return real
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    beside = os.path.join(sys.base_prefix, "python.exe" if os.name == "nt" else f"bin/python{version}")
    if _is_program(beside) and not _is_same(beside, executable):
        return beside
    if is_frozen():
        raise NoViewerProgram(
            "this frozen program cannot start a viewer: twixt.freeze_support() was not called; call it first under "
            f'if __name__ == "__main__", or set {PYTHON_VARIABLE} to a Python {version} that has twixt'
        )
    raise NoViewerProgram(
        f"no Python to start a viewer with: sys.executable is {executable!r}, which is not a Python interpreter, and there is none in "
        f"{sys.base_prefix!r}; set {PYTHON_VARIABLE} to a Python {version}"
    )


def is_frozen() -> bool:
    """True in a program made by PyInstaller, cx_Freeze, py2app or similar tools."""
    return bool(getattr(sys, "frozen", False))


def is_python(path: str) -> bool:
    """True if a program exists at `path` and has the name of a Python interpreter: python, python3.12, python3.13t,
    pypy3, ..."""
    name = os.path.basename(path).lower().removesuffix(".exe")
    kind = next((kind for kind in ("python", "pypy") if name.startswith(kind)), None)
    is_name = kind is not None and name[len(kind) :].strip("0123456789.-") in NAME_ENDINGS
    return is_name and _is_program(path)


def python_flags(can_do_without_site: bool = True) -> list[str]:
    """Flags of this Python that a child process needs. They determine which packages the child finds, and the child's
    encoding: -I, -E, -s, -S, -X utf8.

    Other flags, such as -Werror or -X importtime, concern only this program. They are not passed on. A frozen program
    passes on no flags, because its own flags hide the machine's packages. can_do_without_site: False to leave out -S;
    used if the child is started with another Python.
    """
    flags = sys.flags
    if is_frozen():
        return []
    if flags.isolated:
        found = ["-I"]
    else:
        found = [*["-E"] * bool(flags.ignore_environment), *["-s"] * bool(flags.no_user_site)]
    return [*found, *["-S"] * bool(flags.no_site and can_do_without_site), *["-X", "utf8"] * bool(flags.utf8_mode)]


def _named_python(named: str, executable: str) -> str:
    import shutil  # The import is here because it takes milliseconds and only this function needs `shutil`.

    found = shutil.which(named)
    if found is None or _is_same(found, executable):
        why = "is not a program that can be run" if found is None else "is this program itself"
        raise NoViewerProgram(f"{PYTHON_VARIABLE} is {named!r}, which {why}; set it to the path of a Python")
    return found


def _library_paths(environ: os._Environ[str] | dict[str, str]) -> dict[str, str | None]:
    """The variables with library paths, as they were before PyInstaller changed them. With PyInstaller's paths,
    another program could not load its libraries."""
    if not hasattr(sys, "_MEIPASS"):
        return {}
    return {name: environ.get(f"{name}_ORIG") for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")}


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


# Environment variables of a viewer that a program has started. OWNED_VARIABLE marks the process as a viewer.
# PATH_VARIABLE has the search path of the program.
#
# Always: the viewer removes both variables from its environment before it imports anything from this path. So programs
# that the viewer starts do not get the variables.


# Environment variable that is "1" in a process that was started as a viewer. A process with this variable does not
# start a viewer.
OWNED_VARIABLE = "TWIXT_OWNED"
# Environment variable that has Python's cache tag (`cpython-311`) on its first line, then the program's search path
# with one entry per line.
PATH_VARIABLE = "TWIXT_PATH"
# Names of folders in which packages are installed. A vendored folder has another name, but contains a package that a
# viewer needs. All other folders on the path belong to the program. A module in such a folder may have the same name
# as a package that the viewer needs.
_INSTALLED = ("site-packages", "dist-packages")
_PACKAGES = ("numpy", "moderngl", "imgui_bundle")
# Largest size of the text of the search path, in bytes. Linux does not start a program that gets a variable of 131,072
# bytes.
MOST_BYTES = 120_000


def path_text(path: list[str]) -> str:
    """Value of `PATH_VARIABLE` for a program whose `sys.path` is `path`. If the text would be too long, some folders
    are left out. Folders with packages that a viewer needs are the last to be left out."""
    folders = [entry for entry in path if _can_be_passed(entry)]
    try:
        folders = list(map(os.path.abspath, folders))
    except OSError:  # The current folder was deleted.
        folders = list(filter(os.path.isabs, folders))
    sizes = [len(os.fsencode(folder)) + 1 for folder in folders]
    if sum(sizes) > MOST_BYTES:
        kept, left = set[int](), MOST_BYTES
        for at in sorted(range(len(folders)), key=lambda at: not _holds_package(folders[at])):
            if sizes[at] <= left:
                kept.add(at)
                left -= sizes[at]
        folders = [folder for at, folder in enumerate(folders) if at in kept]
    return "\n".join([str(sys.implementation.cache_tag), *folders])


def consume_variables(environ: os._Environ[str] | dict[str, str] = os.environ) -> bool:
    """Removes both variables from `environ` and sets `sys.path`. Returns True if this process was started as a viewer.

    The standard library stays first in `sys.path`. A path from another version of Python is ignored.
    """
    is_owned = environ.pop(OWNED_VARIABLE, "") == "1"
    tag, *folders = environ.pop(PATH_VARIABLE, "").split("\n")
    if tag == sys.implementation.cache_tag:
        sys.path[:] = merged(sys.path, folders, os.path.dirname(os.__file__))
    return is_owned


def merged(own: list[str], programs: list[str], library: str) -> list[str]:
    """Returns the viewer's search path. own: the viewer's path at its start. programs: the path of the program.
    library: folder of the standard library.

    The order is: the standard library, the program's folders of packages, the viewer's other entries, the program's
    other entries.
    """
    version = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    standard = [
        entry
        for entry in own
        if entry in (library, os.path.join(library, "lib-dynload")) or os.path.basename(entry) == version
    ]
    packages = [folder for folder in programs if _holds_packages(folder)]
    return list(dict.fromkeys((*standard, *packages, *(e for e in own if e not in programs), *programs)))


def _can_be_passed(entry: object) -> bool:
    """True if the entry is a text that fits on one line of an environment variable."""
    if not isinstance(entry, str) or "\n" in entry or "\0" in entry:
        return False
    try:
        os.fsencode(entry)
    except UnicodeEncodeError:
        return False
    return True


def _holds_packages(folder: str) -> bool:
    return os.path.basename(folder) in _INSTALLED or _holds_package(folder)


def _holds_package(folder: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, package, "__init__.py")) for package in _PACKAGES)
