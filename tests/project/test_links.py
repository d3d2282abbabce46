"""Links of the pages: files and anchors that they name are there, the index lists every page, and images are used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs.reference import anchor
from tests.docs.blocks import ROOT, pages

DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
PAGES = pages()
IMAGES = {".png", ".svg", ".gif", ".webp", ".jpg", ".apng"}
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")  # https:, mailto:
HTML_IMAGE = re.compile(r"<(?:img|source|video)\b[^>]*>")
ATTRIBUTE = re.compile(r"\b(src|srcset|alt|id|name|href)=\"([^\"]*)\"")


def tokens(text: str) -> list[Token]:
    """The parts of a page, with those inside of paragraphs and headings."""
    parsed = MarkdownIt("commonmark").enable("table").parse(text)
    return list(chain.from_iterable([token, *(token.children or ())] for token in parsed))


def links_in(text: str) -> list[str]:
    """Targets of links and sources of images."""
    found = [str(value) for token in tokens(text) for value in (token.attrGet("href"), token.attrGet("src")) if value]
    html = " ".join(token.content for token in tokens(text) if token.type.startswith("html"))
    return found + [value for name, value in ATTRIBUTE.findall(html) if name in ("src", "srcset", "href")]


def images_in(text: str) -> Iterator[tuple[str, str]]:
    """Source and alternative text of each image."""
    for token in tokens(text):
        if token.type == "image":
            yield str(token.attrGet("src")), token.content
        elif token.type.startswith("html"):
            for tag in HTML_IMAGE.findall(token.content):
                if tag.startswith("<img"):
                    attributes = dict(ATTRIBUTE.findall(tag))
                    yield attributes.get("src", ""), attributes.get("alt", "")


def anchors_in(text: str) -> set[str]:
    """Anchors that GitHub gives to the headings of a page, and those that the page sets itself."""
    used = Counter[str]()
    found = set[str]()
    before = None
    for token in tokens(text):
        if token.type == "inline" and before is not None and before.type == "heading_open":
            words = "".join(child.content for child in token.children or () if child.type in ("text", "code_inline"))
            slug = anchor(words)
            found.add(f"{slug}-{used[slug]}" if used[slug] else slug)
            used[slug] += 1
        elif token.type.startswith("html"):
            found.update(value for name, value in ATTRIBUTE.findall(token.content) if name in ("id", "name"))
        before = token
    return found


@cache
def anchors_of(page: Path) -> set[str]:
    return anchors_in(page.read_text())


def broken(page: Path) -> list[str]:
    """Links of a page whose file or anchor is missing."""
    found = []
    for link in links_in(page.read_text()):
        if ELSEWHERE.match(link):
            continue
        path, _, wanted = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        is_there = target.exists() and target.is_relative_to(ROOT)
        if not is_there or (wanted and (target.suffix != ".md" or wanted not in anchors_of(target))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_anchors_that_a_page_links_to_are_there(page: Path) -> None:
    assert broken(page) == []


def test_the_index_lists_every_page() -> None:
    listed = {(DOCS / link.partition("#")[0]).resolve() for link in links_in(INDEX.read_text())}
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in {INDEX, *listed}] == []


def test_images_are_described_and_used() -> None:
    used = set()
    for page in PAGES:
        text = page.read_text()
        assert [source for source, alternative in images_in(text) if not alternative.strip()] == [], page
        used |= {(page.parent / link.partition("#")[0]).resolve() for link in links_in(text)}
    images = {path for path in DOCS.rglob("*") if path.suffix in IMAGES}
    assert len(images) > 20
    assert sorted(str(path.relative_to(ROOT)) for path in images - used) == []


def test_anchors_are_those_of_github() -> None:
    text = '# A `View.name`: what, why?\n\n## Twice\n\n## Twice\n\n[x](#twice-1)\n\n<a id="own"></a>\n\n```text\n# none\n```\n'
    assert anchors_in(text) == {"a-viewname-what-why", "twice", "twice-1", "own"}


def test_broken_links_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "b.md").write_text("# There\n")
    page = tmp_path / "a.md"
    page.write_text(
        "[1](b.md#there) [2](b.md) [3](#here) [4](https://example.org/x) `[5](code.md)`\n\n# Here\n\n"
        '[6](gone.md) [7](b.md#gone) [8](../outside.md) ![9](gone.png)\n<img src="gone.svg">\n'
    )
    assert broken(page) == ["gone.md", "b.md#gone", "../outside.md", "gone.png", "gone.svg"]
    assert list(images_in(page.read_text())) == [("gone.png", "9"), ("gone.svg", "")]
