"""The pages of promises name their tests; each is there, so that none is promised by a test that was taken away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/reliability.md", "docs/security.md")


def defined_tests() -> set[str]:
    return {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^\s*def (test_\w+)\(", file.read_text(), re.MULTILINE)
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(r"`((?:tests/[\w/]+\.py)|(?:test_\w+))`", (ROOT / page).read_text())
    assert len(named) > 10
    there = defined_tests()
    assert [name for name in named if not (name in there or (ROOT / name).is_file())] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_promise_stands_beside_a_test(page: str) -> None:
    rows = re.findall(r"^\| (?!what \||what it does|promise|---|-)(.+)\|$", (ROOT / page).read_text(), re.MULTILINE)
    assert len(rows) > 5
    assert [row for row in rows if not re.search(r"`(tests/|test_)[^|]*$", row)] == []
