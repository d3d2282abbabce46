"""This module defines the exit codes of all commands, and errors. The message of an error names the bad value, the
rule, and what the user can do.

Always: an error that a user or another process can cause is a `TwixtError`. `twixt.main` prints the error's message as
one line, without a traceback, and returns the error's exit code.
"""

from __future__ import annotations

import errno
import functools
import os
import select
import sys

TYPE_CHECKING = False  # defined here, because an import of `typing` takes some ms
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any, TypeVar

    Called = TypeVar("Called", bound=Callable[..., Any])

# Exit codes of commands and processes. FINISHED: no error, or the window was closed. FAILED: a limit of --fail-if is
# broken, the user's code crashed, or the other process ended unexpectedly. REFUSED: an input cannot be used.
# WITHOUT_DISPLAY: there is no display for a window. INTERRUPTED: Ctrl-C. For other signals see `exit_code_of`.
FINISHED, FAILED, REFUSED, WITHOUT_DISPLAY, INTERRUPTED = 0, 1, 2, 3, 130
# Exit code if the reader of standard output has closed it. An example is `twixt ... | head -1`. Shells report 128 +
# SIGPIPE in this case.
READER_GONE = 141
# Part of Python's error message when no folder for temporary files is writable.
NO_TEMPORARY = "No usable temporary directory"

# LONGEST_VALUE: largest number of characters of a refused value in a message. LARGE: text for a whole number that is
# too long to print.
LONGEST_VALUE = 200
LARGE = "a larger whole number"

# Packages that twixt requires. The key is the name for `import`; the value is the name for installation.
PACKAGES = {
    "click": "click",
    "glcontext": "glcontext",
    "glfw": "glfw",
    "imgui_bundle": "imgui-bundle",
    "moderngl": "moderngl",
    "numpy": "numpy",
    "PIL": "pillow",
    "rich": "rich",
}
# Versions of packages that only some features require, as `pip install` takes them. The ranges were tested, and are
# those of pyproject.toml. The key is the name for `import`.
REQUIREMENTS = {
    "matplotlib": "matplotlib>=3.8,<4",
    "mujoco": "mujoco>=3.17,<5",
    "PIL": "pillow>=10",
    "trimesh": "trimesh>=4.6,<6",
    "websockets": "websockets>=13",
}

DISPLAY_VARIABLES: tuple[str, ...] = ("DISPLAY", "WAYLAND_DISPLAY") if sys.platform == "linux" else ()
NO_DISPLAY = f"no display ({' and '.join(DISPLAY_VARIABLES)} are not set)"


class TwixtError(Exception):
    """An input cannot be used, or twixt cannot find something that it needs, such as a file or a package.

    The message names the value, the rule and what the user can do.

    Attributes:
        exit_code: Exit code of a command that ends with this error.
    """

    exit_code = REFUSED


class InvalidValue(TwixtError, ValueError):
    """A value that the user passed breaks a rule, for example a number out of range or an array of a wrong shape."""


class InvalidType(TwixtError, TypeError):
    """A value that the user passed has the wrong type, or an argument is not known."""


class NoDisplay(TwixtError):
    """A window is required, but there is no display."""

    exit_code = WITHOUT_DISPLAY


def refusal(value: object, *kinds: type) -> type[InvalidValue] | type[InvalidType]:
    """Returns the class of the error for a refused argument: InvalidValue if `value` has one of the types `kinds`, else
    InvalidType."""
    return InvalidValue if isinstance(value, kinds) else InvalidType


class UnknownArgument(InvalidType):
    """A public function or class was called with an argument that it does not have."""


def unknown_argument(called: str, name: str, known: Sequence[str], is_assignable: bool = False) -> UnknownArgument:
    """Returns the error for an argument `name` that `called`, a function or class, does not have. known: names of the
    arguments that it has. is_assignable: True if the objects of the class have an attribute of this name that may be
    assigned."""
    if is_assignable:
        hint = f"assign it after construction: {called.lower()}.{name} = ...; it has "
    elif near := near_name(name, known):
        hint = f"did you mean {near}? It has "
    else:
        hint = "it has "
    return UnknownArgument(f"{called} has no argument {name!r}; {hint}{', '.join(known) or 'none'}")


def near_name(word: str, known: Sequence[str]) -> str:
    """The known name that is most similar to `word`, or that begins with it. Empty if there is none."""
    parts = (name for name in known if name.startswith(word) or word.startswith(name))
    return closest(word, known) or next(parts, "")


def closest(word: str, known: Sequence[str]) -> str:
    """The known word that is most similar to `word`. Empty if no known word is similar."""
    import difflib  # imported here, because only error messages need it

    return next(iter(difflib.get_close_matches(word, known, n=1)), "")


def text_of(value: Any) -> str:
    """`repr` of a refused value, for a message. The result is always one line of at most `LONGEST_VALUE`
    characters."""
    try:
        text = " ".join(repr(value).splitlines())
    except ValueError:
        return LARGE
    except Exception:  # the user's `__repr__` raised this exception
        return f"a {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def exit_code_of(process_code: int) -> int:
    """Returns the exit code that a shell reports. process_code: return code of `subprocess`. A negative return code
    means a signal. The result is then 128 + the signal's number."""
    return process_code if process_code >= 0 else 128 - process_code


def exhaustion_advice(error: Exception) -> str:
    """Returns advice to the user if the system has no more disk space, no more file descriptors, or no writable folder
    for temporary files. The advice is empty for other errors."""
    if not isinstance(error, OSError | ImportError):
        return ""
    if isinstance(error, OSError) and NO_TEMPORARY in str(error):
        return "no folder for temporary files is writable; set TMPDIR to one that is"
    # ENFILE is checked before EMFILE, because the system's text for ENFILE contains the text for EMFILE.
    if _is(error, errno.ENFILE):
        return f"this machine cannot open more files ({os.strerror(errno.ENFILE)}); end other programs"
    if _is(error, errno.EMFILE):
        return f"this process cannot open more files ({os.strerror(errno.EMFILE)}); raise its limit, such as: ulimit -n 1024"
    if _is(error, errno.ENOSPC):
        return f"the disk is full ({os.strerror(errno.ENOSPC)}); free disk space, or write to another disk"
    return ""


def is_utf8(name: str) -> bool:
    """False for a file name with bytes that are not valid UTF-8. Python can open such a file, but some libraries
    cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_reader_gone(error: BaseException | None) -> bool:
    """True if `error`, or one of its causes, comes from a write to standard output, and if the reader of standard
    output had closed it before this write."""
    seen = set[int]()  # a set, because the causes of import errors may form a cycle
    while error is not None and not isinstance(error, BrokenPipeError):
        seen.add(id(error))
        error = error.__cause__ or error.__context__
        if id(error) in seen:
            return False
    if error is None or sys.stdout is None:
        return False
    try:
        poller = select.poll()
        poller.register(sys.stdout.fileno(), 0)
    except (
        AttributeError,
        OSError,
        ValueError,
    ):  # the system has no `poll`, or standard output is closed, or standard output has no descriptor
        return False
    return any(event & select.POLLERR for _, event in poller.poll(0))


def damaged_module_advice(error: Exception) -> str:
    """Returns advice to the user if a compiled module is incomplete, for example after a full disk. The advice is
    empty for other errors."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_name != "_compile_bytecode":
        return ""
    path = trace.tb_frame.f_locals.get("bytecode_path")
    return f"the compiled Python module {path!r} is damaged ({error}), for example because the disk was full; delete it"


def missing_package_advice(error: BaseException | None) -> str:
    """Returns advice to the user if a package of `PACKAGES` is missing or cannot be imported. Such a package may have
    been built for another version of Python. The advice is empty for other errors."""
    cause = error
    while isinstance(cause, ImportError):
        package = (cause.name or _raising_module(cause)).partition(".")[0]
        if package in PACKAGES:
            is_missing = isinstance(cause, ModuleNotFoundError) and cause.name == package
            fault = "is missing" if is_missing else f"cannot be imported ({str(cause).strip().partition(chr(10))[0]})"
            return (
                f"the package {PACKAGES[package]!r}, which twixt needs, {fault}; "
                f"install it for this Python: {sys.executable}"
            )
        cause = cause.__cause__ or cause.__context__
    return ""


def install_command(package: str) -> str:
    """Command for a terminal that installs a package of `REQUIREMENTS`. package: its name for `import`."""
    return f'pip install "{REQUIREMENTS[package]}"'


def mixed_installation_advice(folder: str) -> str:
    """Returns advice to the user if another distribution, named `twixt`, is installed in the same folder as
    twixt-viewer. Both then have files in one package `twixt`, and each installation replaces files of the other. The
    advice is empty otherwise. folder: the folder that contains the package, such as `site-packages`."""
    try:
        names = os.listdir(folder)
    except OSError:  # the package is in an archive
        return ""
    other = next((name for name in names if name.startswith("twixt-") and name.endswith("-info")), None)
    if other is None:
        return ""
    return (
        f"another package named 'twixt' is installed over the same files ({os.path.join(folder, other)}); "
        f"remove both with: {sys.executable} -m pip uninstall twixt twixt-viewer; then install twixt-viewer again"
    )


def _raising_module(error: BaseException) -> str:
    """Name of the module in which the error was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))


def _is(error: OSError | ImportError, number: int) -> bool:
    """True if `error` was caused by the system error `number`. An ImportError of compiled code contains the system
    error's text, but not its number."""
    return os.strerror(number) in str(error) if isinstance(error, ImportError) else error.errno == number


def named_arguments(called: Called) -> Called:
    """Decorator for a public class or function. A call with an unknown argument raises UnknownArgument, whose message
    has the argument, the name that is most similar to it, and all names. Nothing else changes: `inspect.signature`,
    editors and type checkers still see the parameters."""
    if not isinstance(called, type):
        return _with_check(called, called)  # type: ignore[no-any-return]
    called.__init__ = _with_check(called.__init__, called)  # type: ignore[misc]
    return called


def _with_check(function: Any, called: Any) -> Any:
    """Returns `function` with a check of its arguments' names. called: the class or function that errors name."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = [name for name in parameters if name != "self"]
    return refusing_unknown(
        function, known, lambda name: unknown_argument(called.__qualname__, name, known, _is_assignable(called, name))
    )


def refusing_unknown(function: Any, known: Collection[str], error_for: Callable[[str], TwixtError]) -> Any:
    """Returns `function` with a check of its arguments' names. known: names of its parameters. error_for: function of
    an unknown name that returns the error to raise."""
    names = frozenset(known)

    @functools.wraps(function)
    def checked(*values: Any, **named: Any) -> Any:
        if named and not named.keys() <= names:
            raise error_for(next(name for name in sorted(named) if name not in names))
        return function(*values, **named)

    return checked


def _is_assignable(called: Any, name: str) -> bool:
    """True if objects of the class `called` have an attribute of this name that may be assigned."""
    return isinstance(getattr(called, name, None), property) and getattr(called, name).fset is not None
