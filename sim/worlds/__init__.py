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
        "a few hundred balls, or ten thousand, tumble in a rocking box: contacts, friction, spin",
    ),
    "metronome": BuiltIn(
        "twixt.sim.worlds.metronome",
        "Metronome",
        "one white ball at constant speed across a black screen, for measuring",
    ),
    "spinners": BuiltIn(
        "twixt.sim.worlds.spinners", "Spinners", "bars and balls that turn up to three times between two snapshots"
    ),
    "teleporters": BuiltIn(
        "twixt.sim.worlds.teleporters",
        "Teleporters",
        "balls that jump, spawn and despawn on two rails: never a streak between them",
    ),
    "verlet": BuiltIn(
        "twixt.sim.worlds.verlet", "Verlet", "a curtain of beads in the wind, and a ball that swings through it"
    ),
    "swarm": BuiltIn(
        "twixt.sim.worlds.swarm", "Swarm", "a galaxy of ten thousand bodies, or of a million: --set count=1000000"
    ),
    "circles": BuiltIn(
        "twixt.sim.worlds.circles",
        "Circles",
        "ten steps a second: on the left the current state, on the right interpolated",
    ),
    "wobble": BuiltIn(
        "twixt.sim.worlds.wobble",
        "Wobble",
        "balls on a turning cube, as its children and on their own: which of them wobble",
    ),
}
