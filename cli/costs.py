"""The parts of `twixt bench` that measure costs: what they are called, what they can be told, who measures them.

Always: they are measured in the order in which they stand here, what only copies memory first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from twixt.cli import completion
from twixt.cli.endings import takes_its_own_along
from twixt.cli.flags import Finite

COSTS = {
    "channel": "What publishing and reading cost.",
    "show": "What a publish through twixt.show costs.",
    "guest": "How much slower a loop that never rests is while a viewer watches it.",
    "frame": "What a frame costs beside its drawing: waking, clock, log, a frame without a new snapshot.",
    "interpolation": "What each method costs, on the GPU and in numpy.",
    "draw": "Frames a second, for each number of bodies and each shape.",
    "start": "From the command to the first picture.",
    "million": "A million bodies: whether they come whole, and in how much memory.",
    "vsync": "How evenly frames come where swap waits for the display.",
    "peers": "Other viewers on the same scene, where they are installed.",
}
# Measured only when asked for.
PEERS = "peers"


def _file(*names: str, **how: Any) -> click.Option:
    return click.Option(names, metavar="FILE", shell_complete=completion.FILES["FILE"], **how)


OPTIONS = (
    click.Option(["--quick"], is_flag=True, help="few rounds: shows that it works, not how fast"),
    _file("--json", "json_file", help="write the figures as JSON; - for standard output"),
    _file("--out", help="write a page about it (Markdown)"),
    _file("--plot", help="draw frames a second against bodies (PNG)"),
    _file("--against", help="show beside them the ratios of an earlier --json FILE, and what became worse"),
    click.Option(
        ["--fail-over"],
        type=Finite(min=0),
        metavar="PERCENT",
        help="exit with 1 when a ratio is worse than --against by more than this, and by more than the noise",
    ),
)


@takes_its_own_along
def measure(names: Iterable[str], **wanted: Any) -> int:
    """Measures those parts; the exit code."""
    from twixt.cli.bench.guest import rows as guest
    from twixt.ipc.bench import rows as channel
    from twixt.render.bench.suite import GROUPS, Wanted, run
    from twixt.sim.bench import rows as simulation

    known = {"channel": channel, "show": simulation, "guest": guest, **GROUPS}
    return run({name: known[name] for name in names}, Wanted(**wanted, command=" ".join(["twixt", *sys.argv[1:]])))


def command_of(name: str) -> Callable[..., int]:
    """A function that measures that part, called and described like it."""

    def part(**wanted: Any) -> int:
        return measure([name], **wanted)

    part.__name__, part.__doc__ = name, COSTS[name]
    return part
