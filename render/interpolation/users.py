"""Code of the user's own in the viewer: found by `module:name`, and blamed by name when it fails.

Always: what the user's code raises becomes a `TwixtError` of one line that names it and the line at fault. The
user's folder is searched last, but before our own folder, which holds a `sim`, a `render` and an `ipc`.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import twixt
from twixt.ipc.errors import TwixtError

T = TypeVar("T")


def find_function(spec: str) -> Callable[..., Any]:
    """What `module:function` names. Raises TwixtError unless it is there and can be called."""
    found = find(spec, "a function", "my_rules:halved")
    if not callable(found):
        raise TwixtError(f"{spec} must be a function, got {found!r}")
    return found  # type: ignore[no-any-return]


def find(spec: str, what: str, example: str) -> Any:
    """The object behind `module:name`. what: as the error calls it, such as "a function"."""
    module_name, _, name = spec.partition(":")
    if not name.isidentifier() or not all(part.isidentifier() for part in module_name.split(".")):
        raise TwixtError(f'{what} of your own is written module:name, such as {example}, without ".py"; got {spec!r}')
    module = _import_users(module_name)
    if not hasattr(module, name):
        known = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == module_name]
        hint = _near(name, known) or (f"it has {', '.join(known)}" if known else "it defines nothing")
        file = getattr(module, "__file__", None) or "no file"
        raise TwixtError(f'module "{module_name}" ({file}) has no "{name}"; {hint}')
    return getattr(module, name)


def call_users(what: str, function: Callable[..., T], *arguments: Any) -> T:
    """The function's answer; raises TwixtError saying that `what` raised, and where, if it did."""
    try:
        return function(*arguments)
    except TwixtError:
        raise
    except Exception as error:
        raise TwixtError(f"{what} raised {_told(error)}") from error


def put_users_folder_on_path() -> None:
    """The current folder joins `sys.path` at its end; our own folder, if it is there, comes after it."""
    house = os.path.realpath(twixt.__path__[0])
    ours = [entry for entry in sys.path if entry and os.path.realpath(entry) == house]
    rest = [entry for entry in sys.path if entry not in ours]
    folder = os.getcwd()
    if folder not in rest and os.path.realpath(folder) != house:
        rest.append(folder)
    sys.path[:] = rest + ours[:1] if ours or os.path.realpath(folder) != house else [*rest, folder]


def _import_users(module_name: str) -> ModuleType:
    put_users_folder_on_path()
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module_name)
    except Exception as error:
        # The module itself, or a package it lies in, is not there; a missing import inside it is the user's error.
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            here = sorted(entry[:-3] for entry in os.listdir() if entry.endswith(".py"))
            hint = _near(module_name, here) or "go to the folder it lies in, or set PYTHONPATH"
            where = f"in {os.getcwd()} or on the Python path"
            raise TwixtError(f'no module named "{module_name}" {where}; {hint}') from None
        raise TwixtError(f"importing {module_name} raised {_told(error)}") from error


def _told(error: Exception) -> str:
    message = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SyntaxError):  # names its own place
        return message
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    return f"{message} ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else message


def _is_ours(filename: str) -> bool:
    house = os.path.realpath(twixt.__path__[0]) + os.sep
    ours = tuple(house + part + os.sep for part in ("ipc", "render"))
    return filename.startswith("<frozen") or os.path.realpath(filename).startswith((*ours, importlib.__file__))


def _near(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f'did you mean "{near[0]}"?' if near else ""
