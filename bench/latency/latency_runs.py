"""Runs a program that publishes and its viewer, and computes from the frame log when each state was seen.

Always: a state counts as seen in the first frame whose draw time has reached the state's simulated time. The latency
of a state is the time from the call of `publish` (with `twixt run`: from the due instant, because it publishes ahead)
to the present instant of that frame.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.latency.publishing_loops import OWN_PACE, SHOW, SYNC
from bench.processes import function_call, process
from bench.screens import Screen
from twixt.ipc.errors import TwixtError
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable
from twixt.sim.process.viewer_command import twixt_command

RUN = "run"
WAYS = (RUN, SHOW, OWN_PACE, SYNC)
AUTO = "auto"
CLOCKS = (AUTO, "ahead", "newest-two", "buffered")
# Column that is measured with this interpolation method, instead of a clock.
LATEST = "latest"
COLUMNS = (*CLOCKS, LATEST)
# `run` and `sync` publish at most 120 states a second, whatever the rate of their steps.
RATES_HZ = (10, 30, 60, 500)
FPS = 60
# Measured time of a run, in seconds, and the time at its start that is left out.
MEASURED_S, START_S = 2.2, 0.8
# The same time for the clock `auto` at the lowest rate. There it takes several seconds to find its offset.
LONG_START_S = 6.0
# All rates are higher by this share, so that states do not keep one phase relative to the frames. A run passes through
# all phases once.
RATE_SHIFT = 1 / FPS / MEASURED_S
# Time in seconds after the planned length of a run. A run that has not ended by then counts as hanging.
TIMEOUT_S = 30.0
OPTIONS: dict[str, Any] = {"fps": float(FPS), "size_px": (640, 480), "pacing": "timer"}


class Case(NamedTuple):
    """A run. column: playback clock, or LATEST. rate_hz: states a second."""

    way: str
    rate_hz: int
    column: str

    @property
    def name(self) -> str:
        return f"{self.way}, {self.rate_hz} Hz, {self.column}"

    @property
    def start_s(self) -> float:
        """Time at the start of the run that is left out, in seconds."""
        return LONG_START_S if self.column == AUTO and self.rate_hz == min(RATES_HZ) else START_S


@dataclass(frozen=True)
class Latency:
    """Figures of one run. states: number of states that were seen. age_ms: mean sample age, the added latency.
    held_percent: share of the frames that show the same simulated time as the frame before."""

    states: int
    mean_ms: float
    p99_ms: float
    age_ms: float
    held_percent: float


@dataclass(frozen=True)
class CaseRun:
    """One run of a case. failure: reason why there are no figures."""

    case: Case
    figures: Latency | None
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        figures = asdict(self.figures) if self.figures is not None else {}
        return {**self.case._asdict(), **figures, "failure": self.failure or None}


def measured(case: Case, display: Screen, measured_s: float = MEASURED_S) -> CaseRun:
    """Runs a case on a display. measured_s: measured time of the run, in seconds, without its start."""
    seconds = case.start_s + measured_s
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        log, states_file = os.path.join(folder, "frames.csv"), os.path.join(folder, "states.npy")
        with process(_command(case, seconds, log, states_file), display.environ) as child:
            failure = child.failure(seconds + TIMEOUT_S)
        if failure:
            return CaseRun(case, None, failure)
        try:
            frames = read_log(log)
            states = _states_of_run(case, frames) if case.way == RUN else np.load(states_file)
            return CaseRun(case, latency(states, frames, case.start_s))
        except (TwixtError, OSError) as error:
            return CaseRun(case, None, str(error))


def latency(states: NDArray[np.int64], frames: FrameTable, start_s: float = START_S) -> Latency:
    """Figures of the states, from `start_s` after the first frame on. states: (n, 2), the simulated time of each state
    and the instant from which its latency is counted, in ns. Raises TwixtError if no state was seen."""
    drawn = (frames["mode"] != frames.words.number_of.get("none", -1)) & ~frames["probe"]
    present_ns, draw_ns = frames["present_ns"][drawn], frames["draw_time_ns"][drawn]
    if not len(present_ns):
        raise TwixtError("no frame was drawn")
    begin_ns = present_ns[0] + round(start_s * 1e9)
    states = states[states[:, 1] >= begin_ns]
    first = np.searchsorted(np.maximum.accumulate(draw_ns), states[:, 0])
    is_seen = first < len(draw_ns)
    latency_ms = (present_ns[first[is_seen]] - states[is_seen, 1]) / 1e6
    if not len(latency_ms):
        raise TwixtError("no state was seen")
    counted = present_ns >= begin_ns
    age_ms = (present_ns - frames["draw_due_ns"][drawn])[counted] / 1e6
    return Latency(
        len(latency_ms),
        float(latency_ms.mean()),
        float(np.percentile(latency_ms, 99)),
        float(age_ms.mean()),
        float(100 * (np.diff(draw_ns[counted]) == 0).mean()),
    )


def _states_of_run(case: Case, frames: FrameTable) -> NDArray[np.int64]:
    """The states of a world with fixed steps, with the instants at which they fall due."""
    period_ns = 1e9 / shifted_hz(case.rate_hz)
    drawn = frames["draw_time_ns"] > 0
    draw_ns, due_ns = frames["draw_time_ns"][drawn], frames["draw_due_ns"][drawn]
    steps = np.arange(int(draw_ns.min() / period_ns) + 1, int(draw_ns.max() / period_ns) + 1)
    times_ns = np.round(steps * period_ns).astype(np.int64)
    at = np.minimum(np.searchsorted(draw_ns, times_ns), len(draw_ns) - 1)
    return np.column_stack([times_ns, due_ns[at] - (draw_ns[at] - times_ns)])


def shifted_hz(rate_hz: float) -> float:
    return rate_hz * (1 + RATE_SHIFT)


def _command(case: Case, seconds: float, log: str, states_file: str) -> list[str]:
    options: dict[str, Any] = OPTIONS | {"log": log, "seconds": seconds}
    options |= {"interpolation": LATEST} if case.column == LATEST else {"clock": case.column}
    if case.way != RUN:
        call = "bench.latency.publishing_loops:main"
        return function_call(call, way=case.way, rate_hz=shifted_hz(case.rate_hz), out=states_file, **options)
    command = [*twixt_command(), "measure", "metronome", "--physics-hz", repr(shifted_hz(case.rate_hz))]
    for name, value in options.items():
        text = "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
        command += ["--" + name.removesuffix("_px").replace("_", "-"), text]
    return command
