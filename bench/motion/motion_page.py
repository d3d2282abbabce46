"""Tables, page and picture of `python -m bench motion`: docs/motion.md.

Every figure in the page's sentences is taken from the results; a sentence whose results are missing is left out.

The picture shows two motions as some methods drew them, frame by frame: ten snapshots a second, 60 frames a second. A
dot is one frame, the pale line is the body's true path. A dot off the line is an error; unevenly spaced dots are uneven
motion. Readable at 800 px. matplotlib is imported when it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.motion.drawn_motion import FPS, SECONDS, TROUBLES, MotionReplay
from bench.motion.recordings import Recording
from twixt.cli.pages import BOTH, PAGE, Notes, PagePicture, Part, Results, Table, TableColumn
from twixt.render.interpolation.method import PREDICTED_NS
from twixt.render.interpolation.trusted_range import ACCELERATION_CHANGE
from twixt.render.measure.report.plots import FONT_PT, INK, empty_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bench.motion.motion_bench import Result, Size


def as_text(value: float) -> str:
    """Text of a figure: three digits, at most two decimals; "-" where nothing could be compared."""
    if value != value:
        return "-"
    return f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"


def _figure(name: str, unit: str, statistic: str, key: str, where: str = BOTH) -> TableColumn:
    """The column of one of the `MotionFigures`, narrow in a terminal."""
    narrow = name.replace(" ", "\n") + f"\n{unit} {statistic}"
    return TableColumn(f"{name} {unit} {statistic}", lambda row: getattr(row.figures, key), as_text, narrow, where)


METHOD = TableColumn("method", lambda row: row.method)
FIGURES = (
    _figure("position", "mm", "p50", "position_p50_mm"),
    _figure("position", "mm", "p99", "position_p99_mm"),
    _figure("position", "mm", "max", "position_max_mm"),
    _figure("rotation", "deg", "p99", "rotation_p99_deg"),
    _figure("rotation", "deg", "max", "rotation_max_deg", PAGE),
    _figure("overshoot", "mm", "p99", "overshoot_p99_mm", PAGE),
    _figure("overshoot", "mm", "max", "overshoot_max_mm"),
    _figure("off path", "mm", "max", "off_path_max_mm"),
    _figure("jump", "mm", "p99", "jump_p99_mm"),
    _figure("jump", "mm", "max", "jump_max_mm", PAGE),
    _figure("from now", "mm", "p50", "now_p50_mm", PAGE),
    _figure("age", "ms", "mean", "age_mean_ms"),
    _figure("age", "ms", "p99", "age_p99_ms", PAGE),
)
PICTURE = "A bounce and a circle, ten snapshots a second, drawn by five methods"


def tables(results: Sequence[Result]) -> list[Part]:
    """A table for each world and trouble, 80 characters wide in a terminal."""
    return [
        Table((METHOD, *FIGURES), list(rows), f"{world}: {trouble}")
        for (world, trouble), rows in groupby(results, key=lambda result: (result.world, result.trouble))
    ]


HEAD = """# Drawn motion against the truth

What each method of interpolation draws of each world under each trouble, held against what the world really did.
Made by the code: `{command}`. No process, no real clock: a busy machine takes longer and finds the same figures.
"""

CONDITIONS = """
## Conditions

Each world is stepped at 960 Hz and every state is kept: that is the truth. Snapshots are some of these states (60, 30, 20
or 10 a second of simulated time), so the truth is the very trajectory that they are taken from. A trace says when each of
them is due and when it arrives (`bench.clock.traces`). A display of {fps:g} Hz, {seconds:g} s long, of which the
first 3 s do not count because the clock learns; `PlaybackClock` in mode auto, seed {seed}; poses by numpy, to which the
shaders are held by tests. Bodies that never move do not count.
"""

WORDS = """
## Words

| figure | what it is |
|---|---|
| position, rotation | distance and angle between the drawn pose and the true one at the time that was to be drawn: the clock's draw time; for `latest`, which asks no clock, what is due at present |
| overshoot | how far the drawn position lies outside the box of all places where the body truly was between the two snapshots around the draw time (the largest of the three axes); without a newer snapshot, since the newest. A ball that sinks through a floor shows here. Of `chase`, `extrapolate` and `kalman` also what they lag and lead |
| off path | for bodies that were spawned, despawned or moved elsewhere between the two snapshots, which count nowhere else: distance from the drawn position to the nearest true place of either life. A streak shows here |
| jump | change of the position error from one frame to the next: the jerk that one sees |
| from now | distance between the drawn position and where the body truly is at the present instant: what error and age cost together |
| age | present less the due instant of what is drawn; of `none` and `latest`, of the snapshot that is shown |

p50 and p99 are over all bodies and frames. "-": nothing to compare.
"""

Figure = Callable[[str, str, str, str], str]


def page(what: Size, results: Sequence[Result], files: Results) -> Iterator[Part]:
    """The parts of docs/motion.md."""
    yield HEAD.format(command=files.command)
    if files.plot is not None:
        yield PagePicture(PICTURE, files.plot)
        yield "Ten snapshots a second (circles), drawn at 60 frames a second (dots): the pale line is the truth."
    seen = list(sentences(results))
    if seen:
        yield "## What one sees"
        yield Notes(seen)
    yield CONDITIONS.format(fps=FPS, seconds=what.seconds, seed=what.seed)
    for title, described in (("world", what.worlds), ("trouble", what.troubles)):
        name, about = TableColumn(title, lambda item: item[0]), TableColumn("", lambda item: item[1].about)
        yield Table((name, about), list(described.items()))
    yield WORDS
    yield "## Figures"
    for world, rows in groupby(results, key=lambda result: result.world):
        yield f"<details><summary>{world}</summary>"
        yield Table((TableColumn("trouble", lambda row: row.trouble), METHOD, *FIGURES), list(rows))
        yield "</details>"


def sentences(results: Sequence[Result]) -> Iterator[str]:
    """Visible effects, the most important first."""
    known = {(result.world, result.trouble, result.method): result.figures for result in results}

    def figure(world: str, trouble: str, method: str, name: str) -> str:
        return as_text(getattr(known[world, trouble, method], name))

    for sentence in SENTENCES:
        try:
            yield sentence(figure)
        except KeyError:
            continue


HEALTHY, TEN, TWENTY = "ahead 60 Hz", "ahead 10 Hz", "20 Hz, 4 ms jitter"
UNEVEN, NET, STALL = "steps 20-120 ms", "net 30 Hz", "stall 500 ms every 5 s"
P50, P99, MAX, TURN = "position_p50_mm", "position_p99_mm", "position_max_mm", "rotation_p99_deg"
OVER, OFF, JUMP, AGE = "overshoot_max_mm", "off_path_max_mm", "jump_p99_mm", "age_mean_ms"
NO_VELOCITIES = "circles, no velocities"
# Sharpest corner, in degrees a snapshot, whose curve `auto` trusts: the angle at which the acceleration of a circle
# changes by ACCELERATION_CHANGE.
SHARP_DEG = math.degrees(2 * math.asin(ACCELERATION_CHANGE / 2))

SENTENCES: tuple[Callable[[Figure], str], ...] = (
    lambda f: (
        f"A healthy run ({HEALTHY}) is drawn {f('circles', HEALTHY, 'auto', AGE)} ms after the present, and any blend will do: "
        f"half of all poses are within {f('circles', HEALTHY, 'linear', P50)} mm with `linear`, "
        f"{f('circles', HEALTHY, 'hermite', P50)} mm with `hermite` and `auto`; with `none` they are "
        f"{f('circles', HEALTHY, 'none', P50)} mm off."
    ),
    lambda f: (
        f"At 10 snapshots a second `none` is {f('circles', TEN, 'none', P50)} mm off in the median and jumps by "
        f"{f('circles', TEN, 'none', JUMP)} mm; `linear` cuts corners ({f('circles', TEN, 'linear', P50)} mm), `catmull` nearly "
        f"none ({f('circles', TEN, 'catmull', P50)}), `hermite` and `auto` {f('circles', TEN, 'auto', P50)}."
    ),
    lambda f: (
        f"An impact between two snapshots is known to no method: there all are far off (circles at 10 Hz, at most: `hermite` "
        f"{f('circles', TEN, 'hermite', MAX)} mm, `catmull` {f('circles', TEN, 'catmull', MAX)}, `auto` and `linear` "
        f"{f('circles', TEN, 'auto', MAX)}). They differ in how: straight, or through things."
    ),
    lambda f: (
        f"Through things: among the balls at 10 Hz `hermite` leaves the places where a ball truly was by up to "
        f"{f('balls', TEN, 'hermite', OVER)} mm, `catmull` by {f('balls', TEN, 'catmull', OVER)}, `auto` by "
        f"{f('balls', TEN, 'auto', OVER)}, `linear` never ({f('balls', TEN, 'linear', OVER)})."
    ),
    lambda f: (
        f"That costs `auto` the curve wherever contacts act: in the pile its p99 is `linear`'s ({f('balls', TEN, 'auto', P99)} and "
        f"{f('balls', TEN, 'linear', P99)} mm at 10 Hz; `hermite` {f('balls', TEN, 'hermite', P99)}). Turning it draws as `hermite` "
        f"does: {f('balls', TEN, 'auto', TURN)} degrees, `linear` {f('balls', TEN, 'linear', TURN)}."
    ),
    lambda f: (
        f"And where bodies turn a corner by more than {SHARP_DEG:.0f} degrees a snapshot: balls on a cube's corners at 10 Hz: p99 "
        f"of `auto` {f('wobble', TEN, 'auto', P99)} mm, of `linear` {f('wobble', TEN, 'linear', P99)}, of `hermite` "
        f"{f('wobble', TEN, 'hermite', P99)}. At 60 Hz `auto` has {f('wobble', HEALTHY, 'auto', P99)} mm. Such bodies are better children of what they turn with: those are exact."
    ),
    lambda f: (
        f"Without velocities `hermite` and `auto` are `linear` ({f(NO_VELOCITIES, TEN, 'auto', P50)} mm at 10 Hz), and `catmull` "
        f"comes nearest ({f(NO_VELOCITIES, TEN, 'catmull', P50)} mm), but swings wide at impacts (at most "
        f"{f(NO_VELOCITIES, TEN, 'catmull', MAX)} mm off)."
    ),
    lambda f: (
        f"`catmull` wants a snapshot that the clock does not wait for: ahead and at 20 Hz its figures are those of `quadratic`. Only where "
        f"the clock waits longer anyway ({NET}) it has all four: {f('circles', NET, 'catmull', P50)} against "
        f"{f('circles', NET, 'quadratic', P50)} mm."
    ),
    lambda f: (
        f"Fast turning at 20 Hz only `hermite` and `auto` draw: p99 "
        f"{f('spinners', TWENTY, 'hermite', TURN)} and {f('spinners', TWENTY, 'auto', TURN)} degrees; `linear` and all others "
        f"{f('spinners', TWENTY, 'linear', TURN)}: whole turns stand still, half turns go either way."
    ),
    lambda f: (
        f"Cloth bends gently, and `hermite` is by far the nearest: on the curtain at 20 Hz {f('verlet', TWENTY, 'hermite', P50)} mm in "
        f"the median, `catmull` {f('verlet', TWENTY, 'catmull', P50)}, `linear` {f('verlet', TWENTY, 'linear', P50)}. `auto` trusts few "
        f"of these curves, as a bead's acceleration is seldom that of the interval before: {f('verlet', TWENTY, 'auto', P50)}. (It does at 60 Hz: "
        f"{f('verlet', HEALTHY, 'auto', P50)} against {f('verlet', HEALTHY, 'linear', P50)}.)"
    ),
    lambda f: (
        f"Teleports leave no streak: on {NET} the farthest off both paths is {f('teleporters', NET, 'linear', OFF)} mm with `linear`, "
        f"`auto` and `hermite` alike. `chase` lags ({f('teleporters', NET, 'chase', OFF)} mm along the rail), `kalman` "
        f"leaves out a snapshot that another overtook, and misses the jump that it held ({f('teleporters', NET, 'kalman', OFF)} mm)."
    ),
    lambda f: (
        f"Age is the clock's, not the method's: {f('circles', TEN, 'auto', AGE)} ms ahead, {f('circles', TWENTY, 'auto', AGE)} at 20 Hz, "
        f"{f('circles', NET, 'auto', AGE)} on {NET}, {f('circles', UNEVEN, 'auto', AGE)} on {UNEVEN}, "
        f"{f('circles', STALL, 'auto', AGE)} in the seconds around a stall. `latest` has "
        f"{f('circles', NET, 'latest', AGE)} on {NET}, and jumps by {f('circles', NET, 'latest', JUMP)} mm."
    ),
    lambda f: (
        f"`extrapolate` bridges a stall: {f('circles', STALL, 'extrapolate', AGE)} ms of age instead of "
        f"{f('circles', STALL, 'linear', AGE)}, for {PREDICTED_NS / 1e6:.0f} ms of guessing that leads up to {f('circles', STALL, 'extrapolate', MAX)} mm "
        f"astray. Where nothing stalls the clock does not let it guess: on {NET} it is as old "
        f"({f('circles', NET, 'extrapolate', AGE)} ms) and as far off as `linear`."
    ),
    lambda f: (
        f"`kalman` is for states that are noisy. These are not, and it smooths what it should follow: {f('circles', TEN, 'kalman', P50)} mm in the median at "
        f"10 Hz where `linear` has {f('circles', TEN, 'linear', P50)}; out of the way by up to {f('balls', TEN, 'kalman', OVER)} mm in balls."
    ),
    lambda f: (
        f"`chase` goes straight for the newest snapshot, however far ahead of the draw time that is: evenly spaced ones it follows "
        f"({f('circles', TEN, 'chase', P50)} mm at 10 Hz); on {NET} it errs by {f('circles', NET, 'chase', P50)} mm, and in the burst after "
        f"a stall it cuts across ({f('circles', STALL, 'chase', MAX)} mm)."
    ),
)


WIDTH_IN, HEIGHT_IN = 8.0, 4.6  # 800 px
METHODS = ("none", "linear", "catmull", "hermite", "auto")
TROUBLE = "ahead 10 Hz"
# Simulated seconds: around one impact of the bounce; one turn of the circle.
BOUNCE_S, ROUND_S = (4.6, 5.0), (3.4, 4.4)
# Visible depth of the floor (metres).
BELOW_M = 0.1
TRUE, DRAWN, KNOWN, FLOOR = "#9fd3b0", "#2a78c2", "#d62728", "#dddddd"


class Way(NamedTuple):
    """Path of one body in the plane of its motion: (f, 2) each, metres."""

    true: NDArray[np.floating]
    drawn: NDArray[np.floating]
    snapshots: NDArray[np.floating]


def picture(recorded: Recording, path: str, seed: int = 0) -> None:
    """Saves the picture. Raises TwixtError.

    recorded: body 0 bounces in the plane of x and z, body 1 moves on a circle in that of x and y.
    """
    figure = empty_figure(WIDTH_IN, HEIGHT_IN)
    replay = MotionReplay(recorded)
    axes = figure.subplots(2, len(METHODS))
    for column, method in enumerate(METHODS):
        bounce, circle = (_way(replay, method, seed, *how) for how in ((0, 2, BOUNCE_S), (1, 1, ROUND_S)))
        upper, lower = axes[:, column]
        upper.axhspan(-1.0, 0.0, color=FLOOR, linewidth=0)
        upper.set_title(method, fontsize=FONT_PT + 2, color=INK)
        _draw(upper, bounce)
        _draw(lower, circle)
        upper.set_ylim(-BELOW_M, bounce.true[:, 1].max() + BELOW_M)
        lower.set_aspect("equal")
    for one, name in zip(axes[:, 0], ("a bounce", "a circle"), strict=True):
        one.set_ylabel(name, fontsize=FONT_PT, color=INK)
    figure.legend(
        *axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=FONT_PT, frameon=False
    )
    save(figure, path)


def _way(replay: MotionReplay, method: str, seed: int, body: int, up: int, span_s: tuple[float, float]) -> Way:
    rows = replay.rows(TROUBLES[TROUBLE].trace(seed, SECONDS))
    shown = replay.show(rows, method, seed)
    truth, (begin_ns, end_ns) = replay.truth, (round(second * 1e9) for second in span_s)
    sim_ns = np.array([row.sim_ns for row in rows])

    def within(times_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        return (times_ns >= begin_ns) & (times_ns <= end_ns)

    plane = (0, up)
    return Way(
        truth.states.position[within(truth.times_ns), body][:, plane],
        shown.places.position[within(shown.asked_ns), body][:, plane],
        truth.at(sim_ns[within(sim_ns)]).position[:, body][:, plane],
    )


def _draw(axes: Axes, way: Way) -> None:
    axes.plot(*way.true.T, color=TRUE, linewidth=3, label="where it truly was")
    axes.plot(*way.snapshots.T, "o", color="none", markeredgecolor=KNOWN, markersize=8, label="a snapshot of it")
    axes.plot(*way.drawn.T, "-o", color=DRAWN, linewidth=0.6, markersize=2.6, label="drawn, one dot a frame")
    axes.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
