"""Defines the cases of the laboratory, which are displays and work traces. A work trace has the cost of each frame.
Also defines the targets, which are figures of the pacer that must keep a limit.

A target's figure is computed from the pacer's plans and from the true instants at which frames became visible. It is
the worst of all seeds. Only costs are means of all seeds, because they are compared with costs on another display.

Always: each case is created from its seed again for every contestant (a pacer, or an algorithm for comparison). So all
contestants get the same case.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from bench.pacing import displays
from bench.pacing.displays import ALWAYS, TRIED, Blocking, ModelDisplay, Timer, Variable
from bench.pacing.play import SETTLING_NS, VISIBLE_ERROR_MS, ContestantFactory, Figures, PlayedFrame, errors_ms, play
from bench.pacing.works import ALL_WORKS, MS, SECOND, Make, Work, constant, single, spikes, step
from twixt.cli.progress import Say

# Names of the contestants: the real pacer, a contestant that never makes its frame interval longer, and a contestant
# that knows all work in advance.
TWIXT, NEVER, ORACLE = "twixt", "never widen", "oracle"
CONTESTANTS = (TWIXT, NEVER, ORACLE)

# Largest difference between a real display's rate and its nominal rate, as a share of the nominal rate.
OFF_NOMINAL = 0.002
# Changes of the display's mode are delayed at random by up to this time, in ns. So a change comes at any point between
# two frames.
LATEST_CHANGE_NS = 100_000_000
SECONDS, QUICK_SECONDS = 10.0, 4.0
QUICK_WORKS = ("constant 10 ms", "25 ms in one of 30", "stolen 5-40 ms")


class Shape(NamedTuple):
    """A kind of display. hz: nominal rate. fence_mode, sends_reports: see `ModelDisplay`."""

    kind: type[ModelDisplay]
    hz: float = 60.0
    fence_mode: str = ""
    sends_reports: bool = False

    def made(self, seed: int) -> ModelDisplay:
        """A display of this kind, whose rate and phase are chosen from the seed."""
        choose = random.Random(seed * 13 + 1)
        hz = self.hz if self.kind is Timer else self.hz * (1 + choose.uniform(-OFF_NOMINAL, OFF_NOMINAL))
        return self._of(displays.steady(hz, -choose.randrange(round(1e9 / hz))), seed)

    def changing(self, then_hz: float, at_ns: int, gap_ns: int, seed: int) -> ModelDisplay:
        """A display of this kind that changes its mode during the run. The change comes at `at_ns` or up to
        LATEST_CHANGE_NS later."""
        later_ns = random.Random(seed).randrange(LATEST_CHANGE_NS)
        return self._of(displays.changing(self.hz, then_hz, at_ns + later_ns, gap_ns), seed)

    def _of(self, modes: tuple[displays.DisplayMode, ...], seed: int) -> ModelDisplay:
        return self.kind(modes, fence_mode=self.fence_mode, sends_reports=self.sends_reports, seed=seed)


FENCE, REPORTS = ", fence", ", reports"
# Displays on which the cost must be close to the cost on the display `Blocking`. Each of them is played in three ways:
# without additions, with a fence, and with the display's reports.
TRICKY = {
    "returns at once": displays.ReturnsAtOnce,
    "queue of two": displays.Queue,
    "queue of three": displays.QueueOfThree,
}
# How fences are made on these displays. On a queue, twixt's window tries no fence, because swaps wait. The bench makes
# a fence in every frame there, to measure its effect.
FENCES = {"returns at once": TRIED, "queue of two": ALWAYS, "queue of three": ALWAYS}
BLOCKING = "blocking"
SHAPES: dict[str, Shape] = {
    "timer": Shape(Timer),
    BLOCKING: Shape(Blocking),
    BLOCKING + REPORTS: Shape(Blocking, sends_reports=True),
    **{
        name + way: Shape(kind, fence_mode=FENCES[name] if way == FENCE else "", sends_reports=way == REPORTS)
        for name, kind in TRICKY.items()
        for way in ("", FENCE, REPORTS)
    },
    "blocking at 90 Hz": Shape(Blocking, hz=90),
    "variable rate": Shape(Variable, hz=144),
    "variable rate" + REPORTS: Shape(Variable, hz=144, sends_reports=True),
}


class ModeChange(NamedTuple):
    """A change of the display's mode at CHANGE_NS. gap_ns: time in which nothing is shown. work_ms: cost of each
    frame."""

    hz: float
    then_hz: float
    gap_ns: int = 0
    work_ms: float = 4


CHANGE_NS = 3_000_000_000
CHANGE_SECONDS = 13.0
CHANGES: dict[str, ModeChange] = {
    "60 to 90 Hz, seamless": ModeChange(60, 90),
    "60 to 144 Hz": ModeChange(60, 144, gap_ns=120_000_000),
    "144 to 60 Hz": ModeChange(144, 60, gap_ns=120_000_000),
    "144 to 60 Hz, 12 ms of work": ModeChange(144, 60, gap_ns=120_000_000, work_ms=12),
    "144 to 60 Hz, seamless, 15 ms of work": ModeChange(144, 60, work_ms=15.2),
    "60 to 30 Hz": ModeChange(60, 30, gap_ns=120_000_000),
}
CHANGED_ON = (BLOCKING, BLOCKING + REPORTS, "returns at once" + FENCE)
# Displays that give no information about the instant at which a frame became visible. They are shown on the page,
# without targets.
CHANGED_UNSEEN_ON = ("returns at once", "queue of two")


class Trial(NamedTuple):
    """Work trace and length of a run for which there are targets."""

    work: Make
    seconds: float


LOAD_MS, LOAD_SECONDS = 20, 3.0
SINGLE, LOAD, SPIKES = "one of 25 ms", "20 ms for 3 s", "25 ms in one of 30"
TRIALS: dict[str, Trial] = {
    SINGLE: Trial(single(8, 25), 8.0),
    LOAD: Trial(step(8, LOAD_MS, 3, LOAD_SECONDS), 11.0),
    SPIKES: Trial(spikes(8, 25, 30), SECONDS),
}
TRIED_ON = {
    SINGLE: ("timer", BLOCKING, "returns at once" + FENCE),
    LOAD: ("timer", BLOCKING, "returns at once" + FENCE),
    SPIKES: ("timer",),
}


def works(quick: bool) -> dict[str, Make]:
    """Work traces by name. For a quick run, only a few of them."""
    return {name: make for name, make in ALL_WORKS.items() if not quick or name in QUICK_WORKS}


# An interval that is longer than this number of refreshes is slow.
SLOW = 1.1
MOST_SLOW, MOST_FRAMES_TO_WIDEN, MOST_SECONDS_BACK, LEAST_FPS = 2, 5, 3.0, 57.5
# The pacer has recovered when its interval is at most this number of refreshes.
BACK = 1.02
# Limit of a cost. It is COST_SHARE times the cost on the display `Blocking`, plus COST_MORE.
COST_SHARE, COST_MORE = 1.1, 1.0
# Limits for a change of mode. FOLLOW_NS after the change, the frame rate must reach the share FOLLOWED of the new
# rate. At most the share MOST_OFF of the frames may have a visible error.
FOLLOWED = 0.95
FOLLOW_NS = 3 * SECOND
MOST_OFF = 0.01


class Target(NamedTuple):
    """A figure with a limit. is_most: True if the figure must be <= the limit, False if it must be >= the limit. unit:
    unit of figure and limit."""

    name: str
    figure: float
    limit: float
    unit: str
    is_most: bool

    @property
    def is_met(self) -> bool:
        return self.figure <= self.limit if self.is_most else self.figure >= self.limit


most, least = partial(Target, is_most=True), partial(Target, is_most=False)


def of_trials(make_contestant: ContestantFactory, seeds: Sequence[int], say: Say = str) -> Iterator[Target]:
    """Targets for a single long frame, for a temporary load, and for spikes."""
    for trial, displays_tried in TRIED_ON.items():
        for display in displays_tried:
            say(f"{trial} on {display}")
            runs = [tried(make_contestant, trial, display, seed) for seed in seeds]
            if trial == SINGLE:
                slow = max(map(_slow_intervals, runs))
                yield most(f"one 25 ms frame, {display}: number of slow intervals", slow, MOST_SLOW, "intervals")
            elif trial == LOAD:
                name, widened = f"20 ms load, {display}", max(map(_frames_to_widen, runs))
                yield most(f"{name}: frames until the interval is longer", widened, MOST_FRAMES_TO_WIDEN, "frames")
                yield least(f"{name}: shortest interval after that", min(map(_shortest_ms, runs)), LOAD_MS, "ms")
                yield most(
                    f"{name}: time until the interval is short again",
                    max(map(_seconds_back, runs)),
                    MOST_SECONDS_BACK,
                    "s",
                )
            else:
                fps = min(_fps_from(run, SETTLING_NS) for run in runs)
                yield least(f"25 ms in one of 30, {display}: frame rate", fps, LEAST_FPS, "fps")


def of_changes(make_contestant: ContestantFactory, seeds: Sequence[int], say: Say = str) -> Iterator[Target]:
    """Targets for displays that change their mode."""
    for display in CHANGED_ON:
        for name in ("60 to 144 Hz", "60 to 90 Hz, seamless"):
            say(f"{name}, {display}")
            runs = [changed(make_contestant, name, display, seed) for seed in seeds]
            if name == "60 to 144 Hz":
                fps = min(_fps_from(run, FOLLOW_NS) for run in runs)
                yield least(f"{name}, {display}: frame rate 3 s after the change", fps, FOLLOWED * 144, "fps")
            else:
                off = max(map(_off_from, runs))
                yield most(
                    f"{name}, {display}: frames off by > 2 ms after the change",
                    100 * off,
                    100 * MOST_OFF,
                    "% of frames",
                )


def of_costs(costs: Mapping[tuple[str, str], Figures]) -> Iterator[Target]:
    """Targets for costs on the TRICKY displays, relative to the costs on the display `Blocking`. costs: figures for
    each pair of display and work."""
    for display, work in costs:
        if display.split(",")[0] in TRICKY and (BLOCKING, work) in costs:
            limit = COST_SHARE * costs[BLOCKING, work].cost + COST_MORE
            yield most(f"{display}: {work}", costs[display, work].cost, limit, "cost")


class PlayedRun(NamedTuple):
    """A run with its display and its work trace. change_ns: instant of the change of mode, or 0 if the mode does not
    change."""

    seen: list[PlayedFrame]
    display: ModelDisplay
    work: Work
    change_ns: int = 0


def changed(make_contestant: ContestantFactory, name: str, display_name: str, seed: int) -> PlayedRun:
    """Plays a change of mode on a display. name: its name in CHANGES. display_name: name of the display in SHAPES."""
    hz, then_hz, gap_ns, work_ms = CHANGES[name]
    display = SHAPES[display_name]._replace(hz=hz).changing(then_hz, CHANGE_NS, gap_ns, seed)
    work = constant(work_ms)(seed)
    seen = play(make_contestant, display, work, CHANGE_SECONDS, seed)
    return PlayedRun(seen, display, work, display.modes[1].begin_ns)


def tried(make_contestant: ContestantFactory, trial: str, display_name: str, seed: int) -> PlayedRun:
    """Plays a trial on a display. trial: its name in TRIALS. display_name: name of the display in SHAPES."""
    make, seconds = TRIALS[trial]
    display, work = SHAPES[display_name].made(seed), make(seed)
    return PlayedRun(play(make_contestant, display, work, seconds, seed), display, work)


def _slow_intervals(run: PlayedRun) -> int:
    shown = [frame.visible_ns for frame in run.seen if frame.visible_ns >= SETTLING_NS]
    limit_ns = SLOW * run.display.modes[0].period_ns
    return sum(later - earlier > limit_ns for earlier, later in pairwise(shown))


def _loaded(run: PlayedRun) -> list[PlayedFrame]:
    (load,) = run.work.loads
    return [frame for frame in run.seen if load.begin_ns <= frame.start_ns < load.end_ns]


def _frames_to_widen(run: PlayedRun) -> int:
    """Number of frames during the load that are planned before the first wide frame. A frame is wide if its planned
    interval is at least LOAD_MS."""
    loaded = _loaded(run)
    return next((n for n, frame in enumerate(loaded) if frame.interval_ns >= LOAD_MS * MS), len(loaded))


def _shortest_ms(run: PlayedRun) -> float:
    """Shortest interval, in ms, that is planned during the load. It is taken from the first wide frame on. If the
    first MOST_FRAMES_TO_WIDEN frames are not wide, it is taken from the frame after them on."""
    return min(frame.interval_ns for frame in _loaded(run)[min(_frames_to_widen(run), MOST_FRAMES_TO_WIDEN) :]) / MS


def _seconds_back(run: PlayedRun) -> float:
    """Seconds from the end of the load to the last frame whose planned interval is wider than the display's own
    interval."""
    (load,) = run.work.loads
    limit_ns, later = BACK * run.display.modes[0].period_ns, [f for f in run.seen if f.start_ns >= load.end_ns]
    wide = [frame.start_ns for frame in later if frame.interval_ns > limit_ns]
    return (max(wide) - load.end_ns) / SECOND if wide else 0.0


def _fps_from(run: PlayedRun, after_ns: int) -> float:
    """Frames per second, counted from `after_ns` after the change of mode. If there is no change, they are counted
    from `after_ns` after the start."""
    shown = [frame.visible_ns for frame in run.seen if frame.visible_ns >= run.change_ns + after_ns]
    return (len(shown) - 1) / (shown[-1] - shown[0]) * SECOND if len(shown) > 1 else 0.0


def _off_from(run: PlayedRun) -> float:
    """Share of frames with a visible error after the change of mode. The interval of the change itself is excluded."""
    after = [frame for frame in run.seen if frame.visible_ns >= run.change_ns]
    return sum(abs(error) > VISIBLE_ERROR_MS for error in errors_ms(after)) / len(after)


class CaseRow(NamedTuple):
    """Figures of one contestant (a pacer) on one display with one work trace. Each figure is the mean of all seeds."""

    display: str
    work: str
    contestant: str
    figures: Figures


class LaboratoryResults(NamedTuple):
    rows: list[CaseRow]
    targets: list[Target]
    # rows of the changes of mode; `work` names the change, and figures count from the change on
    changes: list[CaseRow]
    seeds: int
    seconds: float  # length of each trace in seconds
