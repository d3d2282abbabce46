"""`python -m bench motion`: errors of each method, for each world under each trouble, against the truth.

One idea: the speed of the machine changes no figure. Worlds are recorded, the snapshots' way to the viewer is a trace,
the display is a grid of instants. So the figures depend on the clock and the methods alone.

Always: the table, the JSON document and the page in docs/ hold the same figures. Runs no process, reads no clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import twixt
from bench.motion.drawn_motion import (
    FPS,
    SECONDS,
    TROUBLES,
    MotionFigures,
    MotionReplay,
    TroubleTrace,
    motion_figures,
)
from bench.motion.motion_page import page, picture, tables
from bench.motion.recordings import PICTURED, Subject
from bench.pages import Results
from twixt.cli.progress import Say, progress
from twixt.ipc.errors import TwixtError
from twixt.render.interpolation import METHODS, create

SCHEMA = "twixt-bench-motion-1"
QUICK_SECONDS, QUICK_WORLDS, QUICK_TROUBLES = 4.0, 1, 2


class Result(NamedTuple):
    """One line of the table."""

    world: str
    trouble: str
    method: str
    figures: MotionFigures


class Size(NamedTuple):
    """Worlds, troubles and methods to be measured; length of each trace."""

    worlds: Mapping[str, Subject]
    troubles: Mapping[str, TroubleTrace]
    methods: Sequence[str]
    seconds: float
    seed: int


def size(
    worlds: Mapping[str, Subject], troubles: Sequence[str], methods: Sequence[str], seed: int, quick: bool
) -> Size:
    """`Size` of a command's choice. troubles, methods: names; empty: all. Raises TwixtError for an unknown name."""
    for name in troubles:
        if name not in TROUBLES:
            raise TwixtError(f"--trouble must be one of: {'; '.join(TROUBLES)}; got {name!r}")
    chosen = {name: TROUBLES[name] for name in troubles or TROUBLES}
    for name in methods:
        create(name)  # raises for an unknown one
    if quick:
        worlds, chosen = dict([*worlds.items()][:QUICK_WORLDS]), dict([*chosen.items()][:QUICK_TROUBLES])
    return Size(worlds, chosen, methods or tuple(METHODS), QUICK_SECONDS if quick else SECONDS, seed)


def run(what: Size, results: Results) -> int:
    """Measures, with progress on standard error; shows and writes. Returns the exit code; raises TwixtError.

    The picture is of `PICTURED`, whose body 0 bounces and whose body 1 moves on a circle.
    """
    results.check_files()
    rows: list[Result] = []
    total = len(what.worlds) * len(what.troubles) * len(what.methods)
    with progress() as say:
        for row in measured(what, lambda doing: say(f"{doing} ({len(rows)} of {total})")):
            rows.append(row)
    results.leave(
        document(what, rows),
        page=page(what, rows),
        shown=tables(rows),
        draw=lambda path: picture(PICTURED.record(SECONDS, what.seed), path),
    )
    return 0


def measured(what: Size, say: Say = str) -> Iterator[Result]:
    """Yields the results one by one. say: receives the next piece of work."""
    for world, subject in what.worlds.items():
        say(f"recording {world}")
        replay = MotionReplay(subject.record(what.seconds, what.seed))
        for trouble, (_, trace) in what.troubles.items():
            rows = replay.rows(trace(what.seed, what.seconds))
            for method in what.methods:
                say(f"{world}, {trouble}, {method}")
                shown = replay.show(rows, method, what.seed)
                yield Result(world, trouble, method, motion_figures(replay.truth, shown, rows))


def document(what: Size, results: Sequence[Result]) -> dict[str, Any]:
    """The document of `--json`."""
    return {
        "schema": SCHEMA,
        "version": twixt.__version__,
        "conditions": {"seconds": what.seconds, "fps": FPS, "seed": what.seed, "clock": "auto"},
        "worlds": {name: subject.about for name, subject in what.worlds.items()},
        "troubles": {name: trouble.about for name, trouble in what.troubles.items()},
        "rows": [result._asdict() | {"figures": asdict(result.figures)} for result in results],
    }
