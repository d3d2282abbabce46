"""docs/troubleshooting.md quotes messages that the code has, and explains every point of `twixt doctor`."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.project.house_imports import PARTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
# Headers of the tables whose first column quotes messages.
QUOTING = ("| message begins |", "| what the overlay or terminal shows |", "| what you see |", "| cause | meaning |")
# Values in quoted messages: left out, or those of an example.
VALUES = re.compile(r"\.\.\.|MyWorld\.step|gevent|the viewer (?=exited|was)|DISPLAY and WAYLAND_DISPLAY|['\"]")
LEAST_LETTERS = 6


@cache
def texts_of_the_code() -> str:
    """All constant texts of the product, one a line."""
    files = [
        ROOT / "twixt.py",
        ROOT / "twixt_viewer.py",
        *(path for part in PARTS for path in (ROOT / part).rglob("*.py")),
    ]
    trees = [ast.parse(path.read_text()) for path in files]
    nodes = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return "\n".join(value for value in nodes if isinstance(value, str))


def quoted_messages(page: str) -> list[str]:
    """Messages in the first column of the tables of messages."""
    found, is_table = [], False
    for line in page.splitlines():
        is_table = line.startswith(QUOTING) or (is_table and line.startswith("|"))
        if is_table:
            found += re.findall(r"`([^`]+)`", line.split(" | ")[0])
    return found


def pieces(message: str) -> list[str]:
    """The parts of a quoted message between values."""
    parts = (part.strip(" ,;:()") for part in VALUES.split(message))
    return [part for part in parts if sum(map(str.isalpha, part)) >= LEAST_LETTERS]


def test_the_page_quotes_messages_that_the_code_has() -> None:
    messages = quoted_messages(PAGE)
    assert len(messages) > 40
    assert [message for message in messages if not pieces(message)] == []
    assert [part for message in messages for part in pieces(message) if part not in texts_of_the_code()] == []


def test_the_page_explains_every_point_of_doctor() -> None:
    points = set(
        re.findall(
            r'Verdict\(\s*"([\w ]+)"',
            "".join((ROOT / "cli" / name).read_text() for name in ("doctor.py", "presents.py")),
        )
    )
    assert len(points) == 10
    assert [point for point in points if f"| `{point}` |" not in PAGE] == []
