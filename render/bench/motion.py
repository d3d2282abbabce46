"""`twixt bench motion`: what each method draws of each world under each trouble, held against the truth.

One idea: nothing here depends on how fast the machine is. Worlds are recorded, the snapshots' ways to the viewer are
traces, the display is a grid of instants; so the figures are those of the clock and the methods alone.

Always: the table, the JSON document and the page in docs/ hold the same figures. Runs no process, reads no clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, Protocol

import numpy as np

import twixt
from twixt.ipc.config import check_file
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene
from twixt.ipc.snapshot import Snapshot
from twixt.render.bench.motion_figures import OF_THE_PRESENT, Figures, Shown, figures, show
from twixt.render.bench.motion_truth import Truth
from twixt.render.interpolation import METHODS, create
from twixt.render.measure.report import write_json
from twixt.render.picture.part import AS_PUBLISHED
from twixt.render.playback import PlaybackClock
from twixt.render.playback.traces import SECOND, TRACES, Row, Trace, steady

SCHEMA = "twixt-bench-motion-1"
# The clock settles in the first three; a stall begins at 4.5 s, ends at 5.0 s and is caught up with.
SECONDS = 5.6
FPS = 60.0
QUICK_SECONDS, QUICK_WORLDS, QUICK_TROUBLES = 4.0, 1, 2


class Trouble(NamedTuple):
    """A way of the snapshots to the viewer."""

    about: str
    trace: Trace


TROUBLES = {
    "ahead 60 Hz": Trouble("60 a second, each there before it is due: a healthy run", TRACES["ahead 60 Hz"]),
    "ahead 10 Hz": Trouble("10 a second, each there before it is due", steady(10, early_ns=SECOND // 10)),
    "20 Hz, 4 ms jitter": Trouble(
        "20 a second, published when due, up to some 10 ms late", TRACES["20 Hz, 4 ms jitter"]
    ),
    "steps 20-120 ms": Trouble("steps of 16.7 ms that take 20 to 120 ms to make", TRACES["steps 20-120 ms"]),
    "net 30 Hz": Trouble("30 a second, 60 to 100 ms on their way, one in 20 lost", TRACES["net 30 Hz"]),
    "stall 500 ms every 5 s": Trouble("60 a second; for half a second nothing comes", TRACES["stall 500 ms every 5 s"]),
}


class Recorded(Protocol):
    """What a world did: states from simulated time 0, close to each other."""

    @property
    def scene(self) -> Scene: ...

    @property
    def states(self) -> Sequence[Snapshot]: ...


class Subject(Protocol):
    """A world that can be recorded."""

    @property
    def about(self) -> str: ...

    def record(self, seconds: float, seed: int = 0) -> Recorded: ...


class Result(NamedTuple):
    """One line of the table."""

    world: str
    trouble: str
    method: str
    figures: Figures


class Size(NamedTuple):
    """How much is tried."""

    worlds: Mapping[str, Subject]
    troubles: Mapping[str, Trouble]
    methods: Sequence[str]
    seconds: float
    seed: int


def size(
    worlds: Mapping[str, Subject], troubles: Sequence[str], methods: Sequence[str], seed: int, quick: bool
) -> Size:
    """worlds: what may be recorded. troubles, methods: names; none: all. Raises TwixtError for an unknown trouble."""
    for name in troubles:
        if name not in TROUBLES:
            raise TwixtError(f"--trouble must be one of: {'; '.join(TROUBLES)}; got {name!r}")
    chosen = {name: TROUBLES[name] for name in troubles or TROUBLES}
    for name in methods:
        create(name)  # refuses what is none
    if quick:
        worlds, chosen = dict([*worlds.items()][:QUICK_WORLDS]), dict([*chosen.items()][:QUICK_TROUBLES])
    return Size(worlds, chosen, methods or tuple(METHODS), QUICK_SECONDS if quick else SECONDS, seed)


def run(
    what: Size,
    pictured: Subject,
    json_file: str | None = None,
    out: str | None = None,
    plot: str | None = None,
    command: str = "twixt bench motion",
) -> int:
    """Measures, with progress on standard error; shows and writes. The exit code.

    out: the page, Markdown; command: what it says makes it again. plot: the picture, of `pictured`, whose body 0
    bounces and whose body 1 runs round.
    """
    from rich.console import Console

    from twixt.render.bench.motion_page import page, relative
    from twixt.render.bench.motion_show import show_table

    for flag, path in (("--json", json_file), ("--out", out), ("--plot", plot)):
        if path is not None:
            check_file(flag, path)
    results: list[Result] = []
    with Console(stderr=True).status("recording") as status:
        if plot:
            from twixt.render.bench.motion_plot import picture

            status.update("drawing the picture")
            picture(pictured.record(SECONDS, what.seed), plot)
        total = len(what.worlds) * len(what.troubles) * len(what.methods)
        for result in measured(what, lambda doing: status.update(f"{doing} ({len(results)} of {total})")):
            results.append(result)
    made = document(what, results)
    if json_file:
        write_json(made, json_file)
    if out:
        _write(out, page(what, results, command, relative(plot, out) if plot else None))
    if json_file != "-":
        show_table(results)
    return 0


def measured(what: Size, say: Any = str) -> Iterator[Result]:
    """One result after the other. say: told what is done next."""
    for world, subject in what.worlds.items():
        say(f"recording {world}")
        recorded = subject.record(what.seconds, what.seed)
        stage = Stage(recorded)
        for trouble, (_, trace) in what.troubles.items():
            rows = stage.rows(trace(what.seed, what.seconds))
            for method in what.methods:
                say(f"{world}, {trouble}, {method}")
                shown = stage.show(rows, method, what.seed)
                yield Result(world, trouble, method, figures(stage.truth, shown, rows))


class Stage:
    """A recorded world, ready to be shown in many ways."""

    def __init__(self, recorded: Recorded) -> None:
        self._states = recorded.states
        parents = recorded.scene.parent_rows(max(len(state.bodies) for state in recorded.states))
        self._parents = parents if (parents >= 0).any() else None
        self.truth = Truth(recorded.states, self._parents)

    def rows(self, trace: Sequence[Row]) -> list[Row]:
        """A trace whose simulated times are those of states, to the nanosecond."""
        times = self.truth.times_ns
        nearest = np.searchsorted((times[1:] + times[:-1]) / 2, [row.sim_ns for row in trace])
        return [row._replace(sim_ns=int(times[index])) for row, index in zip(trace, nearest, strict=True)]

    def show(self, rows: Sequence[Row], method: str, seed: int) -> Shown:
        """What a viewer draws with this method, on the default clock."""
        return show(
            self.truth,
            self._states,
            rows,
            create(method),
            PlaybackClock(),
            of_the_present=method == OF_THE_PRESENT,
            as_published=method in AS_PUBLISHED,
            parent_rows=self._parents,
            seed=seed,
            fps=FPS,
        )


def document(what: Size, results: Sequence[Result]) -> dict[str, Any]:
    """What `--json` writes."""
    return {
        "schema": SCHEMA,
        "version": twixt.__version__,
        "conditions": {"seconds": what.seconds, "fps": FPS, "seed": what.seed, "clock": "auto"},
        "worlds": {name: subject.about for name, subject in what.worlds.items()},
        "troubles": {name: trouble.about for name, trouble in what.troubles.items()},
        "rows": [result._asdict() | {"figures": asdict(result.figures)} for result in results],
    }


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise TwixtError(
            f"cannot write the page {path!r}: {error.strerror}; give --out a file in a folder that exists"
        ) from None
