"""The step multiple is the number of the world's own steps that are made at once. The multiple is fixed, chosen by
load, or read from a step log.

`Widening` implements `--when-slow widen`. If steps cost more than the time available, fewer and wider steps are made.
Simulated time then keeps up with the wall clock. The width of a step is its simulated time. The cost of a step does
not depend on its width, so the measured costs show which width is enough. A step is too narrow if its cost is more
than the share `FULL` of the time available. The new width is then the smallest width at which the cost is at most the
share `ROOMY`. The width is reduced only on one condition: at the smaller width, all steps of the last second would
have cost at most the share `ROOMY`. Because the two shares differ, the width does not go up and down all the time.

Always: the multiple is a whole number from 1 to `most`. While the cost is constant, the multiple changes at most once.
`Stride` objects read no clock: the caller passes costs.
"""

from __future__ import annotations

import errno
import math
import os
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice

# Numbers of steps for the two measures that decide whether steps become wider. The first measure is the lower median
# of the last MEDIAN_STEPS costs: if five steps of eight are slow, the width grows. (With four slow and four fast
# steps, the ordinary median would lie between the slow and the fast costs. The width would grow too little.) The
# second measure is the mean of the last MEAN_STEPS costs, because a few very slow steps lose as much time as many
# slightly slow steps.
MEDIAN_STEPS, MEAN_STEPS = 8, 128
# FULL and ROOMY are shares of the time available for a step. If steps cost more than FULL, a debt can no longer be
# made up. A new width is chosen so that steps cost at most ROOMY.
FULL, ROOMY = 0.97, 0.85
# The width is reduced only if the last NARROW_STEPS steps, and all steps of the last NARROW_NS ns (at most MEAN_STEPS
# steps), would have fitted into the smaller width.
NARROW_STEPS, NARROW_NS = 16, 1_000_000_000
# Longest step of `--when-slow widen` without `--max-step-ms`, in ms. With steps of this length, interpolation still
# gets ten states a second.
MAX_STEP_MS = 100.0


class Stride(Protocol):
    """Protocol of objects that choose the step multiple."""

    reason: str  # Reason for the current multiple, which the status shows.

    @property
    def is_over(self) -> bool:
        """True after the last step of a step log."""

    @property
    def multiple(self) -> int:
        """The multiple of the next step."""

    @property
    def most(self) -> int:
        """The largest possible multiple. If steps cost more than the time available at this multiple, simulated time
        slows down."""

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Adds the busy time of a step, in ns. unit_ns: wall time of one of the world's own steps, in ns."""

    def reset(self) -> None:
        """Returns to the first step, after a reset of the world."""


class FixedStride:
    """A step multiple that is always 1."""

    reason = ""
    is_over = False
    multiple = most = 1

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Does nothing: the step multiple is always 1."""

    def reset(self) -> None:
        """Does nothing: the step multiple is always 1."""


class Widening:
    """A step multiple that is chosen by load. It is at most `most`."""

    is_over = False

    def __init__(self, most: int) -> None:
        self.multiple, self.most = 1, max(1, most)
        self.reason = ""
        # Costs of the steps that were made with the current multiple, in ns.
        self._costs_ns: deque[int] = deque(maxlen=MEAN_STEPS)

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Adds the cost of a step and sets the next multiple."""
        self._costs_ns.append(busy_ns)
        if not self._widen(unit_ns):
            self._narrow(unit_ns)

    def reset(self) -> None:
        """Does nothing: the load does not depend on simulated time."""

    def _widen(self, unit_ns: float) -> bool:
        costs_ns = self._costs_ns
        if len(costs_ns) <= MEDIAN_STEPS // 2 or self.multiple == self.most:
            return False
        latest = sorted(list(costs_ns)[-MEDIAN_STEPS:])
        typical_ns: float = latest[(len(latest) - 1) // 2]
        if len(costs_ns) == MEAN_STEPS:
            typical_ns = max(typical_ns, sum(costs_ns) / MEAN_STEPS)
        if typical_ns <= FULL * self.multiple * unit_ns:
            return False
        self._set_multiple(max(self.multiple + 1, math.ceil(typical_ns / (ROOMY * unit_ns))), typical_ns, "takes")
        return True

    def _narrow(self, unit_ns: float) -> None:
        costs_ns = self._costs_ns
        steps = max(NARROW_STEPS, math.ceil(NARROW_NS / (self.multiple * unit_ns)))
        if self.multiple == 1 or len(costs_ns) < min(steps, MEAN_STEPS):
            return
        worst_ns = max(list(costs_ns)[-steps:])
        multiple = max(1, math.ceil(worst_ns / (ROOMY * unit_ns)))
        if multiple < self.multiple:
            self._set_multiple(multiple, worst_ns, "takes at most")

    def _set_multiple(self, multiple: int, cost_ns: float, cost_verb: str) -> None:
        before, self.multiple = self.multiple, min(multiple, self.most)
        self._costs_ns.clear()
        change = f"step multiple {before} -> {self.multiple}"
        self.reason = f"{change}, because a step {cost_verb} {cost_ns / 1e6:.3g} ms"


# A step log is a file with the lengths of all steps of a run. `--dt-log` writes it, and `--dt-replay` replays it.
#
#     twixt dt log 1
#     world balls
#     seed 0
#     dt 0.016666666666666666
#     set count=500
#     120 1                       120 steps of one dt each, then
#     35 4                        35 steps of four dt each
#     end 155
#
# A step log is plain text, so that people can read and compare logs. Always: a log has the steps since the last reset.
# Reading a log gives exactly the same step lengths as the run had, or an error that names the damaged line. If the run
# is killed or the disk is full, the log has whole lines but no end line. Such a log can still be replayed.


HEADER = "twixt dt log 1"
# Largest number of steps between two writes to a log file. If the run is killed, the log lacks at most this number of
# steps.
WRITTEN_EVERY = 240
# Largest step multiple, and largest number of steps, in a log. The steps of a log then take at most 1 GiB of memory.
WIDEST, MOST_STEPS = 1_000_000, 1 << 28
# Largest size of a log in characters. This is enough for a week in which wide and narrow steps alternate.
MOST_CHARACTERS = 1 << 26


@dataclass(frozen=True)
class Origin:
    """Origin of a step log: everything that determines the states of a world, except the step lengths. dt_s: the
    world's own step, in seconds."""

    world: str
    seed: int
    dt_s: float
    settings: tuple[tuple[str, str], ...] = ()

    def lines(self) -> list[str]:
        """Lines of the head of a log. Floats are written with `repr`, so that no digit is lost."""
        head = [f"world {self.world}", f"seed {self.seed}", f"dt {self.dt_s!r}"]
        return head + [f"set {key}={value}" for key, value in self.settings]


class DtLog:
    """Writes a step log. Raises TwixtError if the file cannot be opened. An error after that is reported and ends the
    log."""

    def __init__(self, path: str, origin: Origin) -> None:
        self._path, self._origin = path, origin
        try:
            self._file = open(path, "wb", buffering=0)  # noqa: SIM115  (lines are written whole)
            if self._file.write(self._head) < len(self._head):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            words = f"cannot write --dt-log {path!r} ({error.strerror}); name another file"
            raise TwixtError(words) from error
        self._multiple = self._pending = self._steps = 0

    @property
    def _head(self) -> bytes:
        return ("\n".join([HEADER, *self._origin.lines()]) + "\n").encode()

    def begin(self) -> None:
        """Empties the log and writes its head again. Call it after a reset of the world."""
        self._multiple = self._pending = self._steps = 0
        self._write(self._head, anew=True)

    def stepped(self, multiple: int) -> None:
        """Logs a step that made `multiple` of the world's own steps."""
        if self._pending and (multiple != self._multiple or self._pending == WRITTEN_EVERY):
            self._write_pending()
        self._multiple = multiple
        self._pending += 1
        self._steps += 1

    def close(self) -> None:
        """Writes the end line and closes the file. Further calls do nothing."""
        if self._file.closed:
            return
        self._write_pending()
        self._write(f"end {self._steps}\n".encode())
        self._file.close()

    def _write_pending(self) -> None:
        if self._pending:
            self._write(f"{self._pending} {self._multiple}\n".encode())
            self._pending = 0

    def _write(self, lines: bytes, anew: bool = False) -> None:
        """Writes whole lines. If the disk is full, the log ends after a whole line, a warning is printed, and the run
        continues."""
        if self._file.closed:
            return
        try:
            if anew:
                self._file.seek(0)
                self._file.truncate()
            whole_bytes = self._file.tell()
            if self._file.write(lines) == len(lines):
                return
            self._file.truncate(whole_bytes)
            why = "the disk is full"
        except OSError as error:
            why = error.strerror or str(error)
        self._file.close()
        written = self._steps - self._pending
        print_notice(f"--dt-log {self._path!r} ends after step {written:,}: {why}")


class ReplayedSteps:
    """A `Stride` that replays the step multiples of a step log."""

    reason = "from the --dt-replay log"

    def __init__(self, multiples: Sequence[int]) -> None:
        self._multiples = multiples
        self._made = 0

    def __len__(self) -> int:
        return len(self._multiples)

    @property
    def multiple(self) -> int:
        """The multiple of the next step. After the end of the log, this is the multiple of the last step."""
        return self._multiples[min(self._made, len(self._multiples) - 1)]

    @property
    def most(self) -> int:
        """The same as `multiple`, because the log determines the multiple and the load does not."""
        return self.multiple

    @property
    def is_over(self) -> bool:
        """True after the last step of the log."""
        return self._made >= len(self._multiples)

    def stepped(self, busy_ns: int, unit_ns: float) -> None:
        """Moves on to the next step of the log."""
        self._made += 1

    def reset(self) -> None:
        """Returns to the first step of the log."""
        self._made = 0


@dataclass(frozen=True)
class Log:
    """Contents of a step log. origin: lines of its head. multiples: step multiple of each step. has_end: False if the
    end line is missing because the run was killed."""

    origin: list[str]
    multiples: Sequence[int]
    has_end: bool


def read_dt_log(path: str) -> Log:
    """Reads a step log. Raises TwixtError if the file is not a step log or is damaged. The error names the line that
    is damaged."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.readline(len(HEADER) + 40)
            if text.rstrip("\n") == HEADER:
                text += file.read(MOST_CHARACTERS)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise TwixtError(f"cannot read --dt-replay {path!r} ({why}); name a file that --dt-log wrote") from error
    lines = text.split("\n")
    if lines[0] != HEADER:
        raise TwixtError(
            f"--dt-replay {path!r} must begin with {HEADER!r}, got {lines[0][:40]!r}; name a file that --dt-log wrote"
        )
    if len(text) > MOST_CHARACTERS:
        raise TwixtError(f"--dt-replay {path!r} is too long for a step log; name a file that --dt-log wrote")
    if lines.pop():
        raise _damaged(path, len(lines) + 1, "the line is cut off")
    origin = [line for line in lines[1:] if line.startswith(("world ", "seed ", "dt ", "set "))]
    multiples, has_end = array("I"), False
    for number, line in enumerate(lines[1 + len(origin) :], start=2 + len(origin)):
        first, _, second = line.partition(" ")
        if has_end:
            raise _damaged(path, number, "no line may follow the end line")
        if first == "end":
            has_end = True
            if second != str(len(multiples)):
                raise _damaged(path, number, f"it must be the number of steps, {len(multiples)}, got {second[:20]!r}")
            continue
        steps, multiple = _whole(first), _whole(second)
        if not (steps >= 1 and 1 <= multiple <= WIDEST and len(multiples) + steps <= MOST_STEPS):
            raise _damaged(path, number, f"it must be STEPS MULTIPLE, whole numbers >= 1, got {line[:40]!r}")
        multiples.extend(array("I", [multiple]) * steps)
    if not multiples:
        raise TwixtError(f"--dt-replay {path!r} contains no steps; write a longer run with --dt-log")
    return Log(origin, multiples, has_end)


def check_origin(path: str, log: Log, origin: Origin) -> None:
    """Raises TwixtError unless the log was written by a run with the same `origin`."""
    wanted = origin.lines()
    for recorded, have in zip(log.origin + [""] * len(wanted), wanted + [""] * len(log.origin), strict=False):
        if recorded != have:
            raise TwixtError(
                f"--dt-replay {path!r} is from a run with {recorded!r}, but this run has {have!r}; "
                "run the same world, with the same --seed, --physics-hz and --set"
            )


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def _damaged(path: str, line: int, why: str) -> TwixtError:
    return TwixtError(f"--dt-replay {path!r} is damaged in line {line}: {why}; write it again with --dt-log")
