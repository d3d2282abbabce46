"""Tests the causes of bad frames with injected trouble: `python -m tests.long.injected`.

Prints tables, and writes them into a page with --out. Runs in pieces of less than a minute. Each piece has its own
viewer and physics process. With --lock each piece holds that file, so that measurements do not disturb each other. The
displays take turns. So a run that ends early (Ctrl-C, --minutes) has equally many cases of each display. Exits with 1
if a limit is not met; the page names the limit.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.pages import filled
from tests.displays.rigs import sway, xvfb
from tests.long.injected.page import broken, misnamed, of_kind, page
from tests.long.injected.trial import KINDS, Trial, cases, length_s, run
from tests.long.injected.viewer import Case

DISPLAYS = ("offscreen", "xvfb", "sway")
SWAY_HZ = 60.0
# Cases of each kind in one piece: less than a minute of frames.
A_PIECE, LONGEST_PIECE_S = 7, 52.0
# Times the pieces that would do if all cases fired: on a busy machine a run has fewer frames.
MOST_PIECES = 2
# Pieces in which a process ended badly before it is given up.
MOST_FAILED = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="python -m tests.long.injected")
    parser.add_argument("--displays", default="offscreen xvfb sway", help="which, separated by blanks [%(default)s]")
    parser.add_argument("--cases", type=int, default=50, help="of each kind on each display [%(default)s]")
    parser.add_argument("--quiet-seconds", type=float, default=60.0, help="without trouble, 0: none [%(default)s]")
    parser.add_argument("--minutes", type=float, default=22.0, help="begin no piece after so many [%(default)g]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lock", help="a file that is held while frames are measured")
    parser.add_argument("--out", help="a Markdown page, whose part between the marker lines is replaced")
    asked = parser.parse_args()
    displays = asked.displays.split()
    if unknown := set(displays) - set(DISPLAYS):
        parser.error(f"--displays must be among {', '.join(DISPLAYS)}, got {', '.join(unknown)}")
    load, end_s = os.getloadavg(), time.monotonic() + 60 * asked.minutes
    pieces = Pieces(asked.lock, end_s)
    quiet, trials = {}, {name: Trial() for name in displays if asked.cases}
    with suppress(KeyboardInterrupt):
        quiet = {name: _quiet(name, asked.quiet_seconds, pieces) for name in displays if asked.quiet_seconds}
        _all_cases(trials, asked.cases, asked.seed, pieces)
    after = os.getloadavg()
    conditions = [
        f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, software OpenGL",
        f"the load of the last minute was {load[0]:.1f} before the runs and {after[0]:.1f} after them; the load of the last "
        f"15 minutes was {after[2]:.1f}",
        f"the viewer, physics and the display had process nice {os.getpriority(os.PRIO_PROCESS, 0)} and session "
        f"{_ranked()}; the seed was {asked.seed}",
    ]
    text = page(trials, quiet, conditions, (asked.displays, asked.cases, asked.quiet_seconds))
    print(text)
    for name, trial in trials.items():
        print(f"{name}: {misnamed(trial)}")
    if asked.out:
        out = Path(asked.out)
        out.write_text(filled(out.read_text(encoding="utf-8") if out.exists() else "", text), encoding="utf-8")
    return 1 if broken(trials, quiet, asked.cases) else 0


def _all_cases(trials: dict[str, Trial], count: int, seed: int, pieces: Pieces) -> None:
    """Until there are so many cases of each kind on each display, or it has been tried often enough."""
    for number in range(-(-count // A_PIECE) * MOST_PIECES):
        for display, trial in trials.items():
            lacking = {kind: max(0, count - len(of_kind(trial, kind))) for kind in KINDS}
            if not any(lacking.values()):
                continue
            planned = []
            for kind in KINDS:
                planned += cases(min(A_PIECE, lacking[kind]), seed * 1000 + number, (kind,))
            planned = [planned[i] for i in _mixed(len(planned), seed + number)]
            seconds = min(LONGEST_PIECE_S, length_s(planned)) if pieces.lock else length_s(planned)
            if not pieces.run(display, trial, planned, seconds):
                return
            said = ", ".join(f"{kind} {len(of_kind(trial, kind))}" for kind in KINDS)
            print(f"{pieces.left()}, {display}, piece {number + 1}, of {count}: {said}", file=sys.stderr, flush=True)


@dataclass
class Pieces:
    """Runs one after the other, each added to its trial, until the time is over."""

    lock: str | None
    end_s: float  # time.monotonic
    failed: int = 0

    def run(self, display: str, whole: Trial, planned: list[Case], seconds: float) -> bool:
        """Whether there may be more. A piece in which a process ended badly counts as none."""
        if time.monotonic() > self.end_s:
            return False
        try:
            _add(whole, _piece(display, planned, seconds, self.lock))
        except (RuntimeError, AssertionError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            self.failed += 1
            print(f"{display}: a piece failed: {error}", file=sys.stderr, flush=True)
            if self.failed > MOST_FAILED:
                raise
        return True

    def left(self) -> str:
        return f"{max(0.0, self.end_s - time.monotonic()) / 60:.1f} minutes left"


def _mixed(count: int, seed: int) -> list[int]:
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


def _quiet(display: str, seconds: float, pieces: Pieces) -> Trial:
    whole = Trial()
    while whole.seconds < 0.95 * seconds:
        left_s = max(5.0, seconds - whole.seconds)
        if not pieces.run(display, whole, [], min(LONGEST_PIECE_S, left_s) if pieces.lock else left_s):
            break
        print(f"{pieces.left()}, {display}, {whole.seconds:.0f} s without trouble", file=sys.stderr, flush=True)
    return whole


def _piece(display: str, planned: list[Case], seconds: float, lock: str | None) -> Trial:
    with tempfile.TemporaryDirectory(prefix="injected-") as folder, _held(lock), _display(display) as (environ, pid):
        return run(Path(folder), environ, planned, seconds, pid)


def _add(whole: Trial, piece: Trial) -> None:
    """What was seen in one piece more."""
    seconds = whole.seconds + piece.seconds
    shares = whole.others_share * whole.seconds + piece.others_share * piece.seconds
    whole.others_share = shares / seconds if seconds else 0.0
    whole.seconds = seconds
    whole.wake_p99_us = max(whole.wake_p99_us, piece.wake_p99_us)
    whole.judged += piece.judged
    whole.bad += piece.bad
    whole.frames += piece.frames
    whole.clear_frames += piece.clear_frames
    whole.clear_bad += piece.clear_bad
    whole.steal_ms += piece.steal_ms
    whole.waited_ms += piece.waited_ms


@contextmanager
def _display(name: str) -> Iterator[tuple[Mapping[str, str], int]]:
    """Its environment and its process."""
    if name == "offscreen":
        gone = ("DISPLAY", "WAYLAND_DISPLAY")
        yield {key: value for key, value in os.environ.items() if key not in gone}, 0
        return
    with xvfb() if name == "xvfb" else sway(SWAY_HZ) as display:
        _as_important_as_this(display.process.pid)
        yield display.environ, display.process.pid


def _as_important_as_this(pid: int) -> None:
    """A display in a session of its own is ranked by that session against others (autogroup)."""
    with suppress(OSError, ValueError, IndexError):
        nice = int(Path("/proc/self/autogroup").read_text().split()[-1])
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def _ranked() -> str:
    with suppress(OSError):
        return Path("/proc/self/autogroup").read_text().split(maxsplit=1)[-1].strip()
    return "no autogroup"


@contextmanager
def _held(lock: str | None) -> Iterator[None]:
    if lock is None:
        yield
        return
    with open(lock, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
