"""The page by HTTP: the files of `web/`, read once at start.

Always: only files that were there at start are served, and only with GET and HEAD. The last component of the path
counts, because a proxy may add a prefix.
"""

from __future__ import annotations

import gzip
import hashlib
import http
import os
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}
INDEX = "index.html"
# Smaller files are not compressed.
GZIP_BYTES = 500
METHODS = ("GET", "HEAD")
# Comments that begin a line or follow two spaces. They are a quarter of the compressed modules.
COMMENT = re.compile(rb"^[ \t]*(?:/\*.*?\*/[ \t]*$|//[^\n]*)|  //[^\n]*$", re.MULTILINE | re.DOTALL)
BLANK = re.compile(rb"^[ \t\n]+", re.MULTILINE)
# Parts of a script: strings and regular expressions, which stay as they are; operators with the spaces around them. The
# signs + and - are not among these, because `a - -b` needs its space.
QUOTED = rb""" "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | `(?:[^`\\]|\\.)*` | (?:(?<=\()|(?<=[(=:,]\ ))/(?:[^/\\\n]|\\.)+/ """
SPACED = re.compile(rb"(" + QUOTED + rb")|\ ?([=,{}()\[\]:?<>*&|;/]+)\ ?", re.DOTALL | re.VERBOSE)


class Answer(NamedTuple):
    """An HTTP response."""

    status: http.HTTPStatus
    headers: Mapping[str, str]
    body: bytes


class _File(NamedTuple):
    content: bytes
    zipped: bytes | None
    content_type: str
    etag: str


class Pages:
    """Files of a folder. framed_by: origins, besides the page's own, that may show the page in a frame."""

    def __init__(self, folder: str, framed_by: Collection[str] = ()) -> None:
        self._files = {name: _read(os.path.join(folder, name)) for name in os.listdir(folder) if _type_of(name)}
        self._secure = security_headers(framed_by)

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        """The response to a request. target: path, maybe with a query. headers: names in lower case."""
        if method not in METHODS:
            return self.refusal(http.HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD", {"Allow": ", ".join(METHODS)})
        file = self._files.get(last_component(target) or INDEX)
        if file is None:
            return self.refusal(http.HTTPStatus.NOT_FOUND, "there is no such file")
        named = {"Cache-Control": "no-cache", "ETag": file.etag, "Vary": "Accept-Encoding"}
        if headers.get("if-none-match") == file.etag:
            return Answer(http.HTTPStatus.NOT_MODIFIED, self._secure | named, b"")
        content, encoding = file.content, dict[str, str]()
        if file.zipped is not None and "gzip" in headers.get("accept-encoding", ""):
            content, encoding = file.zipped, {"Content-Encoding": "gzip"}
        sizes = {"Content-Type": file.content_type, "Content-Length": str(len(content))}
        body = b"" if method == "HEAD" else content
        return Answer(http.HTTPStatus.OK, self._secure | named | sizes | encoding, body)

    def refusal(self, status: http.HTTPStatus, text: str, headers: dict[str, str] | None = None) -> Answer:
        """A response that is no page."""
        body = f"{text}\n".encode()
        sizes = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))}
        return Answer(status, self._secure | sizes | {"Cache-Control": "no-store"} | (headers or {}), body)


def last_component(target: str) -> str:
    """Last component of the path of a request's target, without its query."""
    return target.partition("?")[0].rpartition("/")[2]


def security_headers(framed_by: Collection[str] = ()) -> dict[str, str]:
    """Headers of every response. The page loads nothing from elsewhere. It is isolated, so that its clock has a finer
    resolution."""
    framing = ["'self'", *sorted(framed_by)]
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        f"base-uri 'none'; form-action 'none'; frame-ancestors {' '.join(framing)}"
    )
    return {
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Embedder-Policy": "require-corp",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Connection": "close",
    }


def without_comments(script: bytes) -> bytes:
    """A module or a style sheet without comments (except those within a line), indents and empty lines."""
    return BLANK.sub(b"", COMMENT.sub(b"", script))


def without_spaces(module: bytes) -> bytes:
    """A module without the spaces around operators. They are 3 % of the compressed modules."""
    return SPACED.sub(lambda part: part[1] or part[2], module)


def _read(path: str) -> _File:
    with open(path, "rb") as file:
        content = file.read()
    if path.endswith((".js", ".css")):
        content = without_comments(content)
    if path.endswith(".js"):
        content = without_spaces(content)
    zipped = gzip.compress(content, mtime=0) if len(content) >= GZIP_BYTES else None
    etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    return _File(content, zipped, _type_of(path), etag)


def _type_of(name: str) -> str:
    return CONTENT_TYPES.get(os.path.splitext(name)[1], "")
