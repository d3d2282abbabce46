"""Redraws of the overlay's panels: when they happen; a copied sheet has the pixels of panels drawn directly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import moderngl
import numpy as np
import pytest

from tests.render.overlay.screen import FRAME_NS, SIZE_PX, TROUBLE_PX, Frames, state_of
from twixt.render.display.input import MouseButton, MouseMove, PointerLeft, Scroll
from twixt.render.draw.flat.overlay_sheet import Sheet
from twixt.render.input.keys import KEYS
from twixt.render.overlay.overlay import LATE_NS, LAYOUTS_AT_ONCE, LONG_LATE_NS, REDRAW_NS
from twixt.render.overlay.overlay_layer import OverlayFrame, OverlayLayer
from twixt.render.pacing.wait import REMEMBERED_COSTS

SECOND = 60  # frames
ON_A_PANEL, ON_NONE = MouseMove(100, 60, 0), MouseMove(400, 300, 0)
DOWN, UP = MouseButton("left", True, 0), MouseButton("left", False, 0)


@pytest.fixture(scope="module")
def context() -> moderngl.Context:
    return moderngl.create_standalone_context(require=330, backend="egl")


@pytest.fixture
def screen(context: moderngl.Context) -> Iterator[Frames]:
    screen = Frames(context)
    screen.frames(LAYOUTS_AT_ONCE + 1)
    yield screen
    screen.overlay.close()


def test_away_from_the_pointer_the_panels_are_drawn_ten_times_a_second(screen):
    assert 9 <= screen.frames(SECOND) <= 11
    screen.frame(ON_NONE)
    assert 9 <= screen.frames(SECOND) <= 11


def test_under_the_pointer_they_are_drawn_in_every_frame(screen):
    screen.frame(ON_A_PANEL)
    assert screen.frames(SECOND) == SECOND
    screen.frame(ON_NONE)
    assert 9 <= screen.frames(SECOND) <= 12


def test_while_a_slider_is_dragged_they_are_drawn_in_every_frame_wherever_the_pointer_is(screen):
    screen.play([MouseMove(*TROUBLE_PX, 0)], [DOWN], [UP], [], [])
    screen.play([MouseMove(700, 201, 0)], [], [DOWN], [])
    screen.frame(ON_NONE)
    assert screen.frames(SECOND) == SECOND
    screen.play([PointerLeft(0)])
    assert screen.frames(SECOND) == SECOND, "what is dragged goes on beyond the window"
    screen.play([UP], [], [])
    assert 9 <= screen.frames(SECOND) <= 12


def test_a_pointer_that_leaves_the_window_from_a_panel_points_at_nothing(screen):
    screen.frame(ON_A_PANEL)
    screen.frame(PointerLeft(0))
    assert 9 <= screen.frames(SECOND) <= 12
    screen.frames(SECOND)
    before = screen.pixels()
    at_a_key = MouseMove(90, 562, 0)
    screen.play([at_a_key], [], [])
    assert (screen.pixels() != before).any(), "a key under the pointer is lit"
    screen.play([PointerLeft(0)], [])
    np.testing.assert_array_equal(screen.pixels(), before)


def test_a_slider_let_go_while_the_panels_are_hidden_is_in_nobodys_hand(screen):
    link: Any = SimpleNamespace(status={}, received=SimpleNamespace(images=(), figures=(), plots=()))
    layer = OverlayLayer(None, "vsync", lambda: None)  # type: ignore[arg-type, return-value]
    layer.panels = screen.overlay
    hidden = OverlayFrame(link, SIZE_PX, 1.0, has_panels=False, is_starting=False, draw_time_ns=0)
    screen.play([MouseMove(*TROUBLE_PX, 0)], [DOWN], [UP], [], [])
    screen.play([MouseMove(700, 201, 0)], [], [DOWN], [])
    assert not layer.draw(hidden, [UP, ON_NONE]).is_drawn
    screen.play([], [], [], [])
    assert not screen.overlay.is_in_use
    screen.play([PointerLeft(0)])
    assert 9 <= screen.frames(SECOND) <= 12


@pytest.mark.parametrize("scale", [1.0, 1.25, 1.5, 2.0])
@pytest.mark.parametrize("size_px", [(800, 600), (1283, 797), (333, 241)])
def test_laid_over_they_look_as_if_drawn_straight(screen, size_px, scale):
    screen.resize(size_px)
    for said in ({}, {"messages": ("paused",), "note": "clock: auto", "split_labels": ("left", "right")}):
        screen.frames(4 + LAYOUTS_AT_ONCE, scale=scale, **said)
        laid = screen.pixels()
        screen.draw_straight()
        straight = screen.pixels()
        assert (straight != screen.behind).any()
        assert np.abs(laid - straight).max() <= 2


def test_beside_the_panels_not_a_pixel_changes(screen):
    screen.frames(SECOND)
    free = np.ones((SIZE_PX[1], SIZE_PX[0]), bool)
    for pane in screen.overlay._shown_panes:
        left, top = int(pane.left_px), int(pane.top_px)
        free[top : top + int(pane.height_px) + 1, left : left + int(pane.width_px) + 1] = False
    assert free.mean() > 0.7
    np.testing.assert_array_equal(screen.pixels()[free], screen.behind[free])


def test_nothing_is_left_of_a_panel_that_is_gone(screen):
    screen.frames(SECOND)
    before = screen.pixels()
    screen.frames(SECOND, messages=("a banner of some length that is in the way",))
    assert (screen.pixels() != before).any()
    screen.frames(SECOND)
    np.testing.assert_array_equal(screen.pixels(), before)


def test_another_size_is_drawn_at_once(screen):
    screen.frames(3)
    screen.resize((640, 700))
    assert screen.frames(1) == 1
    assert (screen.pixels()[:200, :270] != screen.behind[:200, :270]).any()
    assert screen.frames(LAYOUTS_AT_ONCE) >= 1
    assert 9 <= screen.frames(SECOND) <= 11


def test_another_scale_is_drawn_at_once(screen):
    screen.frames(3)
    assert screen.frames(1, scale=1.5) == 1
    assert screen.overlay._shown_panes[-1].top_px == 12.0


def test_what_has_just_changed_is_drawn_at_once(screen):
    screen.frames(2)
    screen.overlay.request_layout()
    assert screen.frames(1, note="clock: auto") == 1


def test_a_click_that_begins_and_ends_between_two_redraws_presses_its_key_once(screen):
    pressed = []
    for x_px in range(60, 380, 8):
        once = screen.play([MouseMove(x_px, 562, 0), DOWN, UP], *[[]] * 5)
        assert len(once) <= 1
        pressed += [] if once == pressed[-1:] else once
        screen.play([ON_NONE], [])
    in_the_upper_row = [key for key in KEYS if key in pressed]
    assert pressed == in_the_upper_row
    assert len(pressed) >= 4


def test_a_wheel_turned_between_two_redraws_is_not_lost(screen):
    many = {str(number): 1.0 for number in range(3)}
    screen.resize((500, 170))
    screen.play([MouseMove(350, 120, 0)], [DOWN], [UP], [], [])
    screen.frames(SECOND, diagnostics=many)
    name = [pane for pane in screen.overlay._shown_panes if pane.left_px > 200]
    assert name
    x_px, y_px = name[-1].left_px + 20, name[-1].top_px + 20
    screen.frame(MouseMove(x_px, y_px, 0), Scroll(0, -1, 0), diagnostics=many)
    assert screen.frames(3, diagnostics=many) == 3


def test_in_spare_time_a_redraw_is_a_layout_and_a_drawing_and_the_frame_only_lays_it_over(screen):
    screen.frames(SECOND)
    screen.now_ns += REDRAW_NS
    asked, shown = screen.asked, screen.pixels()
    assert screen.redraw_early(10**9, bodies=7_000_000)
    assert screen.asked == asked + 1, "laid out"
    screen.spare_ns = 0
    assert screen.frames(1) == 0
    np.testing.assert_array_equal(screen.pixels(), shown, "the frame lays over what is there")
    assert screen.redraw_early(10**9)
    assert not screen.redraw_early(10**9), "not so soon again"
    assert screen.frames(1) == 0
    laid = screen.pixels()
    assert (laid != shown).any()
    screen.draw_straight()
    assert np.abs(laid - screen.pixels()).max() <= 2


def test_a_step_that_does_not_fit_into_the_spare_time_is_not_begun(screen):
    screen.frames(SECOND)
    screen.now_ns += REDRAW_NS
    asked = screen.asked
    for cost in (screen.overlay._layout_cost, screen.overlay._drawing_cost):
        for _ in range(REMEMBERED_COSTS):
            cost.record(2_000_000)
        fits_ns = cost.expected_ns
        assert not screen.redraw_early(fits_ns - 10)
        assert screen.redraw_early(fits_ns + 10)
    assert screen.asked == asked + 1


@pytest.fixture
def drawings(monkeypatch):
    """One entry for each drawing of a sheet so far."""
    made, drawing = [], Sheet.drawing

    def noted(self, *how):
        made.append(how)
        return drawing(self, *how)

    monkeypatch.setattr(Sheet, "drawing", noted)
    return made


def test_without_spare_time_frames_redraw_late_and_in_steps(screen, drawings):
    screen.frames(SECOND)
    screen.spare_ns = 0
    drawn, asked = [], []
    for _ in range(2 * SECOND):
        screen.frame()
        drawn.append(len(drawings))
        asked.append(screen.asked)
    layouts, redrawn = (set(np.flatnonzero(np.diff(counts))) for counts in (asked, drawn))
    assert not layouts & redrawn, "one step a frame"
    assert {each + 1 for each in layouts} == redrawn
    frames = -(-(REDRAW_NS + LATE_NS) // FRAME_NS) + 1
    assert set(np.diff(sorted(layouts))) == {frames - 1}
    assert SECOND / frames >= 3, "figures change more than three times a second"


def test_a_frame_after_a_long_time_without_frames_shows_the_present_figures(screen, drawings):
    screen.frames(SECOND)
    screen.spare_ns = 0
    screen.now_ns += REDRAW_NS + LONG_LATE_NS
    before, shown = len(drawings), screen.pixels()
    assert screen.frames(1, bodies=7_000_000) == 1
    assert len(drawings) == before + 1
    assert (screen.pixels() != shown).any()


def test_what_the_frame_must_do_itself_is_not_done_early(screen):
    screen.frame(ON_A_PANEL)
    screen.now_ns += REDRAW_NS
    assert not screen.redraw_early(10**9), "the pointer may have moved on by then"


def test_the_framebuffer_in_use_stays_in_use_and_keeps_its_pixels(screen):
    before = screen.pixels()
    screen.now_ns += REDRAW_NS
    for _ in range(2):
        assert screen.redraw_early(10**9, bodies=7_000_000)
        assert screen.context.fbo.glo == screen.framebuffer.glo
        np.testing.assert_array_equal(screen.pixels(), before)


def test_once_ready_the_first_frame_only_lays_the_panels_over(context):
    screen = Frames(context)
    for _ in screen.overlay.prepare(state_of, SIZE_PX, 1.0):
        pass
    screen.now_ns = screen.overlay._laid_out_ns
    assert screen.frames(1) == 0
    laid = screen.pixels()
    screen.draw_straight()
    assert (laid != screen.behind).any()
    assert np.abs(laid - screen.pixels()).max() <= 2
    screen.overlay.close()


def test_only_the_librarys_native_module_is_loaded_and_the_rest_can_be_later():
    code = (
        "import sys, twixt.render.overlay.overlay, twixt.render.overlay.imgui_context\n"
        "assert not {'asyncio', 'imgui_bundle'} & set(sys.modules), 'more than needed'\n"
        "import imgui_bundle\n"
        "from twixt.render.overlay.imgui_context import imgui\n"
        "assert imgui_bundle.imgui is imgui\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
