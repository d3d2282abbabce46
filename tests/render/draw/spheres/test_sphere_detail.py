from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.draw.conftest import SIZE_PX, matrices
from twixt.ipc.scene import Box, Scene, Sphere
from twixt.ipc.snapshot import new_bodies
from twixt.render.draw.camera import OrbitCamera
from twixt.render.draw.frame.snapshot_ring import SAMPLED, sampled_rows
from twixt.render.draw.spheres.sphere_common import LARGEST_POINT_PX
from twixt.render.draw.spheres.sphere_detail import (
    FINEST,
    LARGER,
    PLAIN,
    Sizes,
    choose,
    possible,
    sampled_radii,
    sizes_in,
)

WIDTHS_PX = st.floats(0.01, 1e4)
COUNTS = st.integers(1, 10_000_000)


def alike(width_px, count):
    return Sizes(width_px, count * width_px**2)


def sizes_of(positions, shapes=(), camera=None):
    bodies = new_bodies(len(positions))
    bodies["position"] = positions
    sample = bodies[sampled_rows(len(bodies))]
    radii = sampled_radii(Scene(list(shapes)), len(bodies))
    return sizes_in(sample, radii, len(bodies), matrices(camera), SIZE_PX[1])


def test_a_sphere_in_the_middle_is_as_wide_as_its_projection():
    camera = OrbitCamera(distance_m=10)
    width_px = 0.5 * float(matrices(camera).projection[1, 1]) * SIZE_PX[1] / 10
    sizes = sizes_of([(0, 0, 0)], [Sphere(0.5)], camera)
    assert sizes.typical_px == pytest.approx(width_px)
    assert sizes.covered_px == pytest.approx(width_px**2)


def test_a_sample_stands_for_all():
    rng = np.random.default_rng(0)
    positions = rng.normal(0, 1, (50_000, 3))
    few, many = sizes_of(positions[: 2 * SAMPLED - 1]), sizes_of(positions)
    assert many.typical_px == pytest.approx(few.typical_px, rel=0.2)
    assert many.covered_px / 50_000 == pytest.approx(few.covered_px / (2 * SAMPLED - 1), rel=0.2)


@given(st.integers(0, 3_000_000))
def test_a_sample_is_always_small_and_of_bodies_that_are_there(count):
    rows = range(count)[sampled_rows(count)]
    assert len(rows) <= 2 * SAMPLED
    assert bool(rows) == (count > 0)


def test_what_is_behind_beside_or_no_sphere_has_no_size():
    eye = np.array(OrbitCamera(distance_m=10.0).eye)
    none = Sizes(math.inf, 0.0)
    assert sizes_of([2 * eye]) == sizes_of([(0, 1000, 0)]) == sizes_of([(0, 0, 0)], [Box()]) == none


def test_records_may_hold_anything():
    rng = np.random.default_rng(0)
    noise = np.frombuffer(rng.bytes(64 * 200), new_bodies(1).dtype)
    sizes = sizes_in(noise, np.full(200, 0.5, np.float32), 200, matrices(), SIZE_PX[1])
    assert isinstance(choose(sizes, 200, True).name, str)


@given(WIDTHS_PX | st.just(math.inf), COUNTS)
def test_a_program_always_draws_spheres_of_the_size_it_is_chosen_for(width_px, count):
    detail = choose(alike(width_px, count), count, True)
    assert min(width_px, LARGEST_POINT_PX) <= detail.largest_px <= LARGEST_POINT_PX
    assert detail.name in possible(count, True)


@given(WIDTHS_PX, COUNTS)
def test_a_graphics_card_always_draws_the_finest(width_px, count):
    assert choose(alike(width_px, count), count, False) == FINEST
    assert possible(count, False) == {FINEST.name}


@given(WIDTHS_PX, st.floats(1.0, 1.07), COUNTS)
def test_sizes_that_tremble_never_make_the_choice_tremble(width_px, change, count):
    detail, chosen = None, []
    for number in range(10):
        detail = choose(alike(width_px * (change if number % 2 else 1.0), count), count, True, detail)
        chosen.append(detail)
    assert len(set(chosen[3:])) == 1


def test_few_large_spheres_are_fine_and_many_small_ones_plain():
    assert choose(Sizes(30.0, 300 * 30.0**2), 300, True) == FINEST
    names = [choose(Sizes(px, 1e7), 100_000, True).name for px in (2, 6, 12, 20, 30)]
    assert names == [name for name, _ in PLAIN]
    assert all(choose(Sizes(px, 1e7), 100_000, True).largest_px >= LARGER * px * 0.99 for px in (2, 6, 12, 20))


def test_fewer_spheres_keep_their_depth_where_many_have_none():
    assert [choose(Sizes(12.0, 1e7), count, True).name for count in (1000, 10_000)] == ["lod 3", "lod 2"]
    assert choose(Sizes(8.0, 1e7), 1000, True) == ("lod 2", LARGER * 9.0)
