"""Rings in pictures, by their pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.render.events.seen import Seen, records
from tests.render.scene.staged import MS, ONE, SIZE_PX, START_NS, along_x
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.ipc.snapshot import VISIBLE, new_bodies
from twixt.render.events.rings import MOST_RINGS

METHODS = ["linear", "none", "hermite", "latest", "catmull", "chase", "extrapolate", "kalman"]


def still(k: int) -> np.ndarray:
    return new_bodies(1)


def changed(show: Seen, at_ms: float, without: np.ndarray) -> np.ndarray:
    """Mask of the pixels that differ, (h, w)."""
    return np.abs(show.pixels(at_ms).astype(int) - without).max(axis=2) > 12


def middle(mask: np.ndarray) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    return (columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2


@pytest.mark.parametrize(
    "scene", [ONE, replace(ONE, background=(1, 1, 1)), replace(ONE, look="flat"), Scene([Sphere(0.5)])]
)
def test_a_ring_is_seen_at_the_place_in_one_frame_and_fades_without_a_trace(window, scene):
    show = Seen(window, scene, still)
    show.emit(300, position=(0.2, 0.0, 0.2), strength=3)
    before = show.pixels(0).astype(int)
    assert not changed(show, 290, before).any()
    ring = changed(show, 300, before)
    assert ring.sum() > 60
    height_px = ring.any(axis=1).sum()
    assert 24 <= height_px <= 34  # half of the final size in the first frame, with the dark line
    assert changed(show, 500, before).any(axis=1).sum() > height_px
    assert show.stage.moves_by_itself
    assert not changed(show, 701, before).any()
    assert not show.stage.moves_by_itself


def test_a_ring_lies_over_its_place_at_every_scale_and_camera(window):
    for factor in (1e-3, 1.0, 1e7):
        for height in (None, 8 * factor):
            camera = Camera((0, -10 * factor, 0), (0, 0, 0), orthographic_height=height)
            show = Seen(window, replace(ONE, shapes=[Sphere(0.01 * factor)], camera=camera), still)
            show.emit(300, position=(factor, 0, factor), strength=3)
            before = show.pixels(0).astype(int)
            ring = changed(show, 300, before)
            px = (240 / 2 / np.tan(np.radians(camera.fov_y_deg) / 2) / 10) if height is None else 240 / 8
            assert middle(ring) == pytest.approx((159.5 + px, 119.5 - px), abs=1.0)
            assert 24 <= ring.any(axis=1).sum() <= 34


def test_bodies_do_not_hide_rings(window):
    """A ring around a point of contact would otherwise be half inside the floor."""
    show = Seen(window, ONE, still)
    show.emit(300, position=(0, 2, 0), strength=0)  # behind the ball, and smaller than it
    before = show.pixels(0).astype(int)
    ring = changed(show, 400, before)
    assert ring.sum() > 40
    assert middle(ring) == pytest.approx((159.5, 119.5), abs=1)


def test_places_behind_the_camera_get_no_ring(window):
    show = Seen(window, ONE, still)
    show.emit(300, position=(0, -20, 0))
    before = show.pixels(0).astype(int)
    assert not changed(show, 300, before).any()


@pytest.mark.parametrize("method", METHODS)
def test_an_event_without_a_position_is_where_its_body_is_drawn(window, method):
    """Two bodies: a ring is around the second one, wherever this method draws it."""
    scene = replace(ONE, shapes=[Sphere(0.1)] * 2)
    show = Seen(window, scene, along_x(2, speed=0.2, velocity=True), interpolation=method)
    plain = Seen(window, scene, along_x(2, speed=0.2, velocity=True), interpolation=method, has_rings=False)
    show.emit(750, body=1, strength=3)
    for at_ms in range(0, 1000, 10):
        with_ring, without = show.pixels(at_ms).astype(int), plain.pixels(at_ms).astype(int)
        if show.rings["main"]:
            break
    ring, body = np.abs(with_ring - without).max(axis=2) > 12, without.max(axis=2) > 127
    body[100:] = False  # the second body is one metre above the first
    assert middle(ring) == pytest.approx(middle(body), abs=1.5)
    assert show.stage.needs_copies


def test_a_ring_stays_where_it_began_while_its_body_moves_on(window):
    show = Seen(window, replace(ONE, shapes=[Sphere(0.1)]), along_x(speed=0.5))
    show.emit(300, body=0)
    show.draw(310)
    (first,) = show.stage.shown_events._rings["main"].rows(0).positions
    show.draw(500)
    (later,) = show.stage.shown_events._rings["main"].rows(0).positions
    assert first == pytest.approx([1.55, 0, 0], abs=1e-6)
    assert np.array_equal(first, later)


def test_a_body_that_is_hidden_gets_no_ring(window):
    def hidden(k: int) -> np.ndarray:
        bodies = new_bodies(2)
        bodies["flags"][1] = bodies["flags"][1] & ~np.uint16(VISIBLE)
        return bodies

    show = Seen(window, replace(ONE, shapes=[Sphere(0.1)] * 2), hidden)
    show.emit(300, 300, 300, body=[0, 1, 7])
    show.draw(310)
    assert show.rings == {"main": 1}


def test_copies_of_snapshots_are_needed_only_for_a_while(window):
    show = Seen(window, ONE, still)
    show.emit(300, body=0)
    show.draw(290)
    assert not show.stage.needs_copies
    show.draw(310)
    assert show.stage.needs_copies
    for at_ms in range(400, 1500, 100):
        show.draw(at_ms)
    assert not show.stage.needs_copies
    assert not show.stage.history.copies


def test_each_half_shows_rings_when_its_own_draw_time_reaches_them(window):
    show = Seen(window, ONE, still, split=(("none", "newest-two"), ("", "")))
    show.emit(300, position=(0, 0, 2))
    show.draw(100)
    show.choose(split=True)
    seen = {}
    for at_ms in range(110, 900, 10):
        show.draw(at_ms)
        for name, count in show.rings.items():
            if count:
                seen.setdefault(name, at_ms)
    assert seen.keys() == {"main", "left"}
    assert seen["main"] == 300
    assert seen["left"] != 300
    show.choose(split=False)
    show.draw(910)
    assert show.rings.keys() == {"main"}
    show.emit(920, position=(0, 0, 2))
    show.draw(930)
    assert show.rings == {"main": 1}
    show.choose(split=True)
    show.emit(940, position=(0, 0, 2))
    show.draw(1200)
    assert show.rings == {"left": 2, "main": 2}


def test_a_late_viewer_shows_no_rings_of_the_past(window):
    show = Seen(window, ONE, still, before_attach=records([100, 400, 600], position=(0, 0, 2)))
    show.draw(500)
    assert show.rings == {"main": 0}
    show.draw(610)
    assert show.rings == {"main": 1}


def test_a_reset_removes_the_rings(window):
    show = Seen(window, ONE, still)
    show.emit(300, 500, position=(0, 0, 2))
    show.draw(310)
    assert show.rings == {"main": 1}
    show.reset(320)
    show.draw(330)
    assert show.rings == {"main": 0}
    show.draw(900)
    assert show.rings == {"main": 0}


def test_without_rings_pictures_are_those_without_events(window):
    show, plain = Seen(window, ONE, still, has_rings=False), Seen(window, ONE, still)
    show.emit(300, position=(0, 0, 2))
    assert np.array_equal(show.pixels(310), plain.pixels(310))
    assert not show.stage.moves_by_itself


def test_thousands_of_events_make_a_bounded_number_of_rings(window):
    show = Seen(window, ONE, still)
    show.draw(290)
    show.emit(*[300] * 10_000, body=0)
    show.draw(310)
    assert show.rings == {"main": MOST_RINGS}


def test_where_only_changed_areas_are_drawn_anew_rings_leave_no_trace(window):
    """The frames say, as the viewer's do, that nothing else was drawn over the picture."""
    scene = Scene([Sphere(0.1)], camera=Camera((0, -10, 3), (0, 0, 1)))
    show = Seen(window, scene, along_x(speed=0.1))
    plain = Seen(window, scene, along_x(speed=0.1), has_rings=False)

    def frame(each: Seen, at_ms: float) -> np.ndarray:
        each.draw(at_ms)
        each.stage.renderer.mark_covered(())
        each.stage.renderer.finish()
        return each.stage.renderer.read_pixels()

    expected = [frame(plain, at_ms) for at_ms in range(0, 2400, 16)]
    show.emit(1200, position=(-1.0, 0.0, 2.0), strength=15)
    show.emit(1300, body=0, strength=15)
    differ = [bool((frame(show, at_ms) != expected[number]).any()) for number, at_ms in enumerate(range(0, 2400, 16))]
    begun = 1200 // 16
    assert not any(differ[:begun])
    assert all(differ[begun : (1300 + 400) // 16])
    assert not any(differ[1720 // 16 :])


def test_a_ring_stays_within_its_half(window):
    show = Seen(window, ONE, still, split=(("linear", ""), ("", "")))
    show.draw(100)
    show.choose(split=True)
    before = show.pixels(200).astype(int)
    show.emit(300, position=(0, 0, 0), strength=1e9)
    ring = changed(show, 310, before)
    assert ring[:, :159].any()
    assert ring[:, 161:].any()
    assert not ring[:, 159:161].any()


def test_sizes_follow_the_content_scale(window):
    heights = []
    for scale in (1.0, 2.0):
        show = Seen(window, ONE, still)
        show.stage.shown_events._content_scale = lambda scale=scale: scale
        show.emit(300, position=(0, 0, 2), strength=3)
        heights.append(changed(show, 300, show.pixels(0).astype(int)).any(axis=1).sum())
    assert heights[1] == pytest.approx(2 * heights[0], abs=2)


def test_panels_know_of_events_only_if_there_was_one(window):
    show = Seen(window, ONE, still)
    show.writer.add_names(["hit", "slip"])
    show.draw(100)
    assert show.stage.shown_events.facts is None
    show.emit(150, 160, 170, name=[1, 2, 2])
    show.draw(200)
    facts = show.stage.shown_events.facts
    assert facts is not None
    assert list(facts.rates.items()) == [("slip", 2), ("hit", 1)]
    assert facts.lost == 0
    show.draw(1300)
    facts = show.stage.shown_events.facts
    assert facts is not None
    assert facts.rates == {}


def test_while_panels_show_counts_frames_go_on_until_they_are_zero(window):
    show = Seen(window, ONE, still)
    show.emit(300)

    def moves(at_ms: int, has_panels: bool) -> bool:
        show.stage.events.receive()
        show.stage.draw(START_NS + at_ms * MS, SIZE_PX, has_panels=has_panels)
        return show.stage.moves_by_itself

    show.draw(290)
    assert moves(310, has_panels=True)
    assert not moves(400, has_panels=False)
    assert moves(1300, has_panels=True)
    assert not moves(1311, has_panels=True)
