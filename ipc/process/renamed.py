"""Former names of attributes and arguments, and errors for attributes that a class does not have.

A former name works for one release. Its first use in a process prints one line with the new name.

Always: a former name is not in `dir()` of an instance, and type checkers do not know it. Reading an attribute that
exists costs nothing.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice

Target = TypeVar("Target", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)
_said: set[str] = set()  # former names whose line was printed


class FormerArgument(NamedTuple):
    """An argument that became another argument with other values. new: its name. form: new form in the printed line.
    converted: function of the old value and of the call's other arguments by name; it returns the new value."""

    new: str
    form: str
    converted: Callable[[Any, Mapping[str, Any]], Any]


class FormerAttribute(NamedTuple):
    """An attribute that became another expression. form: new form in the printed line. read: function of the instance
    that returns the attribute's value."""

    form: str
    read: Callable[[Any], Any]


def say_renamed(former: str, new: str) -> None:
    """Prints that `former` is now called `new`, once in a process."""
    if former not in _said:
        _said.add(former)
        print_notice(f"{former} is now called {new}")


def former_arguments(former: Mapping[str, str | FormerArgument], name: str = "") -> Callable[[Target], Target]:
    """Decorator that lets a function, or the constructor of a class, accept former names of arguments.

    former: for each former name, the new name, or a `FormerArgument` if the values changed too. name: name of the
    function in messages; by default its own name. A call with a former and a new name of one argument raises
    TwixtError.
    """

    def decorate(target: Target) -> Target:
        if isinstance(target, type):
            setattr(target, "__init__", _accepting(vars(target)["__init__"], former, name or target.__name__))  # noqa: B010
            return target
        return _accepting(target, former, name or target.__qualname__)  # type: ignore[return-value]

    return decorate


def _accepting(
    function: Callable[..., Any], former: Mapping[str, str | FormerArgument], name: str
) -> Callable[..., Any]:
    @functools.wraps(function)
    def accepting(*arguments: Any, **named: Any) -> Any:
        if former.keys().isdisjoint(named):
            return function(*arguments, **named)
        old = {word: named.pop(word) for word in former if word in named}
        given = inspect.signature(function).bind_partial(*arguments, **named)
        passed = set(given.arguments)
        given.apply_defaults()
        for word, value in old.items():
            found = former[word]
            new, form = (found, f"{found}=") if isinstance(found, str) else (found.new, found.form)
            if new in passed and sys._getframe(1).f_globals.get("__name__") != "dataclasses":  # `replace` passes all
                raise TwixtError(f"{name} accepts {new}= or its former name {word}=, got both; leave out {word}=")
            say_renamed(f"{name}({word}=)", f"{name}({form})")
            named[new] = value if isinstance(found, str) else found.converted(value, given.arguments)
        return function(*arguments, **named)

    return accepting


class _FormerName:
    """Descriptor of an attribute's former name, for instances. Classes do not have the name, so `help` does not
    show it.

    found: the new name, or the expression that replaces the attribute.
    """

    def __init__(self, owner: type, name: str, found: str | FormerAttribute) -> None:
        self._form = f"{owner.__name__}.{found}" if isinstance(found, str) else found.form
        self._former, self._found = f"{owner.__name__}.{name}", found
        self.__doc__ = f"Former name of `{self._form}`, for one release."

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError(f"{self._former} is now called {self._form}")
        say_renamed(self._former, self._form)
        return getattr(instance, self._found) if isinstance(self._found, str) else self._found.read(instance)


def former_attributes(former: Mapping[str, str | FormerAttribute]) -> Callable[[Class], Class]:
    """Class decorator: instances have their attributes and methods under former names as well. `dir` of an instance
    does not list them. Other attributes are read as fast as in an undecorated class; with `__getattr__` they would be
    slower.

    former: for each former name, the new name, or a `FormerAttribute`.
    """

    def decorate(owner: Class) -> Class:
        if not former:
            return owner
        for name, found in former.items():
            setattr(owner, name, _FormerName(owner, name, found))
        listed: Any = owner.__dir__
        setattr(owner, "__dir__", lambda self: [name for name in listed(self) if name not in former])  # noqa: B010
        return owner

    return decorate


def closed_attributes(former: Mapping[str, str]) -> Callable[[Class], Class]:
    """Class decorator: does what `former_attributes` does. Also, an assignment to an attribute that does not exist
    raises AttributeError with the most similar name. Public attributes of instances must be annotated in the class.
    Names with a leading underscore may be assigned. Instances of subclasses accept all names.

    An assignment costs one more call in Python.
    """

    def decorate(owner: Class) -> Class:
        known = frozenset(dir(owner)).union(*(inspect.get_annotations(each) for each in owner.__mro__))

        def assign(self: Any, name: str, value: Any) -> None:
            if name in known or name.startswith("_"):
                object.__setattr__(self, name, value)
            elif name in former:
                say_renamed(f"{owner.__name__}.{name}", f"{owner.__name__}.{former[name]}")
                setattr(self, former[name], value)
            elif type(self) is owner:
                _refuse(self, name, "; keep your own values in other variables")
            else:
                object.__setattr__(self, name, value)

        setattr(owner, "__setattr__", assign)  # noqa: B010
        return former_attributes(former)(owner)

    return decorate


def _refuse(instance: Any, name: str, advice: str = "") -> NoReturn:
    """Raises AttributeError with the most similar name; with `advice` if no name is similar."""
    text = f'{type(instance).__name__} has no attribute "{name}"'
    if not name.startswith("_"):
        from twixt.ipc.process.user_code import suggestion_for  # imported here, because only errors need it

        known = {*dir(instance), *(word for each in type(instance).__mro__ for word in inspect.get_annotations(each))}
        hint = suggestion_for(name, sorted(word for word in known if not word.startswith("_")))
        text += f"; {hint}" if hint else advice
    raise AttributeError(text)
