"""Starts the processes of watched loops, requests turns from them, and ends them. Also computes by how much a viewer
slows down a loop.

A turn with the viewer running is compared with the turns right before and after it. In those turns the viewer is
stopped. So drift (clocks, other programs, the loop's own work) cancels out. The figure is the median over the turns,
with a bootstrap interval and the worst turn. `watched_loop` describes the commands to a loop and the answers of the
loop.

Always: the program of a loop is stopped (SIGSTOP) between its turns, so that it does not disturb the turns of other
programs. The program ends with its context. An unknown figure is None.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from bench.processes import HERE, Process, function_call, process
from twixt.ipc.errors import TwixtError

WORLD, LOOP, MODEL = "world", "show", "model"
# For each kind of loop, the function that yields this loop.
LOOPS = {
    WORLD: "bench.loops.watched_loop:world_loop",
    LOOP: "bench.loops.watched_loop:show_loop",
    MODEL: "bench.loops.model_viewers:model_loop",
}
# Longest time that a viewer may take to close, in seconds.
EXIT_GRACE_S = 10.0
# RESAMPLES is the number of bootstrap resamples. INTERVAL_SHARE is the share of the resamples that lies inside the
# interval.
RESAMPLES, INTERVAL_SHARE = 2000, 0.95


class LoopTurn(NamedTuple):
    """One turn of the loop. watched: True if the viewer was running. cpu_ns: processor time of the loop's thread, in
    ns."""

    watched: bool
    begin_ns: int
    end_ns: int
    steps: int
    cpu_ns: int = 0

    @property
    def step_us(self) -> float:
        """Mean duration of a step, in us."""
        return (self.end_ns - self.begin_ns) / 1e3 / max(1, self.steps)

    @property
    def by_cpu(self) -> LoopTurn:
        """The same turn, measured in processor time."""
        return self._replace(begin_ns=0, end_ns=self.cpu_ns)


class Slowdown(NamedTuple):
    """Slowdown of a loop by its viewer, in percent of the duration of a step with the viewer stopped. low, high:
    limits of the interval of the median."""

    median: float
    low: float
    high: float
    worst: float
    pairs: int

    @property
    def noise(self) -> float:
        """Uncertainty of the median slowdown, as a share of the duration of a step."""
        return max(0.0, (self.high - self.low) / 4 / 100)


def slowdown(turns: Sequence[LoopTurn], seed: int = 0) -> Slowdown | None:
    """Slowdown of the watched turns, each relative to its two unwatched neighbours. It is None if no watched turn has
    two unwatched neighbours."""
    ratios = np.array(
        [
            2 * turn.step_us / (before.step_us + after.step_us) - 1
            for before, turn, after in zip(turns, turns[1:], turns[2:], strict=False)
            if turn.watched and not before.watched and not after.watched
        ]
    )
    if not len(ratios):
        return None
    picks = np.random.default_rng(seed).integers(0, len(ratios), (RESAMPLES, len(ratios)))
    low, high = np.quantile(np.median(ratios[picks], axis=1), [(1 - INTERVAL_SHARE) / 2, (1 + INTERVAL_SHARE) / 2])
    median, low, high, worst = (100 * float(share) for share in (np.median(ratios), low, high, ratios.max()))
    return Slowdown(median, low, high, worst, len(ratios))


def step_us(turns: Sequence[LoopTurn], watched: bool) -> float | None:
    """Median duration of a step, in us. If `watched` is True, it is the median of the watched turns, else of the other
    turns."""
    return float(np.median([t.step_us for t in turns if t.watched == watched] or [np.nan])) if turns else None


class LoopProcess:
    """A running loop. failure: reason why the loop cannot run turns (any more), or "" if it can. pids: process id of
    the loop. If the loop names a viewer's process, the id of that process follows."""

    def __init__(self, child: Process, commands: Any) -> None:
        self._child, self._commands, self._lines = child, commands, child.lines()
        self._viewer: int | None = None
        self.pids = [child.pid]
        self.failure = ""
        with suppress(TwixtError):
            if viewer := self._answer().get("viewer"):
                self.pids.append(viewer)
                with suppress(AttributeError, OSError):  # not possible on this system, or the process has ended
                    self._viewer = os.pidfd_open(viewer)
        self._stop()

    def turn(self, watched: bool, seconds: float) -> LoopTurn:
        """Runs one turn of steps. Raises TwixtError if the viewer or the program has ended."""
        return LoopTurn(watched, **self._ask(do="turn", watched=watched, seconds=seconds))

    def sync_us(self, calls: int) -> list[float]:
        """Durations of `calls` calls of `sync`, one right after the other, in us. Raises TwixtError if the viewer or
        the program has ended."""
        return list(self._ask(do="sync", calls=calls)["us"])

    def end(self) -> None:
        """Makes the program close its viewer, and waits until the program ends."""
        self._signal(signal.SIGCONT)
        self._commands.close()
        self._child.failure(EXIT_GRACE_S)
        if self._viewer is not None:
            # raised if the loop was killed while it was stopped; the viewer then ends by itself
            with suppress(OSError):
                signal.pidfd_send_signal(self._viewer, signal.SIGCONT)
            os.close(self._viewer)

    def _ask(self, **command: Any) -> dict[str, Any]:
        self._signal(signal.SIGCONT)
        with suppress(BrokenPipeError):  # `_answer` then reports that the loop has ended
            self._commands.write(json.dumps(command).encode() + b"\n")
        answer = self._answer()
        self._stop()
        return answer

    def _answer(self) -> dict[str, Any]:
        if line := next(self._lines, ""):
            answer: dict[str, Any] = json.loads(line)
        else:
            answer = {"failure": f"the loop ended with {self._child.failure() or self._child.last_error_line()}"}
        self.failure = answer.get("failure", "")
        if self.failure:
            raise TwixtError(self.failure)
        return answer

    def _stop(self) -> None:
        if not self.failure:
            self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child.pid, number)


@contextmanager
def loop_process(kind: str, settle_s: float, folder: str = HERE, **options: Any) -> Iterator[LoopProcess]:
    """Starts a loop of this kind of `LOOPS`. settle_s: time in seconds before the first turn, in which the viewer
    settles. folder: checkout whose twixt the loop runs."""
    reads, writes = os.pipe()
    call = function_call(
        "bench.loops.watched_loop:main",
        folder,
        commands=reads,
        settle_s=settle_s,
        options=options,
        has_threads=kind == MODEL,
        opens=LOOPS[kind],
    )
    # The file is unbuffered. With a buffer, `close` would write the rest of the buffer again after a broken pipe, and
    # raise.
    with os.fdopen(writes, "wb", buffering=0) as commands, process(call, is_read=True, pass_fds=(reads,)) as child:
        os.close(reads)
        loop = LoopProcess(child, commands)
        try:
            yield loop
        finally:
            loop.end()
