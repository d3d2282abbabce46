"""A viewer's own word for what it has drawn, as an event to wait for; and its frame log, which comes in large pieces."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.end_to_end.processes import Run, Starter

SAYS = "def draw(frame):\n    print('drawn', frame.draw_time_ns, len(frame.poses.position), flush=True)\n"


class Drawn(NamedTuple):
    """Of one frame: the simulated time, and the number of bodies."""

    sim_time_ns: int
    bodies: int


def saying_what_it_draws(start: Starter) -> tuple[str, str]:
    """The flags of a viewer that does."""
    (start.folder / "says.py").write_text(SAYS)
    return "--draw", "says:draw"


def drawn(view: Run) -> list[Drawn]:
    """All frames so far."""
    lines = view.out.split("\n")[:-1]
    return [Drawn(*map(int, line.split()[1:])) for line in lines if line.startswith("drawn ")]


def has_counted_frames(log: Path) -> bool:
    """Whether a log that is being written holds frames that count."""
    if not log.exists() or "\n" not in (text := log.read_text()):
        return False
    header, *rows = text[: text.rindex("\n")].split("\n")
    probe = header.split(",").index("probe")
    return sum(row.split(",")[probe] == "0" for row in rows) > 10
