"""What figures were measured under: the machine, who draws, and what other programs took of it meanwhile.

Always: what the system does not say is None. Reads clocks of the system; measures nothing of twixt's.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from twixt.ipc.config import Config
from twixt.ipc.errors import TwixtError
from twixt.render.bench import cpu_time
from twixt.render.measure.report import machine


class Others:
    """What other programs have of the cores, from now until asked. Own children count once they have ended."""

    def __init__(self) -> None:
        self._begin_s, self._used_s = time.monotonic(), _others_s()

    def cores(self) -> float | None:
        """Mean, in cores."""
        used_s, passed_s = _others_s(), time.monotonic() - self._begin_s
        if used_s is None or self._used_s is None or not passed_s:
            return None
        return max(0.0, used_s - self._used_s) / passed_s


def conditions() -> dict[str, Any]:
    """Of the machine and its display, as one flat table. Opens a window for a moment."""
    return machine() | {"numpy": np.__version__} | _display()


def _display() -> dict[str, Any]:
    from twixt.render.display.opening import open_display

    try:
        window = open_display(Config(pacing="unlimited"))
    except TwixtError as error:
        return {"display": f"none: {error}"}
    try:
        return {
            "display": window.backend, "size": "x".join(str(side) for side in window.framebuffer_size),
            "opengl": window.context.info["GL_VERSION"], "renderer": window.renderer,
            "drawing_threads": os.environ.get("LP_NUM_THREADS"),
        }  # fmt: skip
    finally:
        window.close()


def _others_s() -> float | None:
    """CPU time of everything but this process and its children that have ended."""
    machine = cpu_time.of_machine()
    return None if machine is None else sum(machine) - cpu_time.of_this_process()
