"""Environment variables of an owned viewer: its mark, and the search path of the program that started it.

Always: both variables are removed from the viewer's environment before its first import from the path, so that programs
which the viewer's own code starts do not inherit them.
"""

from __future__ import annotations

import os
import sys

# "1" for a process that was started as a viewer. A process that has it starts no viewer.
OWNED_VARIABLE = "TWIXT_OWNED"
# Python's cache tag (`cpython-311`), then the program's search path, one entry a line.
PATH_VARIABLE = "TWIXT_PATH"
# A folder of installed packages has one of these names, or holds one of these packages, as a vendored folder does.
# Other folders are the program's own: a module there may have the name of a package that the viewer needs.
_INSTALLED = ("site-packages", "dist-packages")
_PACKAGES = ("numpy", "moderngl", "imgui_bundle")
# Longest text of the search path, bytes: with a variable of 131,072 bytes Linux starts no program.
MOST_BYTES = 120_000


def path_text(path: list[str]) -> str:
    """Value of `PATH_VARIABLE` for a program whose `sys.path` is `path`. Of a path that is too long, folders with the
    packages that a viewer needs are kept, then the first of the others."""
    folders = [entry for entry in path if _can_be_passed(entry)]
    try:
        folders = list(map(os.path.abspath, folders))
    except OSError:  # the current folder is gone
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


def take_over(environ: os._Environ[str] | dict[str, str] = os.environ) -> bool:
    """Takes both variables out of `environ` and sets `sys.path`; True if this process was started as a viewer.

    The standard library stays first. The path of another version of Python is not used.
    """
    is_owned = environ.pop(OWNED_VARIABLE, "") == "1"
    tag, *folders = environ.pop(PATH_VARIABLE, "").split("\n")
    if tag == sys.implementation.cache_tag:
        sys.path[:] = merged(sys.path, folders, os.path.dirname(os.__file__))
    return is_owned


def merged(own: list[str], programs: list[str], library: str) -> list[str]:
    """The viewer's search path. own: as it is at its start. programs: the program's. library: the standard library's
    folder.

    Order: the standard library, the program's folders of packages, the viewer's other entries, the program's others.
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
    """True for text that a variable can hold as one line."""
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
