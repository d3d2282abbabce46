"""The section of events on the panel of the physics process, and the ticks on the strip."""

from __future__ import annotations

import moderngl
import numpy as np
import pytest

from tests.render.overlay.screen import FRAMES_PER_LAYOUT, Frames
from twixt.render.display.input import MouseButton, MouseMove, PointerLeft
from twixt.render.events.event_counts import EventFacts
from twixt.render.overlay.overlay import LAYOUTS_AT_ONCE
from twixt.render.overlay.panel_state import REMEMBERED, PlotHistory

FACTS = EventFacts({"hit": 40, "slip": 3})
NAMES = EventFacts({f"name {number}": 9 - number for number in range(8)} | {"all other names": 1}, lost=12)
EVENTS_PX = (570, 136)  # position of the section's line, with two diagnostics
RIGHT = slice(528, 792)


@pytest.fixture(scope="module")
def context():
    return moderngl.create_standalone_context(require=330, backend="egl")


@pytest.fixture
def frames(context):
    made = Frames(context)
    yield made
    made.overlay.close()


def settled(screen: Frames, scale: float = 1.0, **changed) -> np.ndarray:
    for _ in range(2 * FRAMES_PER_LAYOUT + LAYOUTS_AT_ONCE):
        screen.frame(scale=scale, **changed)
    return screen.pixels()


def lines(before: np.ndarray, after: np.ndarray) -> int:
    """Number of pixel rows of the right panel that differ."""
    return int((before != after)[:540, RIGHT].any(axis=(1, 2)).sum())


def test_without_events_there_is_no_section_and_with_events_it_is_folded(frames):
    plain = settled(frames)
    folded = settled(frames, events=FACTS)
    assert 10 < lines(plain, folded) < 50
    assert np.array_equal(settled(frames), plain)


def open_section(frames: Frames, at_px: tuple[int, int] = EVENTS_PX, scale: float = 1.0, **changed) -> np.ndarray:
    settled(frames, scale, **changed)
    for event in (MouseMove(*at_px, 0), MouseButton("left", True, 0), MouseButton("left", False, 0), PointerLeft(0)):
        frames.frame(event, scale=scale, **changed)
    return settled(frames, scale, **changed)


def test_a_click_shows_the_names_with_the_events_a_second(frames):
    folded = settled(frames, events=FACTS)
    two = open_section(frames, events=FACTS)
    assert lines(folded, two) > 20
    assert lines(two, settled(frames, events=EventFacts({"hit": 41, "slip": 3}))) in range(5, 20)
    height = panel_height(frames)
    settled(frames, events=NAMES)
    assert panel_height(frames) == pytest.approx(height + 8 * 17, abs=8)  # seven names more, and the lost ones


def panel_height(frames: Frames) -> float:
    return max(pane.height_px for pane in frames.overlay._shown_panes if pane.left_px > 400 and pane.top_px < 100)


def test_events_that_are_lost_or_dropped_are_named_while_folded(frames):
    def warm(pixels: np.ndarray) -> int:
        """Pixels in the colour of a warning."""
        red, green, blue = np.moveaxis(pixels[128:146, RIGHT], 2, 0)
        return int(((red > 150) & (red > blue + 60) & (green > blue)).sum())

    before = warm(settled(frames, events=FACTS))
    lost = warm(settled(frames, events=NAMES))
    both = warm(settled(frames, events=NAMES, events_dropped=5))
    assert before + 50 < lost < both


@pytest.mark.parametrize(("size_px", "scale"), [((320, 240), 1.0), ((640, 480), 2.0), ((1600, 1200), 2.0)])
def test_all_fits_a_small_window_and_a_high_resolution_display(frames, size_px, scale):
    frames.resize(size_px)
    frames.overlay._opened.add("events")
    settled(frames, scale, events=NAMES)
    width_px, height_px = size_px
    panes = frames.overlay._shown_panes
    assert len(panes) >= 3
    for pane in panes:
        assert pane.left_px >= 0
        assert pane.top_px >= 0
        assert pane.left_px + pane.width_px <= width_px
        assert pane.top_px + pane.height_px <= height_px


def test_the_strip_has_a_tick_for_each_frame_with_events(frames):
    def ticks(every: int) -> int:
        shown = PlotHistory()
        for number in range(REMEMBERED):
            shown.add(16.7, "interpolated", every > 0 and number % every == 0)
        rows = settled(frames, frames=shown)[96:106, 16:264]
        white = (rows.min(axis=2) > 150).any(axis=0).astype(int)
        return int((np.diff(white, prepend=0) == 1).sum())

    assert ticks(0) == 0
    assert ticks(24) == 10
    assert ticks(12) == 20
