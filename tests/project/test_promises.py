"""The pages of guarantees name their tests, and each of these tests exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/reliability.md", "docs/security.md")


def defined_tests() -> set[str]:
    return {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^\s*def (test_\w+)\(", file.read_text(), re.MULTILINE)
    }


def test_every_test_that_a_page_names_is_there() -> None:
    named = {page: re.findall(r"`((?:tests/[\w/]+\.py)|(?:test_\w+))`", (ROOT / page).read_text()) for page in PAGES}
    assert all(len(names) > 10 for names in named.values())
    there = defined_tests()
    missing = [
        (page, name)
        for page, names in named.items()
        for name in names
        if not (name in there or (ROOT / name).is_file())
    ]
    assert missing == []


def test_every_guarantee_names_a_test() -> None:
    row = re.compile(r"^\| (?!what \||what it does|guarantee|---|-)(.+)\|$", re.MULTILINE)
    rows = {page: row.findall((ROOT / page).read_text()) for page in PAGES}
    assert all(len(found) > 5 for found in rows.values())
    bare = [
        (page, one) for page, found in rows.items() for one in found if not re.search(r"`(tests/|test_)[^|]*$", one)
    ]
    assert bare == []
