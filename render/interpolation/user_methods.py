"""Imports a user's method or rule, calls it, and names it in errors.

Always: what the user's code raises becomes a `TwixtError` with the name of the function and the user's traceback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.column_rules import is_reference
from twixt.ipc.errors import TwixtError
from twixt.ipc.process.user_code import crash_of, error_text, import_user_module, near_name

T = TypeVar("T")


def find_function(reference: str, what: str) -> Callable[..., Any]:
    """Imports `module:function`. what: its name in error texts, such as "the rule of column 'heat'"."""
    found = find(reference, what, "my_rules:ease", "def {name}(old, new, alpha)")
    if not callable(found):
        raise TwixtError(f"{what}: {reference} must be a function, got {found!r}")
    return found  # type: ignore[no-any-return]


def find(reference: str, what: str, example: str, sketch: str) -> Any:
    """The object of `module:name`. example: such a reference; sketch: code to write if it is missing, with {name}.

    Raises TwixtError for a wrong reference, UserCodeCrashed where importing the module raised.
    """
    if not is_reference(reference):
        raise TwixtError(
            f'{what} of your own is written module:name, such as {example}, without ".py"; got {reference!r}'
        )
    module_name, _, name = reference.partition(":")
    module = import_user_module(module_name, what)
    if hasattr(module, name):
        return getattr(module, name)
    own = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == module_name]
    hint = near_name(name, own) or f"write one there: {sketch.format(name=name)}"
    place = getattr(module, "__file__", None) or "no file"
    raise TwixtError(f'{what}: module "{module_name}" ({place}) has no "{name}"; {hint}')


def array_of(answer: Any, rule: str) -> NDArray[Any]:
    """Converts a result of the user's code to an array. Raises TwixtError, whose text begins with `rule`, unless it
    has numbers or texts."""
    try:
        array = np.asarray(answer)
    except Exception as error:  # rows of different lengths, a user's __array__ that raises
        raise TwixtError(f"{rule}, got what is no array: {error_text(error)}") from None
    if array.dtype.kind not in "fiubSU":  # None would become NaN
        raise TwixtError(f"{rule}, got shape {array.shape}, type {array.dtype}")
    return array


def call_users(what: str, function: Callable[..., T], *arguments: Any) -> T:
    """Call the user's function. Raises UserCodeCrashed for what it raises; what: as in `crash_of`."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # sys.exit in a method would end the viewer without a message
        raise crash_of(what, error) from error
