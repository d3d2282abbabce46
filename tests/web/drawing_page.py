"""An empty page in a real Chromium that draws with the modules of `web/`, for the tests of this folder.

Arrays go to the page and come back by HTTP from a small server of the test, which serves `web/` too.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from twixt.cli.chromium import Chromium

WEB = Path(__file__).resolve().parents[2] / "web"
TYPES = {".js": "text/javascript", ".html": "text/html", ".css": "text/css"}


class DrawingPage:
    """A page, with the arrays that it may read and those that it has written, by name."""

    def __init__(self, chromium: Chromium, server: ThreadingHTTPServer) -> None:
        self.chromium = chromium
        self.arrays: dict[str, bytes] = server.arrays  # type: ignore[attr-defined]
        self.page = chromium.page
        self.page.open(f"http://127.0.0.1:{server.server_address[1]}/empty.html")

    def run(self, function: str, arrays: Mapping[str, np.ndarray], **values: Any) -> Any:
        """Calls an asynchronous JavaScript function `({read, write, values}) => ...` and returns its result. read:
        fetches an array by name, as an ArrayBuffer; write: sends a typed array back, for `written`."""
        self.arrays.clear()
        self.arrays.update({name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()})
        return self.page.evaluate(f"""(async () => {{
            const read = async (name) => (await fetch("/arrays/" + name)).arrayBuffer();
            const write = async (name, values) => {{ await fetch("/arrays/" + name, {{method: "POST", body: values}}); }};
            return await ({function})({{read, write, values: {json.dumps(values)}}});
        }})()""")

    def written(self, name: str, dtype: Any) -> np.ndarray:
        return np.frombuffer(self.arrays[name], dtype)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        if name.startswith("arrays/"):
            self._answer(self.server.arrays[name[7:]], "application/octet-stream")  # type: ignore[attr-defined]
        elif name == "empty.html":
            self._answer(b"<!doctype html><title>drawing</title>", "text/html")
        elif (path := WEB / name).is_file() and path.parent == WEB:
            self._answer(path.read_bytes(), TYPES[path.suffix])
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.arrays[self.path.removeprefix("/arrays/")] = body  # type: ignore[attr-defined]
        self._answer(b"", "text/plain")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def drawing_page() -> Iterator[DrawingPage]:
    """Context manager: a page that may import the modules of `web/`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.arrays = {}  # type: ignore[attr-defined]
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        with Chromium(size_px=(400, 300)) as chromium:
            yield DrawingPage(chromium, server)
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
