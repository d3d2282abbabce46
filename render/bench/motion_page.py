"""The page docs/motion.md: what `twixt bench motion` found, in words and tables, and how to make it again.

Every figure in its sentences is read off the results; a sentence whose results are not there is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from twixt.render.bench.motion_show import COLUMNS, as_text

if TYPE_CHECKING:
    from twixt.render.bench.motion import Result, Size

HEAD = """# Drawn motion against the truth

What each method of interpolation draws of each world under each trouble, held against what the world really did.
Made by the code: `{command}`. No process, no real clock: a busy machine takes longer and finds the same figures.
"""

CONDITIONS = """
## Conditions

Each world is stepped at 960 Hz and every state is kept: that is the truth. Snapshots are some of these states (60, 30, 20
or 10 a second of simulated time), so the truth is the very trajectory that they are taken from. A trace says when each of
them is due and when it arrives (`twixt.render.playback.traces`). A display of {fps:g} Hz, {seconds:g} s long, of which the
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


def page(what: Size, results: Sequence[Result], command: str, picture: str | None = None) -> str:
    """Markdown. command: what makes it again. picture: its path as seen from the page."""
    parts = [HEAD.format(command=command)]
    if picture is not None:
        parts.append(
            f"\n![A bounce and a circle, ten snapshots a second, drawn by five methods]({picture})\n\n"
            "Ten snapshots a second (circles), drawn at 60 frames a second (dots): the pale line is the truth.\n"
        )
    seen = list(sentences(results))
    if seen:
        parts.append("\n## What one sees\n\n" + "".join(f"- {sentence}\n" for sentence in seen))
    parts.append(CONDITIONS.format(fps=60, seconds=what.seconds, seed=what.seed))
    parts.append("\n| world | |\n|---|---|\n")
    parts += [f"| {name} | {subject.about} |\n" for name, subject in what.worlds.items()]
    parts.append("\n| trouble | |\n|---|---|\n")
    parts += [f"| {name} | {trouble.about} |\n" for name, trouble in what.troubles.items()]
    parts.append(WORDS)
    parts.append("\n## Figures\n")
    for world, lines in groupby(results, key=lambda result: result.world):
        parts.append(f"\n<details><summary>{world}</summary>\n\n{_table(list(lines))}\n</details>\n")
    return "".join(parts)


def relative(picture: str, page_path: str) -> str:
    """The picture's path as seen from the page."""
    return os.path.relpath(picture, os.path.dirname(page_path) or ".").replace(os.sep, "/")


def sentences(results: Sequence[Result]) -> Iterator[str]:
    """What one sees, in the order in which it matters."""
    known = {(result.world, result.trouble, result.method): result.figures for result in results}

    def figure(world: str, trouble: str, method: str, name: str) -> str:
        return as_text(getattr(known[world, trouble, method], name))

    for sentence in SENTENCES:
        try:
            yield sentence(figure)
        except KeyError:
            continue


def _table(lines: Sequence[Result]) -> str:
    headings = "".join(f" {column.of_what} {column.statistic} |" for column in COLUMNS)
    made = [f"| trouble | method |{headings}\n", "|---|---|" + "---:|" * len(COLUMNS) + "\n"]
    for line in lines:
        figures = "".join(f" {as_text(column.of(line.figures))} |" for column in COLUMNS)
        made.append(f"| {line.trouble} | {line.method} |{figures}\n")
    return "".join(made)


HEALTHY, TEN, TWENTY = "ahead 60 Hz", "ahead 10 Hz", "20 Hz, 4 ms jitter"
UNEVEN, NET, STALL = "steps 20-120 ms", "net 30 Hz", "stall 500 ms every 5 s"
P50, P99, MAX, TURN = "position_p50_mm", "position_p99_mm", "position_max_mm", "rotation_p99_deg"
OVER, OFF, JUMP, AGE = "overshoot_max_mm", "off_path_max_mm", "jump_p99_mm", "age_mean_ms"
NO_VELOCITIES = "circles, no velocities"

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
        f"And where bodies turn a corner by more than 41 degrees a snapshot: balls on a cube's corners at 10 Hz, 90 degrees a "
        f"snapshot: p99 of `auto` {f('wobble', TEN, 'auto', P99)} mm as `linear`, `hermite` {f('wobble', TEN, 'hermite', P99)}. At 60 Hz, "
        f"15 degrees, {f('wobble', HEALTHY, 'auto', P99)} mm. Such bodies are better children of what they turn with: those are exact."
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
        f"Fast turning (up to 3 turns a snapshot at 20 Hz) only `hermite` and `auto` draw: p99 "
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
        f"{f('circles', NET, 'auto', AGE)} on {NET}, {f('circles', UNEVEN, 'auto', AGE)} where steps take 20 to 120 ms, "
        f"{f('circles', STALL, 'auto', AGE)} in the seconds around a stall. `latest` has "
        f"{f('circles', NET, 'latest', AGE)} on {NET}, and jumps by {f('circles', NET, 'latest', JUMP)} mm."
    ),
    lambda f: (
        f"`extrapolate` bridges a stall: {f('circles', STALL, 'extrapolate', AGE)} ms of age instead of "
        f"{f('circles', STALL, 'linear', AGE)}, for 250 ms of guessing that leads up to {f('circles', STALL, 'extrapolate', MAX)} mm "
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
