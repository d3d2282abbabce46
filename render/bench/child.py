"""A part of the benchmark in a process of its own, and its rows as they come.

One idea: a part leaves nothing to the next: no OpenGL context beside another, no memory kept for drawing, no threads.
And what ends the part, a display's error or a driver's, ends no other.

Always: rows that came before an end are there. The two sides talk in lines of JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import twixt
from twixt.ipc.bench import Row, Say
from twixt.ipc.errors import TwixtError

# For a part that was asked to end.
FAREWELL_S = 5.0


def python(code: str) -> list[str]:
    """A command that runs that code by this very Python, with this very twixt to be imported."""
    folder = os.path.dirname(os.path.abspath(str(twixt.__file__)))
    return [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {folder!r})\n{code}"]


def rows_of(module: str, share: float, say: Say) -> Iterator[Row]:
    """The rows of that module (its full name), measured elsewhere. Raises TwixtError."""
    code = f"from twixt.render.bench.child import main\nmain({module!r}, {share!r})"
    with tempfile.TemporaryFile() as words:
        child = subprocess.Popen(
            python(code), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=words, text=True, encoding="utf-8"
        )
        try:
            assert child.stdout is not None
            for line in child.stdout:
                kind, told = json.loads(line)
                match kind:
                    case "say":
                        say(told)
                    case "row":
                        yield Row(**told)
                    case "error":
                        raise TwixtError(told)
            if ended := child.wait():
                words.seek(0)
                last = words.read().decode(errors="replace").strip().splitlines()[-1:]
                raise TwixtError(f"its process ended with {ended}: {''.join(last) or 'it said nothing'}")
        finally:
            end(child)


def main(module: str, share: float) -> None:
    """Measures that module and tells of it on standard output."""
    out = sys.stdout
    sys.stdout = sys.stderr  # what others print is not for the other side

    def tell(kind: str, told: object) -> None:
        print(json.dumps([kind, told]), file=out, flush=True)

    try:
        for row in importlib.import_module(module).rows(share, lambda what: tell("say", what)):
            tell("row", row._asdict())
    except TwixtError as error:
        tell("error", str(error))
    except (KeyboardInterrupt, BrokenPipeError):
        pass


def end(child: subprocess.Popen[Any], farewell_s: float = FAREWELL_S) -> None:
    """The child is gone: asked, and killed where it takes longer than `farewell_s`. Its output is closed."""
    for ask in (child.terminate, child.kill):
        if child.poll() is None:
            ask()
            try:
                child.wait(farewell_s)
            except subprocess.TimeoutExpired:
                continue
    if child.stdout is not None:
        child.stdout.close()
