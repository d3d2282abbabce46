"""Writes docs/reference.md from the docstrings of the public names: `make reference`.

griffe reads the signatures and the sections of the docstrings, without running the code. Defaults that are written as
names in the code are read from the imported functions.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import griffe

import twixt

PAGE = Path(__file__).with_name("reference.md")
WIDTH = 118

# Public names under the headings of the page. A name in a submodule of twixt is written with that submodule.
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Your own loop": (
        "Open a window from a loop that you have, and publish states to it.",
        ("show", "View", "ViewerOptions", "Screenshot", "freeze_support"),
    ),
    "Controls and user input": (
        "Your program can show sliders, switches and buttons in the window, and read the keys and clicks of the user.",
        ("Slider", "Toggle", "Button", "UserEvent"),
    ),
    "Worlds": (
        "Write the physics as a class, and let twixt run its loop. Your own loop may use the columns, marks and "
        "surfaces as well.",
        ("World", "Bodies", "Column", "Marks", "Surfaces"),
    ),
    "Scenes": (
        "A scene describes what does not change with every step: shapes, camera, colours and groups.",
        ("Scene", "Camera", "Group", "ColorBy", "Material", "Texture"),
    ),
    "Shapes": (
        "Each body has a shape. Sizes are in metres, in the frame of the body.",
        ("Shape", "Sphere", "Box", "Capsule", "Cylinder", "Ellipsoid", "Plane", "Mesh", "Compound", "Part"),
    ),
    "Rotations": (
        "These functions return quaternions for `orientation`, in the order x, y, z, w.",
        ("rotation", "turn_towards"),
    ),
    "MuJoCo": (
        "The module `twixt.mujoco_viewer` has the names of `mujoco.viewer`.",
        tuple(
            f"mujoco_viewer.{name}"
            for name in ("launch_passive", "launch", "launch_from_path", "Handle", "scene", "publish")
        ),
    ),
    "Overlay": (
        "Your program can draw texts, images and plots over the picture.",
        ("OverlayText", "OverlayImage", "OverlayFigure", "OverlayLine"),
    ),
    "Your own functions in the viewer": (
        "The viewer's process can call functions and classes that you write. The names below describe these functions "
        "and classes.",
        ("DrawFunction", "DrawFrame", "EventFunction", "Event", "InterpolationMethod", "SampledPoses", "Snapshot"),
    ),
    "Without a viewer": (
        "These parts decide what a frame draws and when. These parts read no clock and draw nothing.",
        (
            "render.interpolation.create",
            "render.playback.PlaybackClock",
            *(f"render.pacing.{name}" for name in ("Pacer", "FramePlan", "FrameTimes", "FrameResult", "Refresh")),
        ),
    ),
    "Errors and the command line": (
        "The error that twixt raises, and the function behind the command `twixt`.",
        ("TwixtError", "main"),
    ),
}
# Classes that a user gets or writes, and does not import. The value is their place in twixt.
NOT_IMPORTED = {
    "Screenshot": "ipc.session.screenshots.Screenshot",
    "SampledPoses": "render.interpolation.protocol.SampledPoses",
}
# Classes of which twixt makes the objects.
NOT_CONSTRUCTED = {"View", "Screenshot", "UserEvent", "DrawFrame", "mujoco_viewer.Handle"}
# Members whose docstring is that of another name, and members that only twixt calls.
RENAMED = {"render.playback.PlaybackClock.advance_to": "draw_time_ns"}
HIDDEN = {"UserEvent.to_fields", "UserEvent.from_fields", "Scene.check_bodies"}

OPENING = """# Reference of all names

<!-- Written by `make reference` from the docstrings: change those, not this page. -->

This page describes every public class and function of twixt, with its arguments, results and errors.
`help(twixt.show)` prints the same text. Names without a module are imported from `twixt`.
"""
# Another page, as docstrings name it.
PAGE_NAME = re.compile(r"\bdocs/([\w/-]+\.md)\b")
# A line that would begin with this is a list, a heading or a quotation in Markdown.
MARKUP = re.compile(r" (?=(?:[-+*>#=|]+|\d+[.)])(?: |$))")
Kind = griffe.DocstringSectionKind


@cache
def package() -> griffe.Module:
    """The package as griffe reads it: the folders under their public name, which `make setup` lays out."""
    root = Path(__file__).parents[1]
    loader = griffe.GriffeLoader(search_paths=[root / "build" / "types"], docstring_parser="google")
    module = loader.load("twixt")
    loader.load("twixt.mujoco_viewer")
    loader.resolve_aliases(implicit=False, external=False)
    assert isinstance(module, griffe.Module)
    return module


def page() -> str:
    """The text of the page."""
    parts = [OPENING, contents()]
    for title, (sentence, names) in GROUPS.items():
        parts += [f"## {title}\n", wrapped(sentence) + "\n", *(entry(name, found(name), 3) for name in names)]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def contents() -> str:
    """One line for each group, with links to its names."""
    lines = []
    for title, (_, names) in GROUPS.items():
        links = ", ".join(f"[`{name}`](#{anchor(name)})" for name in names)
        lines.append(wrapped(f"- [{title}](#{anchor(title)}): {links}", "  "))
    return "\n".join(lines)


def found(name: str) -> griffe.Object:
    """The class, function or attribute with a public name."""
    there = package()[NOT_IMPORTED.get(name, name)]
    return there.final_target if isinstance(there, griffe.Alias) else there


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def entry(name: str, about: griffe.Object, level: int) -> str:
    """Heading, signature and docstring of a name. For a class, the same of its public members."""
    parts = [f"{'#' * level} `{name}`\n"]
    if isinstance(about, griffe.Class):
        parts += [*class_signature(name, about), *described(name, about)]
        if name in NOT_IMPORTED:
            parts.append("This name is not imported from `twixt`.\n")
        inner = dict(members(name, about))
        if len(inner) > 1:
            links = ", ".join(f"[`{each.rpartition('.')[2]}`](#{anchor(each)})" for each in inner)
            parts.append(wrapped(f"Members: {links}.") + "\n")
        parts += [entry(each, member, level + 1) for each, member in inner.items()]
    elif isinstance(about, griffe.Function):
        parts += [fence(signature(name, about)), *described(name, about)]
    elif isinstance(about, griffe.Attribute):
        kind = f": {type_text(about.annotation)}" if about.annotation else f" = {type_text(about.value)}"
        parts += [fence(f"{name}{kind}"), *described(name, about)]
        if "property" in about.labels:
            parts.append("You may assign to it.\n" if "writable" in about.labels else "Read only.\n")
    return "\n".join(parts)


def class_signature(name: str, about: griffe.Class) -> Iterator[str]:
    """How a class is constructed by users, or the keys of a dictionary."""
    if any("TypedDict" in str(base) for kind in (about, *about.mro()) for base in kind.bases):
        keys = [member for member in about.all_members if not member.startswith("_")]
        yield wrapped(f"Keys: {', '.join(f'`{key}`' for key in keys)}.") + "\n"
    elif name not in NOT_CONSTRUCTED and any(parameter.name != "self" for parameter in parameters_of(about)):
        yield fence(signature(name, about))


def members(name: str, about: griffe.Class) -> Iterator[tuple[str, griffe.Object | griffe.Alias]]:
    """Public methods and properties with a docstring, in the order of the code, those of base classes last. Members of
    public base classes are under the names of those classes."""
    is_protocol = any("Protocol" in str(base) for base in about.bases)
    for kind in (about, *(base for base in about.mro() if base.name not in twixt.__all__)):
        for member, inside in kind.members.items():
            is_public = not member.startswith("_") or (is_protocol and member == "__call__")
            is_shown = isinstance(inside, griffe.Function) or "property" in inside.labels
            if f"{name}.{member}" in HIDDEN:
                continue
            if (
                is_public
                and is_shown
                and inside.docstring
                and about.all_members[member].canonical_path == inside.canonical_path
            ):
                yield f"{name}.{RENAMED.get(f'{name}.{member}', member)}", inside


def signature(name: str, about: griffe.Function | griffe.Class) -> str:
    """A call with the types and defaults of its parameters; on one line, or with one parameter a line."""
    words, is_star_needed = [], True
    for parameter in parameters_of(about):
        if parameter.name in ("self", "cls"):
            continue
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(
            parameter.kind, ""
        )
        if parameter.kind is griffe.ParameterKind.keyword_only and is_star_needed:
            words.append("*")
        is_star_needed = is_star_needed and words[-1:] != ["*"] and stars != "*"
        words.append(f"{stars}{typed(parameter)}{default_of(name, parameter, ' = ' if parameter.annotation else '=')}")
    if isinstance(about, griffe.Function) and "staticmethod" not in about.labels and name.endswith(".__call__"):
        name = name.removesuffix(".__call__")
    returned = f" -> {type_text(about.returns)}" if isinstance(about, griffe.Function) and about.returns else ""
    if isinstance(about, griffe.Function) and any(str(each.value) == "contextmanager" for each in about.decorators):
        returned = returned.replace("Iterator[", "AbstractContextManager[", 1)
    line = f"{name}({', '.join(words)}){returned}"
    if len(line) <= 90:
        return line
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){returned}"])


def parameters_of(about: griffe.Object) -> list[griffe.Parameter]:
    """Parameters of a function, or of the constructor of a class. A named tuple is constructed from its fields."""
    if isinstance(about, griffe.Class) and "NamedTuple" in map(str, about.bases):
        fields = [field for field in about.members.values() if isinstance(field, griffe.Attribute)]
        kind = griffe.ParameterKind.positional_or_keyword
        return [
            griffe.Parameter(each.name, annotation=each.annotation, kind=kind, default=each.value) for each in fields
        ]
    return list(getattr(about, "parameters", []))


def typed(parameter: griffe.Parameter) -> str:
    kind = type_text(parameter.annotation) if parameter.annotation else ""
    return f"{parameter.name}: {kind}" if kind and not kind.startswith("Unpack[") else parameter.name


def type_text(annotation: str | griffe.Expr | None) -> str:
    """A type as code. A name that stands for another type in the code of twixt is replaced by that type."""
    if not isinstance(annotation, griffe.Expr):
        return str(annotation)
    parts = (part if isinstance(part, str) else meaning(part) for part in annotation.iterate(flat=True))
    return "".join(parts).replace("'", '"')


def meaning(name: griffe.Expr) -> str:
    """The type that a name in a type stands for, or the name itself."""
    place = name.canonical_path.removeprefix("twixt.")
    if place == name.canonical_path or str(name) in twixt.__all__:
        return str(name)
    try:
        there = package()[place]
    except KeyError:  # a name that is imported from another package
        return str(name)
    there = there.final_target if isinstance(there, griffe.Alias) else there
    return type_text(there.value) if isinstance(there, griffe.Attribute) and there.value else str(name)


def default_of(name: str, parameter: griffe.Parameter, before: str) -> str:
    """The default of a parameter after `before`; empty if it has none."""
    if parameter.default is None or parameter.kind in (
        griffe.ParameterKind.var_positional,
        griffe.ParameterKind.var_keyword,
    ):
        return ""
    text = str(parameter.default)
    try:
        text = code_of(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        text = value_text(name, parameter.name)
    return before + text


def code_of(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def value_text(name: str, parameter: str) -> str:
    """The default of a parameter of the imported function or class, as code; "..." if it is no plain value."""
    value: Any = pkgutil.resolve_name(f"twixt.{NOT_IMPORTED.get(name, name)}")
    default = inspect.signature(value).parameters[parameter].default
    if isinstance(default, Mapping):
        return repr(dict(default))
    return code_of(default) if isinstance(default, str | int | float | tuple | None) else "..."


def sections(about: griffe.Object) -> list[griffe.DocstringSection]:
    if about.docstring is None:
        return []
    return about.docstring.parse(
        "google",
        returns_named_value=False,
        returns_multiple_items=False,
        warn_unknown_params=False,  # keywords of a dictionary type are in the section, and not in the signature
        warn_missing_types=False,
    )


def described(name: str, about: griffe.Object) -> Iterator[str]:
    """The sections of a docstring as Markdown."""
    for section in sections(about):
        value: Any = section.value
        if section.kind is Kind.text:
            yield prose(value, name) + "\n"
        elif section.kind is Kind.parameters:
            yield listed(
                "Arguments", [(item.name, facts(name, about, item.name), item.description) for item in value], name
            )
        elif section.kind is Kind.attributes:
            yield listed(
                "Attributes", [(item.name, kind_of(about, item.name), item.description) for item in value], name
            )
        elif section.kind is Kind.raises:
            yield listed("Raises", [(str(item.annotation), "", item.description) for item in value], name)
        elif section.kind in (Kind.returns, Kind.yields):
            title = "Returns" if section.kind is Kind.returns else "Yields"
            yield prose(f"**{title}:** {result_text(about, value[0])}", name) + "\n"
        elif section.kind is Kind.examples:
            yield "**Example:**\n"
            yield "\n\n".join(prose(text, name) for _, text in value) + "\n"
        else:
            raise ValueError(f"{name}: a section that this page does not know: {section.kind.value}")


def result_text(about: griffe.Object, item: griffe.DocstringReturn) -> str:
    """The description of a result. griffe takes the text before a colon for a type."""
    is_type = str(item.annotation) == str(getattr(about, "returns", None))
    return item.description if is_type or item.annotation is None else f"{item.annotation}: {item.description}"


def facts(name: str, about: griffe.Object, parameter: str) -> str:
    """Type and default of a parameter. A keyword may be declared by a dictionary type: `**options: Unpack[Options]`."""
    given = {one.name.lstrip("*"): one for one in parameters_of(about)}
    if parameter not in given:
        unpacked = (re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation)) for one in given.values())
        options = next((package()[about.resolve(found[1]).removeprefix("twixt.")] for found in unpacked if found), None)
        return kind_of(options, parameter) if isinstance(options, griffe.Class) else ""
    default = default_of(name, given[parameter], "")
    kind = [f"`{type_text(given[parameter].annotation)}`"] if given[parameter].annotation else []
    return ", ".join([*kind, *([f"default `{default}`"] if default not in ("", "None") else [])])


def kind_of(about: griffe.Object, attribute: str) -> str:
    """Type of an attribute of a class."""
    there = about.all_members.get(attribute)
    annotation = getattr(there, "annotation", None)
    return f"`{type_text(annotation)}`" if annotation else ""


def listed(title: str, rows: list[tuple[str, str, str]], name: str) -> str:
    """A list of names with facts and descriptions."""
    entries = []
    for item, fact, text in rows:
        head = f"- `{item}`" + (f" ({fact})" if fact else "") + ": "
        entries.append(textwrap.indent(prose(head.replace("`", "\0") + text, name), "  ").strip().replace("\0", "`"))
    return f"**{title}:**\n\n" + "\n".join(entries) + "\n"


def prose(text: str, name: str) -> str:
    """A docstring's text as Markdown: paragraphs are wrapped and names become links; code and lists are kept."""
    made, is_code = [], False
    for block in re.split(r"\n[ ]*\n", text.strip("\n")):
        fences = len(re.findall(r"^ *```", block, re.MULTILINE))
        is_kept = is_code or fences or re.search(r"^(?:    |\||- (?!\0))", block, re.MULTILINE)
        is_code ^= fences % 2 == 1
        made.append(block if is_kept else wrapped(linked(block, name)))
    return "\n\n".join(made)


def linked(text: str, name: str) -> str:
    """Names of this page in backquotes and other pages become links. A sign that begins a tag in HTML is escaped."""

    def link(part: str) -> str:
        if not part.startswith("`"):
            return PAGE_NAME.sub(r"[\g<0>](\g<1>)", re.sub(r"<(?=\w)", r"\\<", part))
        target = part.strip("`").removeprefix("twixt.").removesuffix("()")
        return f"[{part}](#{anchor(target)})" if target in public_names() and target != name else part

    return "".join(link(part) for part in re.split(r"(`[^`]+`)", text))


@cache
def public_names() -> set[str]:
    """All names that have a heading on this page."""
    names = {name for _, group in GROUPS.values() for name in group}
    classes = {name: about for name in names if isinstance(about := found(name), griffe.Class)}
    return names | {member for name, about in classes.items() for member, _ in members(name, about)}


def fence(code: str) -> str:
    return f"```text\n{code}\n```\n"


def wrapped(text: str, indent: str = "") -> str:
    """Lines of at most WIDTH characters, none of which begins with a sign of Markdown by accident."""
    kept = MARKUP.sub("\1", " ".join(text.split()))
    lines = textwrap.wrap(kept, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\1", " ")


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"written: {PAGE}")
