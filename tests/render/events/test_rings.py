"""Where and when rings begin, how they age, and how many there are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.events.seen import records
from tests.render.scene.staged import MS
from twixt.ipc.ring.events import EventBatch
from twixt.render.events.event_queue import EventQueue
from twixt.render.events.rings import MOST_PX, MOST_RINGS, RING_NS, FrameTime, PictureRings, ring_radius_px
from twixt.render.interpolation.poses import no_poses


def rings_of(*batches: np.ndarray) -> PictureRings:
    queue, first = EventQueue(0), 1
    for batch in batches:
        queue.add(EventBatch(first, batch))
        first += len(batch)
    return PictureRings(queue)


def no_bodies(rows: np.ndarray):
    raise AssertionError(f"poses of {rows} are not needed")


def at(draw_ms: float, present_ms: float | None = None, epoch: int = 0, rate: float = 1.0) -> FrameTime:
    return FrameTime(round(draw_ms * MS), epoch, round((draw_ms if present_ms is None else present_ms) * MS), rate)


def test_a_ring_begins_in_the_frame_that_reaches_the_instant_and_not_before():
    rings = rings_of(records([100], position=(1, 2, 3)))
    for draw_ms, count in ((99.999, 0), (100, 1), (116, 1)):
        rings.advance(at(draw_ms), no_bodies)
        assert len(rings) == count
    assert rings.rows(116 * MS).positions.tolist() == [[1, 2, 3]]


def test_a_ring_grows_and_fades_by_display_time_also_in_a_pause():
    rings = rings_of(records([100], position=(0, 0, 0), strength=3))
    rings.advance(at(100, 5000), no_bodies)
    sizes, alphas = [], []
    for present_ms in range(5000, 5400, 16):
        rings.advance(at(100, present_ms, rate=0.0), no_bodies)
        rows = rings.rows(present_ms * MS)
        sizes += rows.radii_px.tolist()
        alphas += rows.alphas.tolist()
    assert len(sizes) == 25
    assert (np.diff(sizes) > 0).all()
    assert (np.diff(alphas) < 0).all()
    assert alphas[0] == 1.0
    assert alphas[-1] < 0.1
    rings.advance(at(100, 5000 + RING_NS / MS, rate=0.0), no_bodies)
    assert len(rings) == 0


def test_size_grows_with_strength_on_a_scale_of_logarithms_up_to_a_limit():
    sizes = ring_radius_px(np.array([0, 1, 3, 7, 1e30, np.inf], np.float32))
    assert sizes.tolist() == [8, 16, 24, 32, MOST_PX, MOST_PX]


def test_size_follows_the_content_scale():
    rings = rings_of(records([100], position=(0, 0, 0)))
    rings.advance(at(100), no_bodies)
    assert rings.rows(100 * MS, 2.0).radii_px == pytest.approx(2 * rings.rows(100 * MS).radii_px)


def test_events_without_place_and_body_get_no_ring():
    rings = rings_of(records([100, 101]))
    rings.advance(at(200), no_bodies)
    assert len(rings) == 0


def test_bodies_that_are_gone_get_no_ring():
    rings = rings_of(records([100], body=7))
    rings.advance(at(200), lambda rows: no_poses())
    assert len(rings) == 0


def test_places_that_are_not_finite_get_no_ring():
    rings = rings_of(records([100, 100], position=[(np.inf, 0, 0), (0, 0, 1)]))
    rings.advance(at(200), no_bodies)
    assert rings.rows(200 * MS).positions.tolist() == [[0, 0, 1]]


def test_a_reset_removes_rings_and_those_that_were_to_come():
    rings = rings_of(records([100, 300], position=(0, 0, 0)), records([50], position=(0, 0, 5), world_epoch=1))
    rings.advance(at(150), no_bodies)
    rings.advance(at(20, 160, epoch=1), no_bodies)
    assert len(rings) == 0
    rings.advance(at(60, 200, epoch=1), no_bodies)
    assert rings.rows(200 * MS).positions.tolist() == [[0, 0, 5]]


def test_of_too_many_events_in_a_frame_the_strongest_get_rings():
    count = 10_000
    strength = np.random.default_rng(0).permutation(count)
    position = np.stack((strength, strength, strength), axis=1)
    rings = rings_of(records([100] * count, position=position, strength=strength))
    rings.advance(at(100), no_bodies)
    kept = np.sort(rings.rows(100 * MS).positions[:, 0])
    assert np.array_equal(kept, np.arange(count - MOST_RINGS, count))


def test_new_rings_take_the_place_of_the_oldest():
    rings = rings_of(
        records([100] * MOST_RINGS, position=(1, 0, 0)), records([110] * (MOST_RINGS // 2), position=(2, 0, 0))
    )
    rings.advance(at(100), no_bodies)
    rings.advance(at(110), no_bodies)
    assert len(rings) == MOST_RINGS
    assert (rings.rows(110 * MS).positions[:, 0] == 2).sum() == MOST_RINGS // 2


@pytest.mark.parametrize(("rate", "count"), [(1.0, 1), (10.0, 2), (0.0, 2)])
def test_events_that_were_passed_long_ago_get_no_ring(rate: float, count: int):
    rings = rings_of(records([0, 4900], position=(0, 0, 0)))
    rings.advance(at(5000, rate=rate), no_bodies)
    assert len(rings) == count
