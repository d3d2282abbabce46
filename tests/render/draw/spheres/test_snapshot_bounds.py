from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.draw.conftest import SIZE_PX, matrices
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.frame_block import GUARD_PX
from twixt.render.draw.spheres.snapshot_bounds import MOST, extent_of, fits_points, together

CAMERA = matrices(OrbitCamera(distance_m=10.0))


def bodies(*places, velocity=(0, 0, 0), scale=1.0):
    made = new_bodies(len(places))
    made["position"], made["velocity"], made["scale"] = places, velocity, scale
    return made


def fits(records, radius=0.1, gap_s=0.0, largest_px=20.0, camera=CAMERA):
    extent = extent_of(records)
    assert extent is not None
    return fits_points(extent, radius, gap_s, camera, SIZE_PX, largest_px)


def test_the_box_holds_all_bodies():
    places = np.random.default_rng(0).normal(0, 3, (500, 3))
    extent = extent_of(bodies(*places, velocity=(1, -7, 2), scale=-2))
    assert extent is not None
    np.testing.assert_allclose((extent.low, extent.high), (places.min(0), places.max(0)), rtol=1e-6)
    assert (extent.speed, extent.scale) == (7, 2)


@pytest.mark.parametrize("field", ["position", "velocity", "scale"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("row", [4, 63, 130])
def test_of_what_is_not_finite_nothing_is_known(field, value, row):
    records = bodies(*[(0, 0, 0)] * 131, velocity=(1, 2, 3))
    records[field].reshape(131, -1)[row, -1] = value
    assert extent_of(records) is None


def test_of_none_and_of_very_many_nothing_is_known():
    assert extent_of(new_bodies(0)) is None
    assert extent_of(new_bodies(MOST)) is not None
    assert extent_of(new_bodies(MOST + 1)) is None


def test_together_they_hold_each_and_one_that_is_not_known_spoils_all():
    one, other = extent_of(bodies((0, 0, 0), velocity=(3, 0, 0))), extent_of(bodies((1, -2, 3), scale=4))
    assert together([one, other]) == ((0, -2, 0), (1, 0, 3), 3, 4)
    assert together([one, None]) is None
    assert together([]) is None


@given(st.lists(st.tuples(*[st.floats(-14, 14)] * 3), min_size=1, max_size=4), st.floats(0.001, 3), st.floats(2, 128))
def test_what_is_said_to_fit_always_does(places, radius, largest_px):
    records = bodies(*places)
    if not fits(records, radius, largest_px=largest_px):
        return
    view, projection = CAMERA.view.astype(float), CAMERA.projection.astype(float)
    for place in records["position"]:
        eye = view[:3, :3] @ place + view[:3, 3]
        depth = -eye[2]
        assert radius * projection[1, 1] * SIZE_PX[1] / depth <= largest_px * 1.001
        for axis, side_px in enumerate(SIZE_PX):
            lens = projection[axis, axis]
            is_in_guard = abs(eye[axis]) * lens * side_px / (side_px + 2 * GUARD_PX) < depth
            is_seen = (abs(eye[axis]) - depth / lens) / math.hypot(1, 1 / lens) < radius
            assert is_in_guard or not is_seen


def test_what_is_near_large_or_behind_does_not_fit():
    eye = np.array(CAMERA.eye)
    assert fits(bodies((0, 0, 0)))
    assert not fits(bodies((0, 0, 0)), radius=1.0)
    assert not fits(bodies((0, 0, 0), 0.9 * eye))
    assert not fits(bodies((0, 0, 0), 1.1 * eye))
    assert not fits(bodies((0, 0, 0), scale=10.0))


def test_a_curve_may_come_nearer_than_its_ends():
    swift = bodies((0, 0, 0), velocity=np.array(CAMERA.eye) * 2)
    assert fits(swift)
    assert not fits(swift, gap_s=2.0)
