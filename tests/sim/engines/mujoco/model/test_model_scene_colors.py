"""Colours that a program changes while its model runs: a part column, and no scene."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import KINDS, Launch, Reader
from twixt.ipc.scene.parts import part_colors
from twixt.sim.engines.mujoco.model.model_scene import scene

mujoco = pytest.importorskip("mujoco")

ALWAYS = 1e6  # states a second: each is let through


def synced(handle: Any, reader: Reader) -> Any:
    mujoco.mj_step(handle.m, handle.d)
    handle.sync()
    return reader.newest()


def shown(handle: Any, reader: Reader) -> np.ndarray:
    """Colours of the parts in the newest state that has the present ones of the model."""
    wanted = part_colors(scene(handle.m, handle.opt), handle.m.nbody)

    def is_there() -> bool:
        seen = synced(handle, reader).part_columns.get("color")
        return seen is not None and np.array_equal(seen, wanted)

    reader.until(is_there)
    return wanted


def test_a_colour_that_changes_at_every_step_publishes_one_scene(launch: Launch) -> None:
    handle, reader = launch(KINDS, publish_hz=ALWAYS)
    assert not synced(handle, reader).part_columns
    handle.m.geom("egg").rgba[:] = 0.1, 0.2, 0.3, 1
    shown(handle, reader)
    version = handle._view._host.scene.version
    rng = np.random.default_rng(1)
    for _ in range(50):
        handle.m.geom_rgba[1:] = rng.uniform(0.05, 1, handle.m.geom_rgba[1:].shape)
        handle.m.site("tip").rgba[:] = rng.uniform(0.05, 1, 4)
        handle.m.material("red").rgba[:] = rng.uniform(0.05, 1, 4)
        seen = synced(handle, reader).part_columns["color"]
        assert seen.tolist() == part_colors(scene(handle.m, handle.opt), handle.m.nbody).tolist()
    assert handle._view._host.scene.version == version


def test_a_geom_that_was_clear_appears_and_one_that_becomes_clear_is_gone(launch: Launch) -> None:
    handle, reader = launch(KINDS, publish_hz=ALWAYS)
    handle.m.geom("egg").rgba[3] = 0
    handle.m.geom("can").rgba[0] = 1
    reader.until(lambda: 0 in synced(handle, reader).part_columns.get("color", np.ones((1, 4)))[:, 3])
    handle.m.geom_group[0] = 5  # another scene: the egg is left out now
    version = handle._view._host.scene.version
    reader.until(lambda: bool(synced(handle, reader)) and handle._view._host.scene.version > version)
    shown(handle, reader)
    handle.m.geom("egg").rgba[:] = 0.5, 0.6, 0.7, 1
    colors = shown(handle, reader)
    assert [128, 153, 178, 255] in colors.tolist()


def test_another_scene_has_the_colours_of_its_own_parts(launch: Launch) -> None:
    handle, reader = launch(KINDS, publish_hz=ALWAYS)
    handle.m.geom("egg").rgba[:] = 0.1, 0.2, 0.3, 1
    before = len(shown(handle, reader))
    handle.opt.geomgroup[3] = 1
    assert len(shown(handle, reader)) == before + 1
