"""Docstrings of public names: in the form that editors, `help` and page generators read (Google style)."""

from __future__ import annotations

import builtins
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import twixt

SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields|Examples):$")
# Sections whose entries are names: NAME: TEXT.
NAMED = ("Args", "Attributes", "Raises")
ENTRY = re.compile(r"^    (\*{0,2}[A-Za-z_]\w*): \S")
# Classes of which twixt alone makes the objects. Their constructors are no part of the interface.
MADE_BY_TWIXT = {twixt.View}
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
UNPACKED = re.compile(r"Unpack\[(\w+)\]")


def public_classes() -> dict[str, type]:
    found = {name: getattr(twixt, name) for name in twixt.__all__}
    return {name: value for name, value in found.items() if isinstance(value, type)}


def own_attributes(kind: type) -> Iterator[tuple[str, Any]]:
    """Public attributes of a class, as they are written in it or in a base class. Those of Python's own classes are
    left out."""
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("twixt"):
            yield from ((name, value) for name, value in vars(base).items() if not name.startswith("_"))


def public_functions() -> dict[str, Callable[..., Any]]:
    """Functions of twixt, and public methods of its classes."""
    found: dict[str, Callable[..., Any]] = {}
    for name in twixt.__all__:
        value = getattr(twixt, name)
        if inspect.isfunction(value):
            found[name] = value
    for name, kind in public_classes().items():
        for attribute, value in own_attributes(kind):
            if isinstance(value, staticmethod | classmethod) or inspect.isfunction(value):
                found[f"{name}.{attribute}"] = getattr(kind, attribute)
        if is_protocol(kind) and "__call__" in vars(kind):
            found[f"{name}.__call__"] = vars(kind)["__call__"]
    return found


def is_protocol(kind: type) -> bool:
    return getattr(kind, "_is_protocol", False)


def public_properties() -> dict[str, str | None]:
    """Docstrings of the public properties of classes."""
    return {
        f"{name}.{attribute}": inspect.getdoc(value)
        for name, kind in public_classes().items()
        for attribute, value in own_attributes(kind)
        if hasattr(kind, attribute)  # classes do not have the former names of attributes
        if not isinstance(value, type) and hasattr(type(value), "__get__") and not callable(value)
        if not isinstance(value, staticmethod | classmethod) and not inspect.ismemberdescriptor(value)
    }


CLASSES, FUNCTIONS = public_classes(), public_functions()


def sections_of(docstring: str) -> dict[str, list[str]]:
    """Lines of each section. The text before the first section has the name ""."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for line in docstring.splitlines():
        if found := SECTION.match(line):
            current = found[1]
            assert current not in sections, f"two sections {current}"
            sections[current] = []
        else:
            assert not current or not line or line.startswith("    "), f"text after a section: {line}"
            sections[current].append(line)
    return sections


def named_in(sections: dict[str, list[str]], section: str) -> list[str]:
    """Names of the entries of a section."""
    lines = [line for line in sections.get(section, []) if line and not line.startswith(" " * 8)]
    for line in lines:
        assert ENTRY.match(line), f"{section}: no entry NAME: TEXT, and no continued line (8 spaces): {line}"
    return [found[1].lstrip("*") for line in lines if (found := ENTRY.match(line))]


def parameters_of(called: Callable[..., Any]) -> tuple[set[str], set[str]]:
    """Names of the parameters that must be explained, and of those that may be. Keywords that a dictionary type
    declares must be explained."""
    needed, known = set[str](), set[str]()
    for name, parameter in inspect.signature(called).parameters.items():
        if name in ("self", "cls") or name.startswith("_"):
            continue
        known.add(name)
        if parameter.kind not in VARIADIC:
            needed.add(name)
        elif found := UNPACKED.fullmatch(str(parameter.annotation)):
            needed |= inspect.unwrap(called).__globals__[found[1]].__annotations__.keys()
    return needed, known | needed


def constructor_parameters(kind: type) -> set[str]:
    """Names of the parameters with which users construct a class."""
    if kind in MADE_BY_TWIXT or is_protocol(kind) or typing.is_typeddict(kind) or issubclass(kind, Exception):
        return set()
    return parameters_of(kind)[0]


def docstring_of(documented: Any) -> str:
    docstring = inspect.getdoc(documented)
    assert docstring, "no docstring"
    return docstring


def check_form(docstring: str) -> dict[str, list[str]]:
    """Sections of a docstring whose form is right."""
    summary, *rest = docstring.splitlines()
    assert summary.endswith("."), f"the summary is no line that ends in a full stop: {summary}"
    assert not rest or not rest[0], f"the summary is longer than a line: {summary}"
    sections = sections_of(docstring)
    assert all(any(lines) for name, lines in sections.items()), "a section is empty"
    for name in NAMED:
        names = named_in(sections, name)
        assert len(set(names)) == len(names), f"{name}: twice the same name"
    assert all(name == "TwixtError" or hasattr(builtins, name) for name in named_in(sections, "Raises")), (
        "Raises: an error that is not public"
    )
    prose = "\n".join(line for name, lines in sections.items() for line in lines)
    assert not re.search(r"\bRaises\b", prose), "errors belong into the section Raises"
    assert not re.search(r"^ *- \w+(, \w+)*: ", prose, re.MULTILINE), "parameters belong into the section Args"
    return sections


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_explains_its_parameters_and_no_others(name: str) -> None:
    kind = CLASSES[name]
    sections, wanted = check_form(docstring_of(kind)), constructor_parameters(kind)
    arguments, attributes = set(named_in(sections, "Args")), set(named_in(sections, "Attributes"))
    assert wanted <= arguments | attributes
    assert arguments <= wanted
    annotated = {word for base in kind.__mro__ for word in inspect.get_annotations(base)}
    assert attributes <= annotated | {*dir(kind)} | {*re.findall(r"\bself\.(\w+)", inspect.getsource(kind))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_explains_its_parameters_and_its_result(name: str) -> None:
    function = FUNCTIONS[name]
    sections = check_form(docstring_of(function))
    needed, known = parameters_of(function)
    assert needed <= set(named_in(sections, "Args")) <= known
    assert "Attributes" not in sections
    returned = inspect.signature(function).return_annotation
    has_result = returned not in (None, "None", "NoReturn", inspect.Signature.empty)
    assert has_result == bool({"Returns", "Yields"} & sections.keys())


@pytest.mark.parametrize(("name", "docstring"), public_properties().items())
def test_a_property_has_a_summary(name: str, docstring: str | None) -> None:
    assert docstring, f"{name} has no docstring"
    check_form(docstring)


def test_the_public_names_are_found() -> None:
    assert {"Scene", "View", "DrawFunction", "ViewerOptions", "TwixtError"} <= CLASSES.keys()
    assert {
        "show",
        "DrawFunction.__call__",
        "rotation",
        "Mesh.from_file",
        "Scene.part_bodies",
        "View.publish",
        "Bodies.spawn",
        "Button.pressed",
    } <= (FUNCTIONS.keys())
    assert {"Slider.value", "Sphere.reach", "Mesh.reach", "View.is_open"} <= public_properties().keys()


@pytest.mark.parametrize(
    ("docstring", "says"),
    [
        ("Draws a line", "full stop"),
        ("Draws a line\nand another one.", "full stop"),
        ("Draws a line.\nIt is red.", "longer than a line"),
        ("Draws a line.\n\nArgs:\n    width", "no entry"),
        ("Draws a line.\n\nArgs:\n    width: In px.\n    and so on", "no entry"),
        ("Draws a line.\n\nArgs:\n\nReturns:\n    None.", "empty"),
        ("Draws a line.\n\nArgs:\n    a: One.\n    a: Two.", "twice"),
        ("Draws a line.\n\nArgs:\n    a: One.\n\nArgs:\n    b: Two.", "two sections"),
        ("Draws a line.\n\nArgs:\n    a: One.\n\nIt is red.", "text after a section"),
        ("Draws a line. Raises TwixtError.", "section Raises"),
        ("Draws a line.\n\nRaises:\n    SceneError: For a width of 0.", "not public"),
        ("Draws a line.\n\n- width: in px.", "section Args"),
    ],
)
def test_a_docstring_of_another_form_is_found(docstring: str, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_form(docstring)
