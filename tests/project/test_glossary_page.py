"""docs/glossary.md has the words of the design, in alphabetical order, each with a link to a page."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
ROW = re.compile(r"^\| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
DESIGN = {
    "alpha", "draw time", "epoch", "hold", "lateness", "plan", "present", "publish", "rate", "snapshot", "step"
}  # fmt: skip


def test_each_word_is_there_once_in_order_with_a_link() -> None:
    rows = ROW.findall(PAGE)[1:]
    words = [word.replace("`", "").split(" (")[0].split(",")[0] for word, _, _ in rows]
    assert len(words) >= 80
    assert len(set(words)) == len(words)
    assert words == sorted(words, key=str.lower)
    assert set(words) >= DESIGN
    assert [word for word, _, link in rows if not link.startswith("[")] == []
    assert [word for word, text, _ in rows if text.endswith(".")] == []
