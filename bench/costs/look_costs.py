"""Cost of each look: shadows on the ground, shadows on every surface, contact shading, four samples a pixel.

One idea: the same cloud over a ground is drawn in turns by a look and without any of them, picture by picture, each
until it is complete. The ratio is what the look costs; `render/draw/frame/quality_levels.py` has its levels' shares from here.

Always: bodies and camera are those of the other costs of drawing (cloud.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.costs.cloud import Cloud
from bench.rows import Row, rounds_of, row, taken_us
from twixt.cli.progress import Say
from twixt.ipc.config.config import Config
from twixt.render.display.display import open_display
from twixt.render.draw.frame.quality_levels import BEST, BEST_BY_PROCESSOR, FULL, LIT_LEVELS, Level

COUNTS = (100, 1_000, 10_000)
ROUNDS, BUDGET_S = 60, 4.0
# Height of the ground below the cloud's middle, whose radius is 1 m.
GROUND_M = -1.0

PLAIN = FULL._replace(name="no shadows", shadows=False)
LOOKS: dict[str, Level] = {
    "round shadows": FULL,
    "shadow map": LIT_LEVELS[1],
    "shadow map, contact": BEST_BY_PROCESSOR,
    "shadow map, contact, 4 samples": BEST,
}


def look_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """A row for each look and number of bodies: a frame with it, against one without. share: of a whole run's rounds."""
    window = open_display(Config(pacing="unlimited"))
    try:
        for count in COUNTS if share >= 1 else COUNTS[:1]:
            cloud = Cloud(window, count, ground=GROUND_M)
            for name, level in LOOKS.items():
                say(f"{name}, {count:,} bodies")
                yield _compared(cloud, f"{name}, {count:,} bodies", level, rounds_of(ROUNDS, share))
            cloud.release()
    finally:
        window.close()


def _compared(cloud: Cloud, name: str, look: Level, rounds: int) -> Row:
    works = [lambda level=level: _draw(cloud, level) for level in (look, PLAIN)]  # type: ignore[misc]
    for work in works * 2:  # programs are compiled, memory is allocated
        work()
    taken, plain = taken_us(rounds, *works, budget_s=BUDGET_S)
    return row(name, "us", taken, PLAIN.name, plain)


def _draw(cloud: Cloud, level: Level) -> None:
    cloud.renderer.level = level
    cloud.draw(0.5)
