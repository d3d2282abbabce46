"""A real viewer with trouble injected from inside: `python -m tests.injected.viewer SCRIPT.json FLAGS...`.

The one idea: nothing of the product knows of this. Methods of the frame loop and of its neighbours are wrapped in this
process; the case that is due fires in the first wrapped call at its place, and the frame it fired in is noted.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.injected import drawing
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.scene.stage import Stage
from twixt.render.viewer.frame_loop import FrameLoop
from twixt.render.viewer.spare_time import SpareTime

STALL_S = 0.030
STOPS_MS = {"stolen": 20, "stolen longer": 40}
# Frames before the first case, and between two: the pacer is back to its usual, and figures have a usual.
FIRST, APART, APART_FROM_PHYSICS = 100, 30, 100
# Collected whole, such a heap takes 40 ms and more.
HEAP = 700_000
STOPPER = """
import os, sys, time
sys.stdout.write("ready\\n"); sys.stdout.flush()
while length := sys.stdin.buffer.read(1):
    time.sleep(length[0] / 1e3)
    os.kill(%d, %d)
"""


class Case(NamedTuple):
    """What is injected. place: upload, draw, user, between (two frames) or swap. busy: works; else sleeps."""

    kind: str  # draw | upload | user | gc | stolen | stolen longer | physics | display
    place: str
    busy: bool = False


class Injector:
    """Fires one case after the other."""

    def __init__(self, cases: list[Case], physics_pid: int) -> None:
        self.fired: list[dict[str, Any]] = []
        self._cases, self._physics_pid = cases, physics_pid
        self._armed: Case | None = None
        self._frame, self._at = 0, FIRST
        self._counted = 0
        self._stopper = subprocess.Popen(
            [sys.executable, "-c", STOPPER % (os.getpid(), int(signal.SIGCONT))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        assert self._stopper.stdout is not None
        assert self._stopper.stdout.readline() == b"ready\n"
        self._heap: list[list[int]] = []

    def begins(self, loop: FrameLoop) -> None:
        """A frame begins."""
        if loop.is_starting:
            return
        if not self._counted and any(case.kind == "gc" for case in self._cases):
            self._heap = [[number] for number in range(HEAP)]  # not before: what is there at the start is frozen
        self._counted += 1
        self._frame = loop.record.log.count
        if self._armed is not None or self._counted < self._at:
            return
        if len(self.fired) < len(self._cases):
            self._armed = self._cases[len(self.fired)]
        elif self._cases:
            # The frames that pay for the last one are over, too.
            loop.input.settings = replace(loop.input.settings, quit=True)

    def fire(self, place: str) -> None:
        """This place is reached."""
        case = self._armed
        if case is None or case.place != place:
            return
        self._armed = None
        self._at = self._counted + (APART_FROM_PHYSICS if case.kind == "physics" else APART)
        began_ns = time.perf_counter_ns()
        self._do(case)
        self.fired.append({**case._asdict(), "frame": self._frame, "ns": began_ns, "end_ns": time.perf_counter_ns()})

    def _do(self, case: Case) -> None:
        if case.kind == "gc":
            gc.unfreeze()  # the viewer sets aside what is too much to be looked through between two frames
            gc.collect()
        elif case.kind in STOPS_MS:
            assert self._stopper.stdin is not None
            self._stopper.stdin.write(bytes([STOPS_MS[case.kind]]))
            os.kill(os.getpid(), signal.SIGSTOP)
        elif case.kind == "physics":
            os.kill(self._physics_pid, signal.SIGUSR1)
        elif case.busy:
            end_ns = time.perf_counter_ns() + round(STALL_S * 1e9)
            while time.perf_counter_ns() < end_ns:
                pass
        else:
            time.sleep(STALL_S)

    def close(self) -> None:
        """Ends the helper."""
        assert self._stopper.stdin is not None
        self._stopper.stdin.close()
        self._stopper.wait()


def inject(injector: Injector) -> None:
    """Wraps what cases fire in."""

    def wrap(owner: Any, name: str, before: Callable[[Any], None] | None, after: str = "") -> None:
        wrapped = getattr(owner, name)

        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            if before is not None:
                before(self)
            found = wrapped(self, *arguments, **named)
            if after:
                injector.fire(after)
            return found

        setattr(owner, name, call)

    wrap(FrameLoop, "frame", injector.begins)
    wrap(SpareTime, "between_frames", None, "between")
    wrap(Stage, "draw", None, "draw")
    wrap(SceneRenderer, "upload", None, "upload")
    drawing.fire = injector.fire
    made = FrameLoop.__init__

    def make(self: FrameLoop, config: Any, window: Any, *arguments: Any, **named: Any) -> None:
        swap = window.swap

        def slow_swap(*arguments: object) -> None:
            swap(*arguments)
            injector.fire("swap")

        window.swap = slow_swap
        made(self, config, window, *arguments, **named)

    FrameLoop.__init__ = make  # type: ignore[method-assign]


def main() -> int:
    script_path, *flags = sys.argv[1:]
    script = json.loads(Path(script_path).read_text())
    injector = Injector([Case(**case) for case in script["cases"]], script["physics_pid"])
    inject(injector)
    import twixt

    try:
        return twixt.main(flags)
    finally:
        Path(script["fired"]).write_text(json.dumps(injector.fired))
        injector.close()


if __name__ == "__main__":
    sys.exit(main())
