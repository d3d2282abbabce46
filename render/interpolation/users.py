"""Code of the user's own in interpolation: a class or a function behind `module:name`, blamed by name when it fails.

Always: what the user's code raises becomes a `TwixtError` that says what of theirs it was, and has their traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.rules import is_reference
from twixt.ipc.users_code import UsersCodeCrashed, import_users, say, users_traceback

T = TypeVar("T")


def find_function(reference: str, what: str) -> Callable[..., Any]:
    """What `module:function` names. what: as a refusal calls it, such as "the rule of column 'heat'"."""
    found = find(reference, what, "my_rules:ease", "def {name}(old, new, alpha)")
    if not callable(found):
        raise TwixtError(f"{what}: {reference} must be a function, got {found!r}")
    return found  # type: ignore[no-any-return]


def find(reference: str, what: str, example: str, sketch: str) -> Any:
    """The object behind `module:name`. sketch: what to write there if it is missing, with {name}.

    Raises TwixtError for what the user can put right, UsersCodeCrashed where importing the module raised.
    """
    if not is_reference(reference):
        raise TwixtError(
            f'{what} of your own is written module:name, such as {example}, without ".py"; got {reference!r}'
        )
    module_name, _, name = reference.partition(":")
    module = import_users(module_name, what)
    if hasattr(module, name):
        return getattr(module, name)
    own = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == module_name]
    import difflib  # for a refusal alone

    near = difflib.get_close_matches(name, own, n=1)
    hint = f'did you mean "{near[0]}"?' if near else f"write one there: {sketch.format(name=name)}"
    place = getattr(module, "__file__", None) or "no file"
    raise TwixtError(f'{what}: module "{module_name}" ({place}) has no "{name}"; {hint}')


def array_of(answer: Any, rule: str) -> NDArray[Any]:
    """What the user's code gave, as an array; TwixtError, beginning with `rule`, where it is none of numbers or texts."""
    try:
        array = np.asarray(answer)
    except Exception as error:  # rows of different lengths, an __array__ of theirs that raises
        raise TwixtError(f"{rule}, got what is no array: {say(error)}") from None
    if array.dtype.kind not in "fiubSU":  # None would become NaN
        raise TwixtError(f"{rule}, got shape {array.shape}, type {array.dtype}")
    return array


def call_users(what: str, function: Callable[..., T], *arguments: Any) -> T:
    """The function's answer; UsersCodeCrashed, saying what of the user's it was, if it raised."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # sys.exit in a method would end the viewer without a word
        raise UsersCodeCrashed(f"{what} raised {say(error)}", users_traceback(error)) from error
