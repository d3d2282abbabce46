"""A viewer's own word for what it has drawn, as an event to wait for: the frame log comes in pieces."""

from __future__ import annotations

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
