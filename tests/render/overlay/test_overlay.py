from __future__ import annotations

import subprocess
import sys

import moderngl
import numpy as np
import pytest

from tests.render.overlay.screen import FRAME_NS, FRAMES_PER_LAYOUT, SIZE_PX, SMOOTH_PX, TROUBLE_PX, plot, state_of
from twixt.render.display.input import MouseButton, MouseMove
from twixt.render.input.keys import KEYS
from twixt.render.input.sliders import Knob, SliderRange
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.overlay.imgui_context import LabelOverlay
from twixt.render.overlay.overlay import LAYOUTS_AT_ONCE, Overlay
from twixt.render.overlay.panel_state import MODES, REMEMBERED, DrawnAge, OverlayState, PanelFigures, PlotHistory
from twixt.render.overlay.plot_panel import open_at_start
from twixt.render.scene.labels import PlacedLabel

TROUBLES = {"slow_physics": (20.0, 120.0), "stall": (500.0, 5.0), "drop": (5.0,), "delay": (80.0, 20.0)}


def test_the_latency_shown_is_the_age_of_what_is_drawn_not_of_what_the_clock_asked_for() -> None:
    ages = DrawnAge()
    assert ages.mean_ms is None
    for frame in range(12):  # ten frames a second of states that are a tenth of a second apart
        ages.add(FrameRow(present_ns=10**9 + frame * 10**7, draw_due_ns=10**9, offset_ns=0, clock_mode="ahead"))
    assert ages.mean_ms == pytest.approx(55)
    ages.add(FrameRow(present_ns=10**10, draw_due_ns=10**9, clock_mode="paused"))
    assert ages.mean_ms == pytest.approx(55), "a pause adds no latency"


def test_a_pause_is_no_frame_interval() -> None:
    figures = PanelFigures("auto")
    for frame in range(1, 31):
        paused_ns = 8 * 10**9 if frame > 20 else 0
        row = FrameRow(present_ns=frame * 16_700_000 + paused_ns, rested_ns=paused_ns if frame == 21 else 0)
        figures.add(row, None)
    assert figures.frames.mean_ms() == pytest.approx(16.7)


class Screen:
    def __init__(self, context: moderngl.Context) -> None:
        self.context = context
        self.framebuffer = context.framebuffer([context.renderbuffer(SIZE_PX, 4)])
        self.framebuffer.use()
        self.now_ns = 10**15  # of a clock that only frames move
        self.overlay = Overlay(lambda: self.now_ns)
        self.asked = 0
        self.turned = []
        self.all_off = False

    def show(self, frames=LAYOUTS_AT_ONCE, events=(), scale=1.0, frames_shown=None, **changed):
        state = state_of(**changed, **({} if frames_shown is None else {"frames": frames_shown}))

        def ask():
            self.asked += 1
            return state

        pressed = []
        for _ in range(frames):
            self.framebuffer.clear()
            self.now_ns += FRAME_NS
            while self.overlay.redraw_early(ask, SIZE_PX, scale, self.now_ns + 10**9):
                pass
            used = self.overlay.draw(ask, events, SIZE_PX, scale)
            pressed += used.pressed
            self.turned += used.turned
            self.all_off |= used.all_off
            events = ()
        return pressed

    def pixels(self):
        raw = self.framebuffer.read(components=3)
        return np.flipud(np.frombuffer(raw, np.uint8).reshape(SIZE_PX[1], SIZE_PX[0], 3))

    def click(self, x_px, y_px, **changed):
        pressed = self.show(events=[MouseMove(x_px, y_px, 0)], **changed)
        pressed += self.show(events=[MouseButton("left", True, 0)], **changed)
        return pressed + self.show(events=[MouseButton("left", False, 0)], **changed)

    def drag(self, from_px, to_px, **changed):
        self.show(events=[MouseMove(*from_px, 0)], **changed)
        self.show(events=[MouseButton("left", True, 0)], **changed)
        self.show(events=[MouseMove(*to_px, 0)], frames=1, **changed)
        self.show(events=[MouseButton("left", False, 0)], **changed)

    def height_px(self, left, right):
        """How far down anything is drawn in these columns, above the keys."""
        drawn = self.pixels()[:540, left:right].max(axis=(1, 2))
        return int(np.flatnonzero(drawn).max(initial=0))


@pytest.fixture(scope="module")
def shared():
    screen = Screen(moderngl.create_standalone_context(require=330, backend="egl"))
    yield screen
    screen.overlay.close()


@pytest.fixture
def fresh(shared):
    """An overlay of this test's own: what it unfolds stays unfolded."""
    screen = Screen(shared.context)
    screen.show(frames=FRAMES_PER_LAYOUT)
    yield screen
    screen.overlay.close()
    shared.framebuffer.use()


@pytest.fixture
def screen(shared):
    shared.show(events=[MouseMove(400, 300, 0), MouseButton("left", False, 0)])
    shared.asked = 0
    return shared


def test_words_and_plots_are_drawn_and_the_middle_of_the_picture_stays_free(screen):
    screen.show(messages=("paused",))
    pixels = screen.pixels()
    assert (pixels[:200, :270].max(axis=2) > 200).sum() > 100
    assert (pixels[:150, 530:].max(axis=2) > 200).sum() > 100
    assert (pixels[540:].max(axis=2) > 100).sum() > 300
    assert pixels[200:420].max() == 0
    assert pixels[:, 280:520][:420].max() == 0


def test_the_strip_shows_each_mode_in_its_own_colour(screen):
    def strip_colors(*modes):
        frames = PlotHistory()
        for mode in modes:
            for _ in range(REMEMBERED // len(modes)):
                frames.add(16.7, mode)
        screen.show(frames=FRAMES_PER_LAYOUT * 2)
        screen.show(frames=FRAMES_PER_LAYOUT * 2, frames_shown=frames)
        return {tuple(color) for color in screen.pixels()[96:102, 24:258].reshape(-1, 3)}

    alone = [strip_colors(mode) for mode in MODES[:3]]
    assert [len(colors) for colors in alone] == [1, 1, 1]
    assert len(set.union(*alone)) == 3
    assert set.union(*alone) <= strip_colors(*MODES[:3])


def test_the_state_is_asked_for_once_in_several_frames_and_the_picture_stays(screen):
    screen.show(frames=FRAMES_PER_LAYOUT * 4)
    asked = screen.asked
    assert 4 <= asked <= 6
    before = screen.pixels().copy()
    screen.show(frames=1)
    np.testing.assert_array_equal(screen.pixels(), before)


def test_a_click_on_a_key_presses_it(screen):
    pressed = {key for x in range(40, 760, 9) for y in (562, 579) for key in screen.click(x, y)}
    assert pressed == set(KEYS)


def test_the_camera_may_have_the_mouse_where_no_panel_lies(screen):
    screen.show(frames=FRAMES_PER_LAYOUT * 2, messages=("paused",))
    for x_px, y_px in ((10, 10), (200, 190), (780, 20), (400, 580), (400, 470)):
        assert screen.overlay.covers(x_px, y_px), (x_px, y_px)
    for x_px, y_px in ((400, 300), (2, 2), (400, 20), (100, 300), (790, 300), (20, 580), (-5, 50), (900, 50)):
        assert not screen.overlay.covers(x_px, y_px), (x_px, y_px)


def test_what_is_folded_unfolds_by_a_click_and_covers_nothing_before(fresh):
    assert fresh.height_px(0, 272) < 200
    assert fresh.height_px(528, 800) < 200
    fresh.click(*SMOOTH_PX)
    assert 260 < fresh.height_px(0, 272) < 400
    fresh.click(*TROUBLE_PX)
    assert 220 < fresh.height_px(528, 800) < 400
    assert fresh.overlay.covers(600, 200)
    assert fresh.pixels()[:, 280:520][:420].max() == 0
    fresh.click(*SMOOTH_PX)
    fresh.click(*TROUBLE_PX)
    fresh.show(frames=FRAMES_PER_LAYOUT)
    assert fresh.height_px(0, 272) < 200
    assert fresh.height_px(528, 800) < 200


def test_unfolded_panels_never_lie_over_one_another(fresh):
    everything = {
        "troubles": TROUBLES, "buffer_ms": 100.0, "thinned": 7, "group_ages_ms": {"arms": 80.0, "legs": 0.0},
        "messages": ("paused",), "split_labels": ("extrapolate, clock newest-two", "quadratic, clock buffered"),
    }  # fmt: skip
    fresh.click(*SMOOTH_PX, **everything)
    fresh.click(*TROUBLE_PX, **everything)
    fresh.show(frames=FRAMES_PER_LAYOUT * 2, **everything)
    count = np.zeros((600, 800), int)
    for x_px in range(0, 800, 4):
        for y_px in range(0, 600, 4):
            covering = [
                pane for pane in fresh.overlay._shown_panes
                if 0 <= x_px - pane.left_px < pane.width_px and 0 <= y_px - pane.top_px < pane.height_px
            ]  # fmt: skip
            count[y_px, x_px] = len(covering)
    assert count.max() == 1
    assert (count > 0).any()


@pytest.mark.parametrize(
    ("y_px", "to_px", "knob", "figure"),
    [
        (155, 690, "slow_physics", 0),
        (155, 780, "slow_physics", 1),
        (178, 690, "stall", 0),
        (178, 780, "stall", 1),
        (201, 780, "drop", 0),
        (224, 690, "delay", 0),
        (224, 780, "delay", 1),
    ],
)
def test_a_slider_that_is_dragged_says_so_while_it_moves_and_when_it_is_let_go(fresh, y_px, to_px, knob, figure):
    fresh.click(*TROUBLE_PX)
    fresh.show(frames=FRAMES_PER_LAYOUT)
    fresh.turned.clear()
    fresh.drag((to_px - 60, y_px), (to_px, y_px))
    assert {(turn.knob, turn.figure) for turn in fresh.turned} == {(knob, figure)}
    assert [turn.released for turn in fresh.turned][-1:] == [True]
    assert len(fresh.turned) >= 2
    moved = [turn.value for turn in fresh.turned if not turn.released]
    assert max(moved) > 0


def test_trouble_that_is_on_is_named_while_folded_and_ends_by_one_click(fresh):
    def warm():
        """Pixels in the colour of a warning."""
        red, green, blue = np.moveaxis(fresh.pixels()[128:146, 528:792].astype(int), 2, 0)
        return int(((red > 150) & (red > blue + 60) & (green > blue)).sum())

    fresh.show(frames=FRAMES_PER_LAYOUT * 2)
    assert warm() == 0
    fresh.show(frames=FRAMES_PER_LAYOUT * 2, troubles=TROUBLES)
    assert warm() > 50
    fresh.click(*TROUBLE_PX, troubles=TROUBLES)
    fresh.click(560, 245, troubles=TROUBLES)
    assert fresh.all_off
    assert fresh.turned == []


def test_physics_without_knobs_has_none(fresh):
    fresh.show(frames=FRAMES_PER_LAYOUT * 2)
    with_knobs = fresh.height_px(528, 800)
    fresh.show(frames=FRAMES_PER_LAYOUT * 2, troubles={})
    assert fresh.height_px(528, 800) < with_knobs


def test_each_half_carries_its_label_at_its_own_side_of_the_middle(screen):
    screen.show(frames=FRAMES_PER_LAYOUT * 2)
    plain = screen.pixels().copy()
    screen.show(frames=FRAMES_PER_LAYOUT * 2, split_labels=("none", ""))
    left = (screen.pixels() != plain).any(axis=(0, 2))
    assert left[280:400].sum() > 20
    assert not left[425:].any()
    screen.show(frames=FRAMES_PER_LAYOUT * 2, split_labels=("", "auto, clock newest-two"))
    right = (screen.pixels() != plain).any(axis=(0, 2))
    assert right[400:520].sum() > 20
    assert not right[:375].any()


def test_words_stand_beside_their_place_and_go_with_them(screen):
    words = LabelOverlay()

    def seen(*labels, scale=1.0):
        screen.framebuffer.clear()
        words.draw(labels, SIZE_PX, scale)
        rows, columns = np.nonzero(screen.pixels().max(axis=2))
        return (columns.min(), rows.min(), columns.max(), rows.max()) if len(rows) else None

    red = (255, 0, 0, 255)
    left, top, right, bottom = seen(PlacedLabel(100, 200, "fastest 5.0 m/s", red))
    assert 100 <= left < 115
    assert right < 240
    assert top < 200 < bottom
    assert (screen.pixels()[:, :, 0] > 200).any()
    assert (screen.pixels()[:, :, 1] == 0).all()
    moved = seen(PlacedLabel(300, 250, "fastest 5.0 m/s", red))
    np.testing.assert_allclose(moved, (left + 200, top + 50, right + 200, bottom + 50), atol=1)
    large = seen(PlacedLabel(100, 200, "fastest 5.0 m/s", red), scale=2.0)
    assert large[2] - large[0] > 1.7 * (right - left)
    clipped = seen(PlacedLabel(100, 200, "fastest 5.0 m/s", red, (0, 0, 150, 600)))
    assert clipped[2] <= 150, "words of one half stay in it"
    assert seen() is None
    words.close()
    screen.show()
    assert screen.pixels().max() > 200, "the overlay has a context of its own"


def test_everything_is_larger_on_a_high_resolution_display(screen):
    ordinary = np.array(panes_of(screen, (400, 300), 1.0))
    np.testing.assert_allclose(panes_of(screen, (800, 600), 2.0), 2 * ordinary, atol=4)


def panes_of(screen, size_px, scale=1.0, opened=(), **changed):
    """Left, top, width, height of the panels."""
    overlay = Overlay()
    overlay._opened.update(opened)
    state = state_of(**changed)
    for _ in range(LAYOUTS_AT_ONCE):
        overlay.draw(lambda: state, (), size_px, scale)
    panes = [tuple(pane) for pane in overlay._shown_panes]
    overlay.close()
    screen.framebuffer.use()
    return panes


@pytest.mark.parametrize("opened", [(), ("playback", "trouble"), ("keys",)], ids=["folded", "open", "keys"])
@pytest.mark.parametrize("is_split", [False, True], ids=["whole", "split"])
def test_no_panel_lies_over_another_or_beyond_the_window_whatever_its_size(screen, is_split, opened):
    said = {
        "split_labels": ("my_module:AnOwnMethod, clock newest-two", "hermite, clock auto") if is_split else None,
        "messages": ("paused: Space continues, . makes one step", "physics crashed: " + "a long reason " * 9),
        "diagnostics": {f"diagnostic number {i}": 1.5 * i for i in range(60)},
        "plots": tuple(plot(f"plot {n}", left=[0.0, n], right=[n, 0.0]) for n in range(3)),
        "note": "interpolation: hermite", "troubles": TROUBLES, "buffer_ms": 20.0, "clock_reason": "because " * 20,
    }  # fmt: skip
    for size_px, scale in (
        ((16, 16), 1), ((160, 120), 1), ((320, 240), 1), ((480, 200), 1), ((300, 700), 1), ((640, 480), 1),
        ((800, 600), 1), ((800, 600), 2), ((1280, 800), 1.25), ((1920, 1080), 1),
    ):  # fmt: skip
        panes = panes_of(screen, size_px, scale, opened, **said)
        assert panes or min(size_px) < 120
        for at, (left, top, width, height) in enumerate(panes):
            if min(size_px) >= 120:
                assert left >= 0
                assert top >= 0
                assert left + width <= size_px[0]
                assert top + height <= size_px[1]
            for other_left, other_top, other_width, other_height in panes[:at]:
                is_beside = left >= other_left + other_width or other_left >= left + width
                assert is_beside or top >= other_top + other_height or other_top >= top + height, (size_px, panes)


def test_a_viewer_that_knows_nothing_yet_has_an_overlay(screen):
    for _ in range(LAYOUTS_AT_ONCE):
        screen.overlay.draw(lambda: OverlayState(PlotHistory(), PlotHistory()), (), SIZE_PX)


def test_a_tiny_window_is_no_trouble(screen):
    for _ in range(LAYOUTS_AT_ONCE):
        screen.overlay.draw(lambda: state_of(messages=("paused",)), (), (16, 16))


def test_drawing_it_leaves_moderngls_own_drawing_alone(screen):
    program = screen.context.program(
        vertex_shader="""#version 330
            void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }""",
        fragment_shader="#version 330\nout vec4 color;\nvoid main() { color = vec4(0, 1, 0, 1); }",
    )
    array = screen.context.vertex_array(program, [])
    screen.show()
    array.render(moderngl.TRIANGLES, vertices=3)
    assert (screen.pixels() == (0, 255, 0)).all()


def test_of_what_nothing_is_known_yet_no_curve_is_drawn(screen):
    few = PlotHistory()
    for _ in range(60):
        few.add(25.0, "interpolated")
    screen.show(frames=2 * FRAMES_PER_LAYOUT, frames_shown=few)
    plot = screen.pixels()[47:93, 16:256].max(axis=2)
    assert (plot > 100)[:, 184:].any(), "the last quarter holds the curve"
    assert (plot[-12:] < 40).all(), "a frame of 0 ms never was"


def test_recent_keeps_the_newest_in_order():
    recent = PlotHistory()
    assert len(recent.figures_ms) == 0
    assert recent.mean_ms() == 0
    for number in range(REMEMBERED + 10):
        recent.add(number, "held" if number % 2 else "interpolated")
    np.testing.assert_array_equal(recent.figures_ms, np.arange(10, REMEMBERED + 10))
    assert recent.modes[-1] == MODES.index("held")
    assert recent.percentile_ms(100) == REMEMBERED + 9


def test_without_an_overlay_its_library_is_never_loaded():
    code = (
        "import sys, twixt.render.draw.scene_renderer, twixt.render.draw.frame.camera, twixt.render.overlay.panel_state; "
        "sys.exit('imgui_bundle' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_banner_never_shows_without_its_words(fresh):
    def banner():
        return fresh.pixels()[440:482, 300:500].max(axis=2)

    fresh.show(frames=2 * FRAMES_PER_LAYOUT)
    assert not banner().any()
    for _ in range(2 * FRAMES_PER_LAYOUT):
        fresh.show(frames=1, messages=("paused",))
        assert not banner().any() or (banner() > 150).any()
    assert (banner() > 150).any()


def test_a_hint_about_bodies_outside_is_a_banner_but_no_warning(fresh):
    def colors(**said):
        fresh.show(frames=2 * FRAMES_PER_LAYOUT, **said)
        banner = fresh.pixels()[440:482, 300:500].reshape(-1, 3).astype(int)
        return banner[banner.max(axis=1) > 150]

    hint, warning = colors(outside="3 of 5 bodies are outside the picture"), colors(messages=("paused",))
    assert len(hint)
    assert np.ptp(hint, axis=1).max() < np.ptp(warning, axis=1).max() / 2
    assert not len(colors(outside=""))


def test_of_many_figures_of_a_world_the_rest_is_counted(screen):
    few = panes_of(screen, (800, 600), diagnostics={"energy": 1.0})
    many = panes_of(screen, (800, 600), diagnostics={str(i): 1.0 for i in range(64)})
    assert many[-1][3] > few[-1][3] + 200
    assert many[-1][1] + many[-1][3] <= 540, "the keys stay in sight"


def test_a_figure_whose_name_has_several_lines_is_one_row(screen):
    heights = {
        name: panes_of(screen, (800, 600), diagnostics={name: 1.0, "mass": 2.0})[-1][3]
        for name in ("kinetic energy", "kinetic\nenergy")
    }
    assert heights["kinetic energy"] == heights["kinetic\nenergy"]
    inked = [screen.pixels().astype(int)]
    panes_of(screen, (800, 600), diagnostics={"kinetic energy": 1.0, "mass": 2.0})
    inked.append(screen.pixels().astype(int))
    assert np.abs(inked[0] - inked[1]).max() < 8


def test_controls_of_the_world_are_moved_switched_and_pressed(fresh):
    controls = {
        "control 0": (Knob("speed", (SliderRange(0, 5, "%.3g"),)), 1.0),
        "control 1": (Knob("light", (SliderRange(0, 1, "%.3g"),), kind="toggle"), 0.0),
        "control 2": (Knob("home", (SliderRange(0, 1, "%.3g"),), kind="button"), 0.0),
    }
    fresh.show(frames=FRAMES_PER_LAYOUT * 2, controls=controls, troubles={})  # their section is open from the start
    fresh.turned.clear()
    fresh.drag((700, 155), (780, 155), controls=controls, troubles={})
    assert {turn.knob for turn in fresh.turned} == {"control 0"}
    assert max(turn.value for turn in fresh.turned) > 4
    fresh.turned.clear()
    for y_px in (178, 200):
        fresh.click(550, y_px, controls=controls, troubles={})
    assert [tuple(turn) for turn in fresh.turned] == [("control 1", 0, 1.0, True), ("control 2", 0, 1.0, True)]


def test_folds_of_controls_are_open_at_the_start_until_the_user_folds_them(fresh):
    def knobs(kind, section, count=1):
        return {
            f"{section} {n}": (Knob(f"{n}", (SliderRange(0, 1, "%.3g"),), 0, kind, section), 0.0) for n in range(count)
        }

    for controls, are_open in (
        (knobs("slider", "controls"), True), (knobs("toggle", "controls"), True), (knobs("button", "gains"), True),
        (knobs("toggle", "show", 3), False), (knobs("slider", "controls", 13), False),
    ):  # fmt: skip
        (section,) = {knob.section for knob, _ in controls.values()}
        assert open_at_start((), (knob for knob, _ in controls.values())) == ({section} if are_open else set())
    controls = knobs("slider", "controls", 3)
    fresh.show(frames=FRAMES_PER_LAYOUT * 2, controls=controls, troubles={})
    unfolded = fresh.height_px(528, 800)
    fresh.click(*TROUBLE_PX, controls=controls, troubles={})
    for more in ({}, {"control of another program": controls["controls 0"]}):
        fresh.show(frames=FRAMES_PER_LAYOUT * 2, controls=controls | more, troubles={})
        assert fresh.height_px(528, 800) < unfolded - 40


def test_controls_of_another_fold_stand_there_two_switches_in_a_row(fresh):
    def switch(name, section):
        return Knob(name, (SliderRange(0, 1, "%.3g"),), kind="toggle", section=section)

    controls = {f"control {n}": (switch(name, "show"), 0.0) for n, name in enumerate(("joint", "tendon", "site " * 6))}
    controls["control 3"] = switch("brake", "controls"), 0.0
    fresh.show(frames=FRAMES_PER_LAYOUT * 2, controls=controls, troubles={})
    fresh.click(*TROUBLE_PX, controls=controls, troubles={})  # the first section: "show"
    fresh.show(frames=FRAMES_PER_LAYOUT, controls=controls, troubles={})
    fresh.turned.clear()
    for x_px, y_px in ((550, 155), (675, 155), (550, 178)):
        fresh.click(x_px, y_px, controls=controls, troubles={})
    assert [turn.knob for turn in fresh.turned] == ["control 0", "control 1", "control 2"]


def test_a_loop_of_ones_own_and_a_world_far_from_real_time_are_drawn_in_words_that_fit(screen):
    """The panel of physics without a step, with publish intervals, and with a rate in days."""
    screen.show()
    before = screen.pixels()
    screen.show(frames=2 * LAYOUTS_AT_ONCE, publishes_ms=np.float32([2.0, 3.0] * 20), rate=2_485_890.06)
    changed = (screen.pixels() != before).any(axis=2)
    assert changed[:, SIZE_PX[0] // 2 :].any(), "the right panel shows something else"
    assert not changed[:, : SIZE_PX[0] // 2].any(), "the left one does not"
