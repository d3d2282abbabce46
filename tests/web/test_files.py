"""The files of the page as they are served: their sizes, their number, and what the content security policy forbids."""

from __future__ import annotations

import re

import pytest

from tests.web.in_node import WEB
from twixt.relay.serve.pages import SCRIPTS, Pages, without_comments

MOST_MODULES = 25
MOST_BYTES = 120_000
# What a new connection of TCP carries in two round trips: 10 and 20 packets.
TWO_FLIGHTS_BYTES = 43_000
# Generated from the texts of the native viewer.
GENERATED = {"glsl.js"}

MODULES = sorted(path.name for path in WEB.glob("*.js"))


def test_the_page_as_served_is_small() -> None:
    pages = Pages(str(WEB))
    sizes = {
        name: len(pages.answer("GET", f"/{name}", {"accept-encoding": "gzip"}).body)
        for name in ("index.html", "page.css", *SCRIPTS)
    }
    assert sum(sizes.values()) <= MOST_BYTES, sizes
    assert max(sizes.values()) <= TWO_FLIGHTS_BYTES, sizes
    assert len(MODULES) <= MOST_MODULES


@pytest.mark.parametrize("name", [name for name in MODULES if name not in GENERATED])
def test_a_module_opens_with_a_comment(name: str) -> None:
    assert (WEB / name).read_text().startswith("/**")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_loses_only_comments_when_it_is_served(name: str) -> None:
    served, lost = without_comments((WEB / name).read_bytes()).splitlines(), []
    for line in map(bytes.strip, (WEB / name).read_bytes().splitlines()):
        is_kept = bool(served) and line.startswith(served[0])
        lost.append(line.removeprefix(served.pop(0)).strip() if is_kept else line)
    assert served == []
    # A comment behind code is served unless two spaces are before it.
    assert not re.search(rb"[;,{}()] // ", without_comments((WEB / name).read_bytes()))
    lost = [line for line in lost if line]
    assert [line for line in lost if not re.match(rb"/\*\*|\*|//|[^;{}()]*\*/$", line)] == []


def test_the_scripts_of_the_page_are_preloaded_and_have_all_modules() -> None:
    html, pages = (WEB / "index.html").read_text(), Pages(str(WEB))
    preloaded = re.findall(r'<link rel="modulepreload" href="([\w.]+)">', html)
    assert [*preloaded, *re.findall(r'<script type="module" src="([\w.]+)">', html)] == list(SCRIPTS)
    script = "".join(pages.answer("GET", f"/{name}", {}).body.decode() for name in SCRIPTS)
    found = re.findall(r"^export const \$(\w+) = \(\(\) => \{$", script, re.MULTILINE)
    assert sorted(f"{name}.js" for name in found) == MODULES


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    html, css = (WEB / "index.html").read_text(), (WEB / "page.css").read_text()
    assert not re.search(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)", html)
    assert not re.search(r"https?:|//", re.sub(r'"data:,"', "", html))
    assert not re.search(r"url\(|@import", css)
    scripts = "".join((WEB / name).read_text() for name in MODULES)
    assert not re.search(r"\beval\(|new Function|innerHTML|outerHTML|document\.write|setAttribute\(\"style", scripts)
    assert not re.search(r'(?:import\(|fetch\(|from )["\'`]https?:', scripts)
