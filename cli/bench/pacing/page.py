"""The page docs/pacing.md: what `twixt bench pacing` found, how the figures are made, and how to make them again.

Every figure in it is read off the results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from twixt.cli.bench.pacing.figures import LOST_FRAME_MS
from twixt.cli.bench.pacing.laboratory import LANDED, NEVER
from twixt.cli.bench.pacing.show import COSTS, said
from twixt.ipc.errors import TwixtError

if TYPE_CHECKING:
    from twixt.cli.bench.pacing.bars import Bar
    from twixt.cli.bench.pacing.laboratory import Found, Row

# Costs that exceed a fixed interval's by this share and so much are listed.
DEARER_SHARE, DEARER_MORE = 1.25, 20

HEAD = """# The pacer on model displays

Made by the code: `{command}`

Time is virtual: nothing is waited for, and the figures are the same on every machine.
The pacer is the one that `twixt run` has, driven by the calls of its frame loop (`next_frame`, `drawn`, `frame_done`,
`display_said`), after its own probe of the display. The models know when each frame was really seen; the pacer knows
what calls return. {seeds} seeds of each trace, {seconds:g} s each; the first second does not count.
"""

PICTURE = """
![Above: cost by work on four displays. Below: how long each frame was seen while a load or a mode changes]({picture})

Above: cost, left is better. Below: how long each frame was seen (dots), the display's refresh (green), the load (grey).
"""

UNSEEN = """
Where swap returns at once and no fence serves, a frame is planned before it is known when the last one was seen. Under
very uneven work (programs on all cores) that is often wrong, and the frames after it are planned on it.
"""

WORDS = """
## Figures

| figure | what it is |
|---|---|
| hitch | by how much each interval between presents exceeds the longer of the interval before and the refresh: a picture that stands longer than the last one did. An even slow rate has none, and no pacer can plan one away (in reports, hitches are against the pacer's plan). ms a second |
| lost | refreshes of the display less frames shown, a second |
| cost | hitch + {lost} x lost: jerks and missing frames in one number, ms a second |
| error | drawn instant less that of the frame before, less the same of the true presents: ms of display time; p99 |
| off | share of frames with an error of more than 2 ms |
| lag | from the start of a frame, when the state is read, to its present: ms, mean |

At 60 Hz a missed refresh costs 33: a hitch of 16.7 ms and a lost frame. Half the rate costs 501 and has no hitch. So where
swap blocks, half the rate pays from 15 misses a second on. What a wider interval buys besides is evenness, which the
cost does not count: *off* stands beside it. At a variable rate of up to 144 Hz every frame that takes longer than 6.9 ms
loses some by this count; compare with the oracle there.

## Contestants

- **twixt**: the pacer as it is.
- **never widen**: a fixed interval. It asks the model when the frame before was seen, starts at once and draws for the
  next refresh that its usual work (median of five) reaches.
- **oracle**: knows all work to come. Before every eight frames it plays out each interval of a list over the next
  0.4 s and takes the cheapest; whole runs at one interval are tried, too. Its errors are 0. It is a bound by search,
  not a proof: a cheaper run may exist.
"""

DISPLAYS = {
    "timer": "nothing waits; a frame is seen when it is copied (Xvfb)",
    "blocking": "swap returns when its own frame is seen",
    "returns at once": "swap waits for nothing, the first GL call of the next frame waits until the frame is seen (DRI3)",
    "queue of two": "swap returns when the frame before is seen",
    "queue of three": "swap returns when the frame before that is seen",
    "blocking at 90 Hz": "a refresh of 11.1 ms: 10 ms of work are at its edge",
    "variable rate": "48 to 144 Hz; swap returns when its frame is seen",
}
WAYS = """
*fence*: after the swap the next buffer is waited for; where swap returns at once, as twixt's window tries it. A queue's
swaps wait, so that twixt makes no fence there: what one would bring is shown. *own word*: the display says two frames
later when a frame was seen. A frame that is handed over less than 0.5 ms before a refresh is seen at the next. Rates are
off by up to 0.2 %, swaps return 0.02 to 0.15 ms after the refresh, waking is up to 0.06 ms late.
"""

WORKS = {
    "constant 5 ms": "give or take 3 %, as all but the recorded ones",
    "constant 10 ms": "the same, longer",
    "constant 14 ms": "little room at 60 Hz",
    "25 ms in one of 30": "8 ms else; at a random place in each 30 frames",
    "25 ms in one of 120": "the same, rarer",
    "one of 56 ms": "10 ms else; one single frame",
    "drift 6-19 ms": "up and down within 8 s",
    "bimodal 9 and 18 ms": "each frame one of the two, 40 % the longer",
    "20 ms for 3 s": "8 ms before and after",
    "stolen 5-40 ms": "9 ms; three times in 2 s, on average, the machine takes the processor away for so long",
    "evening": "9 ms, stretches of 1.5 s that are 15 or 40 % slower, one spike in 150 frames, some stolen time",
    "metronome, busy loops": "recorded: two cores, Xvfb, a busy loop on each core",
    "metronome, bursts": "recorded: both cores taken for 40 ms once a second",
    "balls, busy loops": "recorded: 300 balls with the overlay, drawn by the processor, a busy loop on each core",
    "balls, bursts": "recorded: the same, both cores taken for 40 ms once a second",
}

LIMITS = """
## Not modelled

What real drivers do with a fence; a compositor's own latency; a GPU whose clock follows the load; frames that are dropped
because a newer one is there (mailbox); other threads of the viewer. Recorded work stays as it was recorded, however the
pacer's choices would have changed it. Held against the program once: four runs of 20 s on Xvfb (metronome and balls, busy
loops and bursts) had 56.2 to 60.0 frames a second, their recorded work replayed on the timer 58.0 to 60.0, within 4 %.
"""


def write(found: Found, path: str, command: str, picture: str | None = None) -> None:
    """Writes the page. picture: the plot's path, beside the page. Raises TwixtError."""
    beside = os.path.relpath(picture, os.path.dirname(path) or ".").replace(os.sep, "/") if picture else None
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(found, command, beside))
    except OSError as error:
        raise TwixtError(f"cannot write the page {path!r}: {error.strerror}; give another --out") from None


def page(found: Found, command: str, picture: str | None = None) -> str:
    """Markdown. picture: its path as seen from the page."""
    parts = [HEAD.format(command=command, seeds=found.seeds, seconds=found.seconds)]
    if picture is not None:
        parts.append(PICTURE.format(picture=picture))
    parts += ["\n## Bars\n\n", *_bars(found.bars)]
    parts += ["\n## Where it is dear\n\n", *_dearer(found.rows)]
    parts.append(WORDS.format(lost=f"{LOST_FRAME_MS:g}"))
    parts += ["\n## Displays\n\n", *_list(DISPLAYS), WAYS, "\n## Work\n\n", *_list(WORKS), LIMITS]
    parts.append("\n## All figures\n\nMeans of all seeds; error p99, off and lag are of twixt's pacer.\n")
    for display, rows in groupby(found.rows, key=lambda row: row.display):
        parts.append(f"\n### {display}\n\n{_table(list(rows))}")
    for display, rows in groupby(found.changes, key=lambda row: row.display):
        parts.append(f"\n### {display}: from a change of mode on\n\n{_table(list(rows))}")
    return "".join(parts)


def _bars(bars: Sequence[Bar]) -> Iterator[str]:
    named, costs = [bar for bar in bars if bar.unit != COSTS], [bar for bar in bars if bar.unit == COSTS]
    yield f"{sum(bar.is_met for bar in bars)} of {len(bars)} are met; the worst of all seeds is what counts.\n\n"
    yield "| bar | is | must be | |\n|---|---|---|---|\n"
    for bar in named:
        sign = "<=" if bar.is_most else ">="
        met = "met" if bar.is_met else "**not met**"
        yield f"| {bar.name} | {bar.figure:.4g} {bar.unit} | {sign} {bar.limit:.4g} | {met} |\n"
    missed = [bar for bar in costs if not bar.is_met]
    yield (
        "\nDisplays whose swap does not wait for its own frame must cost no more than 1.1 times plain blocking's cost\n"
        f"under the same work, and 1 (means of all seeds): {len(costs) - len(missed)} of {len(costs)} do."
    )
    yield " Not met:\n\n" if missed else "\n"
    yield from (f"- {said(bar)}\n" for bar in missed)
    if missed:
        yield UNSEEN


def _dearer(rows: Sequence[Row]) -> Iterator[str]:
    """Where a fixed interval costs much less, and what it does to evenness."""
    of = {(row.display, row.work, row.contestant): row.figures for row in rows}
    compared = [
        (key, figures, of[*key[:2], NEVER])
        for key, figures in of.items()
        if key[2] == LANDED and (*key[:2], NEVER) in of
    ]
    dear = [pair for pair in compared if pair[1].cost > DEARER_SHARE * pair[2].cost + DEARER_MORE]
    dear.sort(key=lambda pair: pair[2].cost - pair[1].cost)
    yield f"In {len(dear)} of {len(compared)} cases twixt costs over a quarter and {DEARER_MORE} more than a fixed interval"
    yield (
        ", the worst first:\n\n| display, work | cost | never widen | off | never widen |\n|---|---|---|---|---|\n"
        if dear
        else ".\n"
    )
    for (display, work, _), own, fixed in dear:
        yield f"| {display}: {work} | {own.cost:.0f} | {fixed.cost:.0f} | {own.off_share:.1%} | {fixed.off_share:.1%} |\n"


def _list(about: dict[str, str]) -> Iterator[str]:
    yield "| | |\n|---|---|\n"
    for name, words in about.items():
        yield f"| {name} | {words} |\n"


def _table(rows: Sequence[Row]) -> str:
    contestants = list(dict.fromkeys(row.contestant for row in rows))
    heads = ["", *(f"cost, {name}" for name in contestants), "fps", "error p99 ms", "off", "lag ms"]
    heads += [f"off, {name}" for name in contestants[1:2]]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for work, line in groupby(rows, key=lambda row: row.work):
        figures = [row.figures for row in line]
        own = figures[0]
        cells = [work, *(f"{of.cost:.0f}" for of in figures), f"{own.fps:.1f}", f"{own.error_p99_ms:.1f}"]
        cells += [f"{own.off_share:.1%}", f"{own.latency_ms:.0f}", *(f"{of.off_share:.1%}" for of in figures[1:2])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
