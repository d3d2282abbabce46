"""One run with injected trouble, and the judgement of its cases.

A case is named rightly when the frames around it are bad, all of them for its cause and, where that is *render late*,
by its part. A case that found others at work on our cores, measured from outside, is disturbed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.long.injected.machine import Lot, Machine
from tests.long.injected.viewer import APART, APART_FROM_PHYSICS, FIRST, Case
from tests.long.injected.world import STALL_S
from tests.starvation import family
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.run_figures import COST_NAMES, NO_COST, Measured, measure

ROOT = Path(__file__).resolve().parents[3]
KINDS = ("draw", "upload", "user", "gc", "stolen", "stolen longer", "physics", "display")
PLACES = {
    "draw": ("draw",), "upload": ("upload",), "user": ("user",), "gc": ("draw", "user", "between"),
    "stolen": ("draw", "upload", "user", "between"), "stolen longer": ("draw", "upload", "user", "between"), "physics": ("draw",), "display": ("swap",),
}  # fmt: skip
EXPECTED = {"physics": "physics late", "display": "display late"} | {
    kind: f"render late: {kind.split()[0]}" for kind in KINDS if kind not in ("physics", "display")
}
# Frames that may pay for a case: the one it fired in and those after it.
PAYING = 3
# Physics that stalled is late until it has caught up.
AFTER_STALL_NS = round(STALL_S * 1e9) + 300_000_000
FLAGS = ("--size", "480x360", "--no-overlay", "--draw", "tests.long.injected.drawing:draw")
SLOWEST_FPS = 20.0
# A run is judged by stretches of this length.
STRETCH_NS = 250_000_000
START_LIMIT_S, END_LIMIT_S = 60.0, 10.0


@dataclass(frozen=True)
class Judged:
    """What became of a case. named: of each bad frame around it, what it was put down to."""

    case: Case
    frame: int
    named: tuple[str, ...]
    lot: Lot
    parts_ms: tuple[float, ...]  # of the worst frame, in the order of COST_NAMES

    @property
    def is_right(self) -> bool:
        return set(self.named) == {EXPECTED[self.case.kind]}

    @property
    def is_in_time(self) -> bool:
        """No frame was bad: the display had one in hand, or the trouble fell into time to spare."""
        return not self.named


@dataclass
class Trial:
    """What was seen in one run, or in several."""

    judged: list[Judged] = field(default_factory=list)
    frames: int = 0
    bad: list[str] = field(default_factory=list)  # in a run without cases: what bad frames were put down to
    clear_frames: int = 0  # in stretches that nobody disturbed
    clear_bad: list[str] = field(default_factory=list)
    wake_p99_us: float = 0.0
    others_share: float = 0.0  # of all cores
    steal_ms: float = 0.0
    waited_ms: float = 0.0
    seconds: float = 0.0


def cases(count: int, seed: int, kinds: tuple[str, ...] = KINDS) -> list[Case]:
    """`count` of each kind, mixed."""
    chance = random.Random(seed)
    made = [Case(kind, chance.choice(PLACES[kind]), chance.random() < 0.5) for kind in kinds for _ in range(count)]
    chance.shuffle(made)
    return made


def length_s(planned: list[Case]) -> float:
    """The longest run with these cases: the viewer leaves once all have fired, at 60 Hz after two thirds of it."""
    frames = FIRST + sum(APART_FROM_PHYSICS if case.kind == "physics" else APART for case in planned)
    return (frames + 60) / 40


def run(folder: Path, environ: Mapping[str, str], planned: list[Case], seconds: float, display_pid: int = 0) -> Trial:
    """A physics process and a viewer with these cases, for so long."""
    (folder / "runtime").mkdir(mode=0o700, exist_ok=True)
    log, fired, script = folder / "frames.csv", folder / "fired.json", folder / "script.json"
    around = {**environ, "XDG_RUNTIME_DIR": str(folder / "runtime")}
    name = f"injected-{os.getpid()}"
    quiet: dict[str, Any] = {"cwd": ROOT, "env": around, "stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    sim = subprocess.Popen(
        [sys.executable, "twixt.py", "sim", "tests.long.injected.world:Stalling", "--name", name], **quiet
    )
    viewer: subprocess.Popen[bytes] | None = None
    try:
        script.write_text(
            json.dumps({"cases": [case._asdict() for case in planned], "physics_pid": sim.pid, "fired": str(fired)})
        )
        flags = ["view", name, "--wait", *FLAGS, "--seconds", f"{seconds:.1f}", "--log", str(log)]
        if not any(key in environ for key in ("DISPLAY", "WAYLAND_DISPLAY")):
            flags.append("--offscreen")
        with open(folder / "viewer.err", "wb") as errors:
            viewer = subprocess.Popen(
                [sys.executable, "-m", "tests.long.injected.viewer", str(script), *flags],
                **(quiet | {"stderr": errors}),
            )
        ours = family(sim.pid) | family(viewer.pid) | (family(display_pid) if display_pid else set())
        with Machine(ours) as machine:
            code = viewer.wait(seconds * 60 / SLOWEST_FPS + START_LIMIT_S)
        if code:
            raise RuntimeError(f"the viewer ended with {code}: {(folder / 'viewer.err').read_text()[-2000:]}")
    finally:
        for process in (viewer, sim):
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(END_LIMIT_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
    return judge(measure(read_log(log)), json.loads(fired.read_text()), machine)


def judge(measured: Measured, fired: list[dict[str, Any]], machine: Machine) -> Trial:
    """Every case that fired in frames that are in the log, and what the whole run was like."""
    frames = measured.timing.frames
    number = frames["frame"]
    names = _names(measured)
    trial = Trial(frames=len(frames), bad=[name for name in names if name])
    for each in fired:
        case = Case(each["kind"], each["place"], each["busy"])
        at = int(np.searchsorted(number, each["frame"]))
        end = at + PAYING
        if case.kind == "physics":
            end = int(np.searchsorted(measured.timing.present_ns, each["ns"] + AFTER_STALL_NS))
        if end >= len(frames):
            continue
        around = slice(at, end)
        lot = machine.between(int(frames["start_ns"][at]), int(measured.timing.present_ns[end - 1]))
        parts_ms = np.stack([frames[f"{part}_ns"][around] for part in COST_NAMES], axis=1).max(0) / 1e6
        named = tuple(name for name in names[around] if name)
        trial.judged.append(Judged(case, each["frame"], named, lot, tuple(parts_ms.round(1).tolist())))
    _add_conditions(trial, measured, machine)
    _add_clear(trial, measured, names, machine)
    return trial


def _names(measured: Measured) -> list[str]:
    """Of each frame, what it was put down to; empty for one that is not bad."""
    physics, render, display, part = measured.causes
    named = []
    for i in range(len(part)):
        late = "render late" + ("" if part[i] == NO_COST else f": {COST_NAMES[part[i]]}")
        named.append("physics late" if physics[i] else late if render[i] else "display late" if display[i] else "")
    return named


def _add_clear(trial: Trial, measured: Measured, names: list[str], machine: Machine) -> None:
    """The frames of stretches that nobody disturbed."""
    present_ns = measured.timing.present_ns
    for begin_ns in range(int(present_ns[0]), int(present_ns[-1]) - STRETCH_NS, STRETCH_NS):
        if machine.between(begin_ns, begin_ns + STRETCH_NS).is_disturbed:
            continue
        first, end = np.searchsorted(present_ns, (begin_ns, begin_ns + STRETCH_NS))
        trial.clear_frames += int(end - first)
        trial.clear_bad += [name for name in names[first:end] if name]


def _add_conditions(trial: Trial, measured: Measured, machine: Machine) -> None:
    frames = measured.timing.frames
    trial.wake_p99_us = float(np.percentile(frames["wake_error_ns"], 99)) / 1e3
    inside = [sample for sample in machine.samples if sample.at_ns >= int(frames["start_ns"][0])]
    first, last = inside[0], inside[-1]
    wall_ns = last.at_ns - first.at_ns
    others_ns = max(0, last.busy_ns - first.busy_ns - (last.ran_ns - first.ran_ns))
    trial.others_share = others_ns / wall_ns / (os.cpu_count() or 1)
    trial.steal_ms = (last.steal_ns - first.steal_ns) / 1e6
    trial.waited_ms = (last.waited_ns - first.waited_ns) / 1e6
    trial.seconds = wall_ns / 1e9
