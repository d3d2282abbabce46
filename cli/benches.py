"""What there is to type after `twixt bench`, and what each of these commands does.

Always: a command's work is imported when it runs.
"""

from __future__ import annotations

from typing import Any

import click

from twixt.cli import costs
from twixt.cli.endings import takes_its_own_along
from twixt.cli.flags import TO_JSON, TO_PAGE, Finite, Read, option, read_counts, read_names, typed
from twixt.cli.table import Table

benches = Table()

for name in costs.COSTS:
    benches.command(*costs.OPTIONS)(costs.command_of(name))


@benches.command(
    TO_JSON,
    TO_PAGE,
    option("--plot", metavar="FILE", help="draw a bounce and a circle as some methods draw them (PNG)"),
    option("--world", "worlds", multiple=True, help="only this one; may be given again"),
    option("--trouble", "troubles", multiple=True, help="only this one; may be given again"),
    option("--method", "methods", multiple=True, help="only this one, or module:Class; may be given again"),
    option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="of worlds and troubles"),
    option("--quick", is_flag=True, help="one world and two troubles: shows that it works"),
)
def motion(
    json_file: str | None, out: str | None, plot: str | None,
    worlds: tuple[str, ...], troubles: tuple[str, ...], methods: tuple[str, ...], seed: int, quick: bool,
) -> int:  # fmt: skip
    """What each method draws of each world under each trouble, against what the world really did."""
    from twixt.render.bench import motion as bench_motion
    from twixt.sim.truth import PICTURED, subjects

    size = bench_motion.size(subjects(worlds), troubles, methods, seed, quick)
    return bench_motion.run(size, PICTURED, json_file, out, plot, typed())


@benches.command(
    option("--json", "as_json", is_flag=True, help="the figures as JSON instead of tables"),
    option("--seeds", type=click.IntRange(min=1), default=12, show_default=True, help="of each trace"),
    TO_PAGE,
)
def clock(as_json: bool, seeds: int, out: str | None) -> int:
    """How smooth each playback clock is on each trace of snapshots, and what a call of it costs."""
    from twixt.render.bench import clock as bench_clock

    return bench_clock.run(as_json, seeds, out)


@benches.command(
    option("--seeds", type=click.IntRange(min=1), default=10, show_default=True, help="of each trace"),
    option("--first-seed", type=click.IntRange(min=0), default=0, show_default=True, help="others follow it"),
    option("--display", "displays", multiple=True, help="only this one; may be given again"),
    option("--work", "works", multiple=True, help="only this one; may be given again"),
    option("--quick", is_flag=True, help="few works, short traces: shows that it works"),
    option("--fail", is_flag=True, help="exit with 1 when a bar is not met"),
    TO_JSON,
    TO_PAGE,
    option("--plot", metavar="FILE", help="draw costs by work, and four runs frame by frame (PNG)"),
    option("--frames", metavar="FILE", help="write each frame of the first display, work and seed (CSV), with reasons"),
)
def pacing(**wanted: Any) -> int:
    """The pacer on model displays, in virtual time, between a fixed interval and one who knows all work ahead.

    The same figures on every machine, however busy it is. Each bar that the pacer must reach is said with its figure.
    """
    from twixt.cli.bench.pacing.laboratory import Wanted
    from twixt.cli.bench.pacing.laboratory import run as play

    return play(Wanted(**wanted, command=typed()))


@benches.command(
    option("--bodies", type=Read("N,N", read_counts), default="1000,10000,100000", show_default=True,
           metavar="N,N", help="how many, one loop for each number"),
    option("--load", type=click.Choice(["none", "loop"]), default="none", show_default=True,
           help="another busy program at normal priority meanwhile"),
    option("--seconds", type=Finite(min=0.4, max=3600), default=20.0, show_default=True, help="of each loop"),
    option("--before", metavar="FOLDER", help="a checkout of an earlier version, measured beside this one"),
    TO_JSON,
    TO_PAGE,
)  # fmt: skip
@takes_its_own_along
def guest(
    bodies: tuple[int, ...], load: str, seconds: float, before: str | None, json_file: str | None, out: str | None
) -> int:
    """How much slower a loop that never rests is while a viewer watches it."""
    from twixt.cli.bench import guest as bench_guest

    return bench_guest.run(bodies, load, seconds, before, json_file, out, typed())


@benches.command(
    option("--xvfb", "display", flag_value="xvfb", help="on an Xvfb of its own, whose swap waits for nothing"),
    option("--sway", "display", flag_value="sway", help="on a sway of its own, whose swap waits for 60 refreshes a second"),
    option("--seconds", type=Finite(min=0.5, max=3600), default=60.0, show_default=True, help="of each run"),
    option("--turns", type=click.IntRange(1, 1000), default=5, show_default=True, help="runs of each case"),
    option("--load", "loads", type=Read("none,loops", read_names("none", "loops")), default="none,loops",
           show_default=True, metavar="NAMES", help="free cores, and a busy program at normal priority on each core"),
    option("--worlds", type=Read("names", read_names("balls", "metronome", "swarm")), default="balls,metronome,swarm",
           show_default=True, metavar="NAMES", help="which; swarm is one of 2,000"),
    option("--before", metavar="FOLDER", help="a checkout of an earlier version, in turns with this one"),
    TO_JSON,
    TO_PAGE,
)  # fmt: skip
@takes_its_own_along
def evenness(display: str | None, **wanted: Any) -> int:
    """How even worlds look on free cores and under busy programs, in turns with an earlier version.

    \b
    An hour with all that is measured by default; a first look:
    twixt bench evenness --xvfb --seconds 10 --turns 2 --worlds metronome
    """
    from twixt.cli.bench.evenness import Wanted
    from twixt.cli.bench.evenness import run as measure_turns

    return measure_turns(Wanted(display=display or "here", **wanted, command=typed()))


@benches.command(
    option("--runs", type=click.IntRange(2, 1000), default=24, show_default=True, help="recorded of each kind"),
    option("--trials", type=click.IntRange(1, 100_000), default=200, show_default=True, help="commands of each size"),
    option("--record", metavar="FILE", help="write the recorded runs, and what whole commands said (JSON)"),
    option("--from", "recorded", metavar="FILE", help="runs recorded before, instead of new ones"),
    option("--commands", type=click.IntRange(1, 1000), help="run so many whole commands of each kind instead of recording"),
    option("--minutes", type=Finite(min=0.1, max=600), default=20.0, show_default=True,
           help="begin no whole command after so many"),
    TO_PAGE,
)  # fmt: skip
@takes_its_own_along
def against(**wanted: Any) -> int:
    """How often `twixt measure --against` is right, by the number of runs.

    Recording takes 9 minutes on free cores; a busy machine records its noise. Whole commands are kept with runs
    recorded before:

    \b
    twixt bench against --commands 20 --from docs/against.json --record docs/against.json --out docs/against.md
    """
    from twixt.cli.bench.trials import Wanted
    from twixt.cli.bench.trials import run as try_commands

    return try_commands(Wanted(**wanted, command=typed()))
