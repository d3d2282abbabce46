"""The bars: what the pacer must reach, each as a named check with its figure.

One idea: a bar is read from true presents and from what the pacer planned, the worst of all seeds; only costs, which are
compared with costs on another display, are means of all seeds. Plays what it needs itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from twixt.cli.bench.pacing import cases
from twixt.cli.bench.pacing.displays import Display
from twixt.cli.bench.pacing.figures import SETTLING_NS, VISIBLE_ERROR_MS, Figures, errors_ms
from twixt.cli.bench.pacing.play import Enter, Seen, play
from twixt.cli.bench.pacing.works import MS, SECOND, Work

# Intervals this much over the refresh are slow.
SLOW = 1.1
MOST_SLOW, MOST_FRAMES_TO_WIDEN, MOST_SECONDS_BACK, LEAST_FPS = 2, 5, 3.0, 57.5
# "Back" is the display's own interval, give or take this share.
BACK = 1.02
# A cost may exceed plain blocking's by this share and so much.
COST_SHARE, COST_MORE = 1.1, 1.0
# After a change of mode: followed when this share of the new rate is reached.
FOLLOWED = 0.95
FOLLOW_NS = 3 * SECOND
MOST_OFF = 0.01


class Bar(NamedTuple):
    """A check. is_most: the figure must be <= the limit, else >=. unit: of both."""

    name: str
    figure: float
    limit: float
    unit: str
    is_most: bool

    @property
    def is_met(self) -> bool:
        """Whether the pacer reaches it."""
        return self.figure <= self.limit if self.is_most else self.figure >= self.limit


def most(name: str, figure: float, limit: float, unit: str) -> Bar:
    """At most the limit."""
    return Bar(name, figure, limit, unit, True)


def least(name: str, figure: float, limit: float, unit: str) -> Bar:
    """At least the limit."""
    return Bar(name, figure, limit, unit, False)


Say = Callable[[str], object]


def of_trials(enter: Enter, seeds: Sequence[int], say: Say = str) -> Iterator[Bar]:
    """One late frame, a load that comes and goes, spikes."""
    for trial, read in ((cases.SINGLE, _single), (cases.LOAD, _load), (cases.SPIKES, _spikes)):
        for display in cases.TRIED_ON(trial):
            say(f"{trial} on {display}")
            yield from read(display, [tried(enter, trial, display, seed) for seed in seeds])


def of_changes(enter: Enter, seeds: Sequence[int], say: Say = str) -> Iterator[Bar]:
    """Displays that change their mode."""
    for display in cases.CHANGED_ON:
        for name in ("60 to 144 Hz", "60 to 90 Hz, seamless"):
            say(f"{name}, {display}")
            runs = [changed(enter, name, display, seed) for seed in seeds]
            if name == "60 to 144 Hz":
                fps = min(_fps_from(run, FOLLOW_NS) for run in runs)
                yield least(f"{name}, {display}: after 3 s", fps, FOLLOWED * 144, "fps")
            else:
                off = max(_off_from(run) for run in runs)
                yield most(f"{name}, {display}: off by > 2 ms after it", 100 * off, 100 * MOST_OFF, "% of frames")


def of_costs(costs: Mapping[tuple[str, str], Figures]) -> Iterator[Bar]:
    """Displays whose swap does not wait for their own frame against plain blocking. costs: by display and work."""
    for display, work in costs:
        if display.split(",")[0] in cases.TRICKY and (cases.BLOCKING, work) in costs:
            limit = COST_SHARE * costs[cases.BLOCKING, work].cost + COST_MORE
            yield most(f"{display}: {work}", costs[display, work].cost, limit, "cost")


class Run(NamedTuple):
    """One that a bar is read from."""

    seen: list[Seen]
    display: Display
    work: Work
    change_ns: int = 0


def changed(enter: Enter, name: str, display_name: str, seed: int) -> Run:
    """That change of mode on that display."""
    hz, then_hz, gap_ns = cases.CHANGES[name]
    shape = cases.SHAPES[display_name]._replace(hz=hz)
    display = shape.changing(then_hz, cases.CHANGE_NS, gap_ns, seed)
    work = cases.CHANGE_WORK(seed)
    return Run(play(enter, display, work, cases.CHANGE_SECONDS, seed), display, work, display.modes[1].begin_ns)


def tried(enter: Enter, trial: str, display_name: str, seed: int) -> Run:
    make, seconds = cases.TRIALS[trial]
    display, work = cases.SHAPES[display_name].made(seed), make(seed)
    return Run(play(enter, display, work, seconds, seed), display, work)


def _single(display: str, runs: list[Run]) -> Iterator[Bar]:
    slow = max(_slow_intervals(run) for run in runs)
    yield most(f"one 25 ms frame, {display}: slow intervals", slow, MOST_SLOW, "intervals")


def _slow_intervals(run: Run) -> int:
    shown = [frame.visible_ns for frame in run.seen if frame.visible_ns >= SETTLING_NS]
    limit_ns = SLOW * run.display.modes[0].period_ns
    return sum(later - earlier > limit_ns for earlier, later in pairwise(shown))


def _load(display: str, runs: list[Run]) -> Iterator[Bar]:
    name = f"20 ms load, {display}"
    yield most(f"{name}: frames until widened", max(map(_frames_to_widen, runs)), MOST_FRAMES_TO_WIDEN, "frames")
    yield least(f"{name}: shortest interval then", min(map(_shortest_ms, runs)), cases.LOAD_MS, "ms")
    yield most(f"{name}: back after", max(map(_seconds_back, runs)), MOST_SECONDS_BACK, "s")


def _loaded(run: Run) -> list[Seen]:
    (load,) = run.work.loads
    return [frame for frame in run.seen if load.begin_ns <= frame.start_ns < load.end_ns]


def _frames_to_widen(run: Run) -> int:
    """Frames of the load before the first that is planned for its length."""
    loaded = _loaded(run)
    return next((n for n, frame in enumerate(loaded) if frame.interval_ns >= cases.LOAD_MS * MS), len(loaded))


def _shortest_ms(run: Run) -> float:
    """The shortest interval planned during the load, once widened. Not widened at all: the interval as it was."""
    return min(frame.interval_ns for frame in _loaded(run)[min(_frames_to_widen(run), MOST_FRAMES_TO_WIDEN) :]) / MS


def _seconds_back(run: Run) -> float:
    """From the end of the load until all frames are planned for the display's own interval."""
    (load,) = run.work.loads
    wide = [
        frame.start_ns
        for frame in run.seen
        if frame.start_ns >= load.end_ns and frame.interval_ns > BACK * run.display.modes[0].period_ns
    ]
    return (max(wide) - load.end_ns) / SECOND if wide else 0.0


def _spikes(display: str, runs: list[Run]) -> Iterator[Bar]:
    yield least(f"25 ms in one of 30, {display}", min(_fps_from(run, SETTLING_NS) for run in runs), LEAST_FPS, "fps")


def _fps_from(run: Run, after_ns: int) -> float:
    """Of the frames seen so long after the change of mode, if there is one, or later."""
    shown = [frame.visible_ns for frame in run.seen if frame.visible_ns >= run.change_ns + after_ns]
    return (len(shown) - 1) / (shown[-1] - shown[0]) * SECOND if len(shown) > 1 else 0.0


def _off_from(run: Run) -> float:
    """The share of frames after the change of mode that are off; the very first interval is the change's own."""
    after = [frame for frame in run.seen if frame.visible_ns >= run.change_ns]
    return sum(abs(error) > VISIBLE_ERROR_MS for error in errors_ms(after)) / len(after)
