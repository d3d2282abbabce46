"""Phases of a frame: all are measured, and hidden bodies leave the background alone."""

from __future__ import annotations

import numpy as np

from bench.costs import frame
from bench.costs.frame import FULL_FRAME, WatchedWorld, measured
from twixt.render.display.offscreen import OffscreenWindow
from twixt.render.draw.quality import LEVELS
from twixt.sim.worlds.balls import Balls


def test_every_part_has_a_time_in_every_round(monkeypatch):
    monkeypatch.setattr(frame, "SETTLING", 2)
    window, world = OffscreenWindow((160, 120)), Balls(count=60)
    phases = measured(window, WatchedWorld(window, world, world.dt), 3)
    window.close()
    assert {len(taken) for taken in phases.values()} == {3}
    of_levels = {f"{kind}, {level.name}" for kind in ("picture", "recording") for level in LEVELS}
    assert of_levels | {"clear", "background", "bodies", "shadows on the ground", "swap", FULL_FRAME} < phases.keys()
    first, second = (np.array(phases[f"picture, {level.name}"]) for level in LEVELS[:2])
    np.testing.assert_allclose(first - second, phases["shadows on the ground"])
    np.testing.assert_allclose(second - phases["background"], phases["bodies"])


def test_hidden_bodies_leave_the_background():
    window, world = OffscreenWindow((160, 120)), Balls(count=60)
    watched = WatchedWorld(window, world, world.dt)
    renderer, size_px = watched.stage.renderer, window.framebuffer_size
    watched.draw(size_px, 0.5)
    renderer.finish()
    seen = renderer.read_pixels()
    camera = watched.stage.view.matrices(watched.stage.main, size_px, size_px)
    pictures = []
    for layers in ([watched.hidden], []):
        renderer.draw(layers, camera, (0, 0, *size_px))
        renderer.finish()
        pictures.append(renderer.read_pixels())
    window.close()
    np.testing.assert_array_equal(*pictures)
    assert (seen != pictures[0]).any()
