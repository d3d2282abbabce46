"""Worlds as the command line names them: built in, `module:Class`, or a model of an engine by its file."""

from __future__ import annotations

from twixt.sim.engines.mujoco.model.model_file import is_model
from twixt.sim.world.world import World
from twixt.sim.worlds.find import find_world


def find_world_or_model(name: str) -> type[World]:
    """Class of the world called `name`. Raises as `twixt.sim.worlds.find.find_world`, and TwixtError for a file that is
    not there, or without its engine."""
    if is_model(name):
        from twixt.sim.engines.mujoco.model_world import world_of_file

        return world_of_file(name)
    return find_world(name)
