"""Contains the table of the built-in worlds. Each world has one module. The module `find` loads a world by its name.

This file imports no world, so that `--help` does not wait for the import of numpy.
"""

from __future__ import annotations

from typing import NamedTuple


class BuiltIn(NamedTuple):
    """Module, class and one-line description of a built-in world."""

    module: str
    class_name: str
    description: str


WORLDS = {
    "balls": BuiltIn(
        "twixt.sim.worlds.balls",
        "Balls",
        "balls in a rocking box, with contacts, friction and spin: --set count=10000",
    ),
    "metronome": BuiltIn(
        "twixt.sim.worlds.metronome",
        "Metronome",
        "one white ball that moves at constant speed on black, for measurements",
    ),
    "spinners": BuiltIn(
        "twixt.sim.worlds.spinners", "Spinners", "bars and balls that turn up to three times between two snapshots"
    ),
    "teleporters": BuiltIn(
        "twixt.sim.worlds.teleporters",
        "Teleporters",
        "balls that jump, appear and disappear on two rails, without streaks",
    ),
    "verlet": BuiltIn(
        "twixt.sim.worlds.verlet", "Verlet", "a curtain of beads in the wind, and a ball that swings through it"
    ),
    "swarm": BuiltIn("twixt.sim.worlds.swarm", "Swarm", "a galaxy of 10,000 bodies, or more: --set count=1000000"),
    "circles": BuiltIn(
        "twixt.sim.worlds.circles",
        "Circles",
        "two balls at ten steps per second: the left picture is not interpolated, the right picture is",
    ),
    "wobble": BuiltIn(
        "twixt.sim.worlds.wobble",
        "Wobble",
        "balls on a turning cube, with and without a parent: the balls without a parent wobble",
    ),
}
