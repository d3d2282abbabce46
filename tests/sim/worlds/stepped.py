"""Worlds stepped by hand; as a program: `python -m tests.sim.worlds.stepped FILE` prints the hashes of those that are
pinned and writes the swarm's records into FILE."""

from __future__ import annotations

import json
import sys

from twixt.sim.world.world import World, filled_bodies, state_hash
from twixt.sim.worlds import WORLDS
from twixt.sim.worlds.find import load_world

SETTINGS = {"swarm": (("count", "2000"),)}
# All but the one that multiplies matrices.
EXACT = sorted(set(WORLDS) - {"swarm"})
# Enough for balls to have met, and for the swarm's rings to have turned.
STEPS = 60


def stepped(name: str, steps: int = STEPS) -> World:
    """The world `name` after `steps` steps, seed 0."""
    world = load_world(name, SETTINGS.get(name, ()), seed=0)
    for _ in range(steps):
        world.step(world.dt)
    return world


def hashes() -> dict[str, str]:
    """Hash of every pinned world's state after `STEPS`, by name."""
    return {name: state_hash(stepped(name)) for name in EXACT}


if __name__ == "__main__":
    filled_bodies(stepped("swarm")).records.tofile(sys.argv[1])
    print(json.dumps(hashes()))
