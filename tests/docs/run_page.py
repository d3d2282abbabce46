"""Runs the Python blocks of a page as one program, in the present folder.

    python -m tests.docs.run_page PAGE

PAGE is a page of Markdown, or a Python file. Loops end: a viewer that is opened without `seconds` closes by itself.
Lines of a traceback are those of the page.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import twixt
from tests.docs.blocks import blocks_of

# How long a viewer without `seconds` runs, from its first frame: a loop has time to publish, and frames to show it.
# Programs that draw offscreen wait for their pictures, and end by themselves.
SECONDS, OFFSCREEN_SECONDS = 0.3, 30.0
SIZE_PX = (320, 240)
# Rest before each look at a window. Loops that never rest would take a core from the viewer that they wait for.
REST_S = 0.001


def ending(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which opens a viewer, with an end, and with a small window and low quality if the page chooses no
    others."""

    @wraps(function)
    def limited(*args: Any, **options: Any) -> Any:
        options.setdefault("size_px", SIZE_PX)
        options.setdefault("quality", "low")
        options.setdefault("seconds", OFFSCREEN_SECONDS if options.get("offscreen") else SECONDS)
        return function(*args, **options)

    return limited


def resting(look: Callable[..., bool]) -> Callable[..., bool]:
    """A loop's look at its window, with a rest before it."""

    @wraps(look)
    def rested(handle: Any) -> bool:
        time.sleep(REST_S)
        return look(handle)

    return rested


def main(page: str) -> None:
    """Runs the page. What a block raises is raised."""
    sys.path.insert(0, ".")
    twixt.show = ending(twixt.show)
    if hasattr(twixt, "mujoco_viewer"):
        viewer = twixt.mujoco_viewer
        for name in ("launch", "launch_passive", "launch_from_path"):
            setattr(viewer, name, ending(getattr(viewer, name)))
        viewer.Handle.is_running = resting(viewer.Handle.is_running)
    if page.endswith(".py"):
        runpy.run_path(page, run_name="__main__")
        return
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(Path(page).read_text()):
        if block.language != "python":
            continue
        if block.file_name:
            Path(block.file_name).write_text(block.text)
        exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), namespace)


if __name__ == "__main__":
    main(sys.argv[1])
