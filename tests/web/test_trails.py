"""Trails of the page: the same dots as in the window, frame for frame."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.web.in_node import run_in_node
from twixt.render.scene.trails import Trails, trail_rows

NUMBERS = np.random.default_rng(5)


@pytest.mark.parametrize(("seconds", "frames"), [(1.0, 100), (math.inf, 300)])
def test_dots_are_those_of_the_window(seconds: float, frames: int) -> None:
    count = 90
    positions = np.cumsum(NUMBERS.normal(size=(frames, count, 3)), axis=0)
    positions[:, 0] = 1.0  # at rest
    positions[40:60, 1] = positions[40, 1]
    positions[70:75] = positions[70]  # the picture stands still
    epochs = np.zeros((frames, count), int)
    epochs[80:, 2] = 1  # moved elsewhere
    visible = np.ones((frames, count), bool)
    visible[50:55, 3] = False
    trails = Trails(trail_rows(count), seconds)
    for frame in range(frames):
        trails.add(frame * 16_000_000, positions[frame], visible[frame], epochs[frame])
    right = trails.dots()
    found = run_in_node(
        """
        const {Trails} = await import(WEB + "marks.js");
        const trails = new Trails(given.seconds ?? Infinity);
        given.positions.forEach((places, frame) => {
          const words = new Uint32Array(16 * places.length);
          given.epochs[frame].forEach((epoch, body) => (words[16 * body + 3] = epoch));
          const of = (body) => (
            {position: places[body], isVisible: given.visible[frame][body], isDrawable: true});
          trails.add(frame * 16, {count: places.length, of}, {words});
        });
        answer(trails.dots().map(({position, alpha}) => [...position, Math.trunc(255 * alpha)]));
        """,
        {
            "positions": positions.tolist(),
            "epochs": epochs.tolist(),
            "visible": visible.tolist(),
            "seconds": seconds if math.isfinite(seconds) else None,
        },
    )
    expected = np.column_stack([right.positions, right.colors[:, 3]])
    assert sorted(found) == [pytest.approx(row, abs=1) for row in sorted(expected.tolist())]
    assert np.array_equal(np.array(sorted(found))[:, :3], np.array(sorted(expected.tolist()))[:, :3])


def test_of_many_bodies_the_same_leave_trails_as_in_the_window() -> None:
    counts = [0, 1, 256, 257, 512, 513, 3000]
    script = 'const {trailRows} = await import(WEB + "marks.js"); answer(given.map((count) => trailRows(count)));'
    assert run_in_node(script, counts) == [trail_rows(count).tolist() for count in counts]
