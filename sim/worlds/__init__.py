"""The built-in worlds by name, known without importing any: `--help` must not wait for numpy."""

from __future__ import annotations

from typing import NamedTuple


class BuiltIn(NamedTuple):
    """Where a built-in world lives, and what it shows, in a line."""

    module: str
    class_name: str
    description: str


WORLDS = {
    "balls": BuiltIn(
        "twixt.sim.worlds.balls", "Balls", "a few hundred balls tumble in a rocking box: contacts, friction, spin"
    ),
    "metronome": BuiltIn(
        "twixt.sim.worlds.metronome",
        "Metronome",
        "one white ball at constant speed across a black screen, for measuring",
    ),
}
