"""Code of the user's own: found by name, and blamed in their own words when it raises.

A viewer runs code that its simulation names: it looks for that where the simulation would find it.

Always: the user's folders are searched last, after the standard library and installed packages, but before our own
folder; a traceback that is shown holds their frames alone. The built-in worlds count as a user's.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Iterable
from types import ModuleType

import twixt
from twixt.ipc.errors import TwixtError

_HOUSE = os.path.realpath(twixt.__path__[0]) + os.sep
_ROOMS = tuple(os.path.join(_HOUSE, room) + os.sep for room in ("cli", "ipc", "render", "sim"))
_OURS = (*_ROOMS, _HOUSE + "twixt.py", _HOUSE + "__init__.py")
_WORLDS = os.path.join(_HOUSE, "sim", "worlds") + os.sep

# By this name a simulation's description holds its `code_folders`.
CODE_FOLDERS = "code_folders"
# A Python path has a handful of them.
MOST_FOLDERS = 64
_INSTALLED = ("site-packages", "dist-packages")
_folders: list[str] = []  # of the simulation that is looked at


class UsersCodeCrashed(TwixtError):
    """Code of the user's own raised while it was imported. `traceback_text` is theirs alone."""

    exit_code = 1

    def __init__(self, message: str, traceback_text: str) -> None:
        super().__init__(message)
        self.traceback_text = traceback_text


def import_users(module_name: str, flag: str) -> ModuleType:
    """A module of the user's, from their folder or the Python path. flag: where it was named, for a refusal's words.

    Raises TwixtError for what the user can put right, UsersCodeCrashed where importing the module raised.
    """
    put_users_folder_on_path()
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        # The module itself, or a package it lies in, is not there; a missing import inside it is the user's crash.
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            folders = list(dict.fromkeys((*_folders, os.getcwd())))
            import difflib  # for a refusal alone

            near = difflib.get_close_matches(module_name, _modules_in(folders), n=1)
            hint = f'did you mean "{near[0]}"?' if near else "go to the folder it lies in, or set PYTHONPATH"
            where = f"in {', '.join(folders)} or on the Python path"
            raise TwixtError(f'{flag}: no module named "{module_name}" {where}; {hint}') from None
        said = f"{flag}: importing {module_name} raised {say(error)}"
        raise UsersCodeCrashed(said, users_traceback(error)) from error


def _modules_in(folders: Iterable[str]) -> list[str]:
    names: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            names.update(entry[:-3] for entry in os.listdir(folder) if entry.endswith(".py"))
    return sorted(names)


def code_folders() -> list[str]:
    """Where this process finds modules that are neither installed nor ours: its script's folder, PYTHONPATH and more."""
    library, found = os.path.dirname(os.__file__), dict[str, None]()
    for entry in sys.path:
        try:
            folder = os.path.abspath(entry)
            folder.encode()  # what is no text cannot be told
        except (OSError, ValueError):
            continue
        is_library = f"{folder}{os.sep}".startswith(f"{library}{os.sep}") or os.path.basename(folder) in _INSTALLED
        if not is_library and os.path.isdir(folder) and os.path.realpath(folder) != os.path.realpath(twixt.__path__[0]):
            found[folder] = None
    return list(found)[:MOST_FOLDERS]


def look_also_in(folders: Iterable[str]) -> None:
    """From now on, the user's modules are looked for in these folders first, then in the current one."""
    _folders[:] = folders


def put_users_folder_on_path() -> None:
    """The user's folders, the current one last, join `sys.path` at its end; our own, if it is there, comes after them.

    Ours is on the path when `twixt.py` is run as a file or named in PYTHONPATH, and holds `sim`, `render` and
    `ipc`. It stays, at the very end, because a process that a world spawns must find `twixt` too.
    """
    house = os.path.realpath(twixt.__path__[0])
    ours = [entry for entry in sys.path if entry and os.path.realpath(entry) == house]
    rest = [entry for entry in sys.path if entry not in ours]
    folder = os.getcwd()
    rest += [
        each for each in dict.fromkeys((*_folders, folder)) if each not in rest and os.path.realpath(each) != house
    ]
    sys.path[:] = rest + ours[:1] if ours or os.path.realpath(folder) != house else [*rest, folder]


def say(error: BaseException) -> str:
    """Its kind and its words, also where asking for those raises."""
    try:
        words = str(error)
    except Exception as another:
        words = f"its words cannot be had, {type(another).__name__}"
    return f"{type(error).__name__}: {words}".rstrip(": ")


def users_traceback(error: BaseException) -> str:
    """The traceback of `error` and of what caused it, without our frames. Empty if none is the user's: what is wrong
    is then how their code takes being called, which the error's own words say."""
    told = traceback.TracebackException.from_exception(error)
    return "".join(told.format()) if _strip(told, set()) else ""


def _strip(told: traceback.TracebackException | None, seen: set[int]) -> bool:
    """Takes our frames out of an exception and of those it came from; True if a frame of the user's is left."""
    if told is None or id(told) in seen:
        return False
    seen.add(id(told))
    kept = [frame for frame in told.stack if not _is_ours(frame.filename)]
    told.stack = traceback.StackSummary.from_list(kept)
    # An exception that points at a line of its own (SyntaxError) needs no frame.
    left = bool(kept) or hasattr(told, "msg")
    for cause in (told.__cause__, told.__context__, *(told.exceptions or ())):
        left = _strip(cause, seen) or left
    return left


def _is_ours(filename: str) -> bool:
    if filename.startswith("<frozen importlib") or filename == importlib.__file__:
        return True
    path = os.path.realpath(filename)
    return path.startswith(_OURS) and not path.startswith(_WORLDS)
