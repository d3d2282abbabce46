"""Texts that a user reads have no word of `FORBIDDEN`, and each `--help` text is short.

Checked are string literals of the product, the output of `--help`, the pages, and docstrings of public names. Code in
pages and shader code are not checked.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import twixt
from bench.commands import benches
from tests.docs.blocks import pages
from tests.project.test_docstrings import own_attributes, public_classes
from twixt.cli.command_line import commands, group

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "bench/commands.py",
    "bench/command_options.py",
    "cli",
    "ipc",
    "relay",
    "render",
    "sim",
    "twixt.py",
    "twixt_viewer.py",
)

# Regular expressions, without regard to case, and what to write instead.
FORBIDDEN = {
    r"\b(says?|said|saying) (so|which|how much|once)\b": "name the fact: 'prints a warning once'",
    r"\b(is|are|was|were|be) (said|told)\b": "is reported, is printed",
    r"\bof (your|its|their|one's|my|his|our) own\b": "your own loop, separate",
    r"\b(of|on) (the user|the world|the viewer|a program)'s own\b": "the user's loop, separate",
    r"\bseen through\b": "transparent",
    r"\b(display|kernel|driver)'s (own )?word\b": "the display's report",
    r"\bby (a|the) processor\b|\b(a|the) processor draws\b": "software rendering, the CPU",
    r"\b(lies?|lay|stays?) whole\b": "is complete",
    r"\banew\b": "again, new",
    r"\bcomes? by\b|\bcame by\b": "reaches, executes, obtains",
    r"\b(go|goes|going|went) on\b": "continues",
    r"\bso many\b": "the number, MS ms",
    r"\bsome \d": "about",
    r"\blikewise\b|, too($|[.,;:)])": "also, before the verb",
    r"\bspoil(s|t|ed)?\b": "corrupt, damaged",
    r"\bdear(er|est)?\b": "costly",
    r"\bbars? (is|are|was|were) (not )?(met|missed)\b": "target",
    r"\bwithout a word\b": "unexpectedly, without a message",
    r"\bof no use\b": "cannot be combined, has no effect",
    r"\bnothing newer\b": "no newer snapshot",
    r"\bthe glass\b": "the screen",
    r"\bmeans nothing here\b": "unexpected",
    r"\b(it|this|that) is no [a-z]+\b": "it is not a ...",
    r"(?-i:(^|[.:;] )(What of|Of each|Those of|Whether|What [a-z]+ (does|do) is)\b)": "subject, verb, object",
}  # fmt: skip
# A longer explanation belongs into a page of docs/.
MOST_WORDS = 36


def faults(text: str) -> Iterator[str]:
    for pattern, instead in FORBIDDEN.items():
        if found := re.search(pattern, text, re.IGNORECASE | re.MULTILINE):
            yield f"{found[0].strip()!r} in {text[:100]!r}; write: {instead}"


def test_string_literals_of_the_product_are_plain() -> None:
    files = [path for folder in FOLDERS for path in python_files(ROOT / folder)]
    assert len(files) > 200
    texts = [(str(path.relative_to(ROOT)), text) for path in files for text in literals(path.read_text())]
    assert len(texts) > 700
    assert [f"{place}: {fault}" for place, text in texts for fault in faults(text)] == []


@pytest.mark.parametrize("name", ["", *commands, *(f"bench {name}" for name in benches)])
def test_the_help_of_a_command_is_plain_and_short(name: str) -> None:
    shown, options = help_of(name)
    assert list(faults(shown)) == []
    assert {option: text for option, text in options.items() if len(text.split()) > MOST_WORDS} == {}


def test_pages_are_plain() -> None:
    texts = [(str(path.relative_to(ROOT)), line) for path in pages() for line in prose(path.read_text())]
    assert [f"{place}: {fault}" for place, line in texts for fault in faults(line)] == []


def test_docstrings_of_public_names_are_plain() -> None:
    found = [f"{name}: {fault}" for name, text in docstrings() for fault in faults(text)]
    assert found == []


def test_faults_are_found_and_plain_text_has_none() -> None:
    for text in (
        "a loop of your own",
        "it goes on",
        "drawn, too",
        "some 40 bodies",
        "Whether it blocks",
        "it is no JSON",
    ):
        assert list(faults(text)), text
    for text in ("your own loop", "too many bodies", "goes once", "there is no display", "on their way"):
        assert not list(faults(text)), text
    program = 'def f():\n    """goes on"""\n    g("goes " "on")\n    h(f"{x} goes on")\n    """void main() { }"""\n'
    assert list(literals(program)) == ["goes on", "{} goes on"]
    assert list(prose("a\n```python\ngoes on\n```\nb `goes on` c\n")) == ["a", "b  c"]


def python_files(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def literals(program: str) -> Iterator[str]:
    """String literals of more than one word, without docstrings and shader code. {} replaces each value in them."""
    tree = ast.parse(program)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside | documented:
            text = node.value
        if " " in text.strip() and not re.search(r";\n|\bvoid \w+\(|#define|#version", text):
            yield text


def help_of(name: str) -> tuple[str, dict[str, str]]:
    """Output of `--help`, and the help text of each option. name: name of a command, "" for `twixt` itself."""
    table, word = (benches, name.removeprefix("bench ")) if name.startswith("bench ") else (commands, name)
    command = table[word].build(word) if word else group()
    context = click.Context(command, info_name=word)
    options = {each.opts[0]: each.help or "" for each in command.params if isinstance(each, click.Option)}
    return " ".join(command.get_help(context).split()), options


def prose(page: str) -> Iterator[str]:
    """Lines of a page, without code."""
    is_code = False
    for line in page.splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield re.sub(r"`[^`]*`", "", line)


def docstrings() -> Iterator[tuple[str, str]]:
    for name in twixt.__all__:
        yield name, inspect.getdoc(getattr(twixt, name)) or ""
    for name, kind in public_classes().items():
        for attribute, value in own_attributes(kind):
            yield f"{name}.{attribute}", inspect.getdoc(value) or ""
