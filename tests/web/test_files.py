"""The files of the page as they are served: their sizes, their number, and what the content security policy forbids."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.web.in_node import WEB
from twixt.relay.serve.pages import Pages, without_comments, without_spaces

MOST_MODULES = 25
MOST_BYTES = 120_000
# Generated from the texts of the native viewer.
GENERATED = {"glsl.js"}

MODULES = sorted(path.name for path in WEB.glob("*.js"))


def imported(name: str) -> set[str]:
    text = (WEB / name).read_text()
    return set(re.findall(r'^(?:import|export) .*?from "\./([\w.]+)";', text, re.MULTILINE | re.DOTALL))


def test_the_page_as_served_is_small() -> None:
    pages = Pages(str(WEB))
    sizes = {
        path.name: len(pages.answer("GET", f"/{path.name}", {"accept-encoding": "gzip"}).body) for path in WEB.iterdir()
    }
    assert sum(sizes.values()) <= MOST_BYTES, sizes
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


def test_a_module_loses_no_space_that_counts_when_it_is_served(tmp_path: Path) -> None:
    for name in MODULES:
        whole = without_comments((WEB / name).read_bytes())
        served = without_spaces(whole)
        assert re.sub(rb"\s", b"", served) == re.sub(rb"\s", b"", whole)
        lines = [line for line in whole.splitlines() if line.count(b"`") == 2 or line.count(b'"') == 2]
        texts = [text for line in lines for text in re.findall(rb'"[^"`]*"|`[^`]*`', line) if text in line]
        assert [text for text in texts if text not in served] == []
        (tmp_path / name).with_suffix(".mjs").write_bytes(served)
    check = 'for f in "$@"; do node --check "$f" || exit 1; done'
    subprocess.run(["sh", "-c", check, "sh", *map(str, tmp_path.iterdir())], check=True)


def test_all_modules_that_the_page_imports_are_preloaded() -> None:
    reached, waiting = set[str](), ["main.js"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += imported(name)
    html = (WEB / "index.html").read_text()
    preloaded = re.findall(r'<link rel="modulepreload" href="([\w.]+)">', html)
    scripts = re.findall(r'<script type="module"(?: async)? src="([\w.]+)">', html)
    assert scripts == ["connection.js", "main.js"]
    assert sorted(preloaded + scripts) == sorted(reached)
    assert reached <= set(MODULES)


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    html, css = (WEB / "index.html").read_text(), (WEB / "page.css").read_text()
    assert not re.search(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)", html)
    assert not re.search(r"https?:|//", re.sub(r'"data:,"', "", html))
    assert not re.search(r"url\(|@import", css)
    scripts = "".join((WEB / name).read_text() for name in MODULES)
    assert not re.search(r"\beval\(|new Function|innerHTML|outerHTML|document\.write|setAttribute\(\"style", scripts)
    assert not re.search(r'(?:import\(|fetch\(|from )["\'`]https?:', scripts)
