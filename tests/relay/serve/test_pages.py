"""The page by HTTP: known files alone, compressed, with the headers that keep others out."""

from __future__ import annotations

import gzip
from http import HTTPStatus
from pathlib import Path

import pytest

from twixt.relay.serve.pages import Pages

SCRIPT = b"export const answer=42;\n" * 100


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    (tmp_path / "index.html").write_bytes(b"<!doctype html>")
    (tmp_path / "main.js").write_bytes(SCRIPT)
    (tmp_path / "secret.pem").write_bytes(b"key")
    return Pages(str(tmp_path), ["https://lab.example"])


@pytest.mark.parametrize("target", ["/", "/index.html", "/?a=b", "/proxy/8000/", "/proxy/8000/index.html", ""])
def test_the_page_is_found_below_any_prefix(pages: Pages, target: str) -> None:
    answer = pages.answer("GET", target, {})
    assert (answer.status, answer.body) == (HTTPStatus.OK, b"<!doctype html>")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    "target",
    ["/none.js", "/secret.pem", "/..", "/main.js/..", "/%2e%2e", "/%6dain.js", "/../pyproject.toml", "/main.js\0"],
)
def test_other_files_are_not_found(pages: Pages, target: str) -> None:
    assert pages.answer("GET", target, {}).status == HTTPStatus.NOT_FOUND


def test_scripts_are_compressed_for_those_who_understand_it(pages: Pages) -> None:
    plain = pages.answer("GET", "/main.js", {})
    zipped = pages.answer("GET", "/main.js", {"accept-encoding": "br, gzip"})
    assert plain.body == gzip.decompress(zipped.body) == SCRIPT
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert int(zipped.headers["Content-Length"]) == len(zipped.body) < len(SCRIPT)


def test_head_has_no_body_and_an_unchanged_file_is_not_sent_again(pages: Pages) -> None:
    head = pages.answer("HEAD", "/main.js", {})
    assert (head.body, head.headers["Content-Length"]) == (b"", str(len(SCRIPT)))
    again = pages.answer("GET", "/main.js", {"if-none-match": head.headers["ETag"]})
    assert (again.status, again.body) == (HTTPStatus.NOT_MODIFIED, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "TRACE", "get"])
def test_other_methods_are_refused(pages: Pages, method: str) -> None:
    answer = pages.answer(method, "/", {})
    assert answer.status == HTTPStatus.METHOD_NOT_ALLOWED
    assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("target", ["/", "/main.js", "/none.js"])
def test_every_answer_keeps_others_out(pages: Pages, target: str) -> None:
    headers = pages.answer("GET", target, {}).headers
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; ")
    assert headers["Content-Security-Policy"].endswith("frame-ancestors 'self' https://lab.example")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert (headers["Cross-Origin-Opener-Policy"], headers["Cross-Origin-Embedder-Policy"]) == (
        "same-origin", "require-corp",
    )  # fmt: skip
    assert headers["Cache-Control"] in ("no-cache", "no-store")
    assert "*" not in "".join(headers.values())
