"""This module imports the user's modules by name. It reports their exceptions with the user's stack frames only.

All of the user's code (worlds, interpolation methods, blend rules, drawing functions) is imported here. An exception
of the user's code becomes a `UserCodeCrashed`, with the message "... raised ...". A simulation may name code for its
viewers; the viewers search for this code in the simulation's folders.

Always: the user's folders are searched after the standard library and installed packages, and before twixt's own
folder. A printed traceback has no frames of twixt's own code. The built-in worlds count as the user's code.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Iterable
from types import ModuleType, TracebackType

import twixt
from twixt.ipc.errors import FAILED, REFUSED, TwixtError, UnknownArgument, closest
from twixt.ipc.process.interrupts import Terminated

_TWIXT_FOLDER = os.path.realpath(twixt.__path__[0]) + os.sep
_SUBPACKAGES = tuple(os.path.join(_TWIXT_FOLDER, name) + os.sep for name in ("cli", "ipc", "relay", "render", "sim"))
_TWIXT_CODE = (*_SUBPACKAGES, _TWIXT_FOLDER + "twixt.py", _TWIXT_FOLDER + "__init__.py")
# Folders and files of the built-in worlds, whose code counts as the user's code. `_WORLD_MAKER` is in one of these
# folders, but does not count as the user's code.
_WORLD_CODE = tuple(
    os.path.join(_TWIXT_FOLDER, "sim", place)
    for place in ("worlds" + os.sep, "contacts" + os.sep, "reproducible_math.py")
)
_WORLD_MAKER = os.path.join(_TWIXT_FOLDER, "sim", "worlds", "find.py")

# Key of the result of `code_folders` in a simulation's description.
CODE_FOLDERS = "code_folders"
# Largest number of folders that a viewer accepts from a simulation. Usual search paths have only a few folders.
MOST_FOLDERS = 64
_INSTALLED = ("site-packages", "dist-packages")
_folders: list[str] = []  # code folders of the simulation that this viewer shows


class UserCodeCrashed(TwixtError):
    """The user's code raised an exception, or left the world in a state from which the world cannot be stepped.
    traceback_text: traceback with the user's frames only."""

    exit_code = FAILED

    def __init__(self, message: str, traceback_text: str = "") -> None:
        super().__init__(message)
        self.traceback_text = traceback_text


class UserCodeRefused(UserCodeCrashed):
    """The user's code gave twixt a value that twixt refuses. traceback_text: traceback with the user's frames, without
    the error message."""

    exit_code = REFUSED


def user_crash(what: str, error: BaseException) -> UserCodeCrashed:
    """Returns the error to raise for the exception `error` of the user's code. what: name of the code that raised
    `error`, such as `Orbit.step`."""
    if isinstance(error, TwixtError):
        return UserCodeRefused(f"{what}: {error}", _users_frames(error))
    return UserCodeCrashed(f"{what} raised {error_text(error)}", user_traceback(error))


# The class has a name in lower case, because it is used like a function: `with calling_user_code(...)`. A generator
# with `contextlib.contextmanager` would take three times as long as the class. This cost would come in each step.
class calling_user_code:
    """Turns an exception of the user's code in the block into a `UserCodeCrashed`. what: as in `user_crash`.

    refusals: if True, a `TwixtError` passes unchanged, except an UnknownArgument. Such an error is no crash: twixt
    refuses a value that the user gave, for example an argument of a constructor. An UnknownArgument is in the user's
    code, so the user needs the line. KeyboardInterrupt, Terminated and SystemExit always pass unchanged.
    """

    __slots__ = ("_refusals", "_what")

    def __init__(self, what: str, refusals: bool = False) -> None:
        self._what, self._refusals = what, refusals

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, UserCodeCrashed | KeyboardInterrupt | Terminated | SystemExit):
            return
        is_refusal = isinstance(error, TwixtError) and not isinstance(error, UnknownArgument)
        if self._refusals and is_refusal:
            return
        raise user_crash(self._what, error) from error


def import_user_module(module_name: str, flag: str = "") -> ModuleType:
    """Imports a module from the user's folders or the Python path. flag: the option by which the user named the
    module; error messages name the option.

    Raises TwixtError if there is no such module, and UserCodeCrashed if its import raises an exception.
    """
    by_flag = f"{flag}: " if flag else ""
    try:
        here = os.getcwd()
    except OSError as error:
        raise TwixtError(
            f'{by_flag}the current folder, in which "{module_name}" is searched, does not exist ({error.strerror}); '
            "cd to an existing folder"
        ) from None
    add_user_folders_to_path()
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        # "No such module" is reported only if the module itself or its package is missing. A failed import inside the
        # module counts as a crash of the user's code.
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            folders = list(dict.fromkeys((*_folders, here)))
            hint = (
                suggestion_for(module_name, _modules_in(folders)) or "cd to the folder of the module, or set PYTHONPATH"
            )
            where = f"in {', '.join(folders)} or on the Python path"
            raise TwixtError(f'{by_flag}no module named "{module_name}" {where}; {hint}') from None
        raise user_crash(f"{by_flag}importing {module_name}", error) from error


def suggestion_for(word: str, known: Iterable[str]) -> str:
    """Returns the text `did you mean "..."?` with the known word that is most similar to `word`. The text is empty if
    no known word is similar."""
    near = closest(word, list(known))
    return f'did you mean "{near}"?' if near else ""


def _modules_in(folders: Iterable[str]) -> list[str]:
    names: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            names.update(entry[:-3] for entry in os.listdir(folder) if entry.endswith(".py"))
    return sorted(names)


def code_folders() -> list[str]:
    """Returns the folders of `sys.path` without the folders of the standard library, of installed packages and of
    twixt. Mostly the result is the script's folder and the folders in PYTHONPATH."""
    library, found = os.path.dirname(os.__file__), dict[str, None]()
    for entry in sys.path:
        if not isinstance(entry, str | os.PathLike):  # Python ignores such an entry as well
            continue
        try:
            folder = os.path.abspath(entry)
            folder.encode()  # this call raises for a path that is not valid text; such a path could not be sent
        except (OSError, ValueError):
            continue
        is_library = f"{folder}{os.sep}".startswith(f"{library}{os.sep}") or os.path.basename(folder) in _INSTALLED
        if not is_library and os.path.isdir(folder) and not _holds_twixt(folder):
            found[folder] = None
    return list(found)[:MOST_FOLDERS]


def _holds_twixt(folder: str) -> bool:
    """True for twixt's own folder, and for the folder that contains twixt as a package (made for type checkers)."""
    ours = os.path.join(folder, "twixt", "__init__.py")
    return os.path.realpath(folder) + os.sep == _TWIXT_FOLDER or os.path.realpath(ours) == _TWIXT_FOLDER + "twixt.py"


def set_code_folders(folders: Iterable[str]) -> None:
    """Sets the code folders of the simulation that this viewer shows. The user's modules are searched in these folders
    first, and then in the current folder."""
    _folders[:] = folders


def add_user_folders_to_path() -> None:
    """Appends the user's folders to `sys.path`, with the current folder last. If twixt's own folder is in `sys.path`,
    that folder is moved to the end.

    twixt's own folder is in `sys.path` if `twixt.py` is run as a file, or if that folder is in PYTHONPATH. Its
    subfolders `sim`, `render` and `ipc` must not hide user's modules of the same names. The folder is not removed,
    because a process that a world spawns must also find `twixt`.
    """
    own = os.path.realpath(twixt.__path__[0])
    ours = [entry for entry in sys.path if entry and os.path.realpath(entry) == own]
    rest = [entry for entry in sys.path if entry not in ours]
    folder = os.getcwd()
    rest += [each for each in dict.fromkeys((*_folders, folder)) if each not in rest and os.path.realpath(each) != own]
    sys.path[:] = rest + ours[:1] if ours or os.path.realpath(folder) != own else [*rest, folder]


def error_text(error: BaseException) -> str:
    """Returns the class name and the message of an error. Works even if the error's `__str__` raises an exception."""
    try:
        words = str(error)
    except Exception as another:
        words = f"its message cannot be read, {type(another).__name__}"
    return f"{type(error).__name__}: {words}".rstrip(": ")


def user_traceback(error: BaseException) -> str:
    """Returns the traceback of `error` and of its causes, without twixt's frames. The text is empty if there is no
    frame of the user's code. In this case the call of the user's code failed, for example because of a wrong number
    of arguments."""
    report = traceback.TracebackException.from_exception(error)
    return "".join(report.format()) if _strip(report, set()) else ""


def _users_frames(error: BaseException) -> str:
    """Returns the traceback of `error` with the user's frames only, without the error message. The text is empty if
    there are no such frames."""
    report = traceback.TracebackException.from_exception(error)
    _strip(report, set())
    return "".join(["Traceback (most recent call last):\n", *report.stack.format()]) if report.stack else ""


def _strip(report: traceback.TracebackException | None, seen: set[int]) -> bool:
    """Removes twixt's frames from an exception and its causes. Returns True if a frame of the user's code is left."""
    if report is None or id(report) in seen:
        return False
    seen.add(id(report))
    are_ours = [_is_ours(frame.filename) for frame in report.stack]
    # The constructor of a dataclass is generated, so its frame has no file. Such a frame counts as twixt's if the next
    # frame is twixt's.
    followed = zip(report.stack, are_ours, [*are_ours[1:], False], strict=True)
    kept = [
        frame for frame, is_ours, is_next in followed if not is_ours and (frame.filename != "<string>" or not is_next)
    ]
    report.stack = traceback.StackSummary.from_list(kept)
    # A SyntaxError has the attribute `msg`. A SyntaxError needs no frame, because its message contains the user's
    # line.
    left = bool(kept) or hasattr(report, "msg")
    for cause in (report.__cause__, report.__context__, *(report.exceptions or ())):
        left = _strip(cause, seen) or left
    return left


def _is_ours(filename: str) -> bool:
    if filename.startswith("<frozen importlib") or filename == importlib.__file__:
        return True
    path = os.path.realpath(filename)
    return path.startswith(_TWIXT_CODE) and (path == _WORLD_MAKER or not path.startswith(_WORLD_CODE))
