from __future__ import annotations

import subprocess
import sys

import moderngl
import numpy as np
import pytest

from twixt.render.controls import KEYS
from twixt.render.input import MouseButton, MouseMove
from twixt.render.overlay import FRAMES_PER_LAYOUT, LAYOUTS_AT_ONCE, Overlay
from twixt.render.overlay_state import MODES, REMEMBERED, OverlayState, Recent

SIZE_PX = (800, 600)


def state_of(**changed) -> OverlayState:
    frames, steps = Recent(), Recent()
    for number in range(300):
        frames.add(16.7 + number % 7, MODES[number // 40 % 3])
        steps.add(3.0)
    return OverlayState(**{
        "frames": frames, "steps": steps, "target_ms": 16.7, "step_budget_ms": 16.7, "rate": 0.5, "offset_ms": 12.0,
        "clock": "auto", "clock_mode": "ahead", "interpolation": "linear", "pacing": "vsync", "bodies": 300,
        "diagnostics": {"energy": 1.5}, "keys": KEYS, **changed,
    })  # fmt: skip


class Screen:
    def __init__(self) -> None:
        self.context = moderngl.create_standalone_context(require=330, backend="egl")
        self.framebuffer = self.context.framebuffer([self.context.renderbuffer(SIZE_PX, 4)])
        self.framebuffer.use()
        self.overlay = Overlay()
        self.asked = 0

    def show(self, frames=LAYOUTS_AT_ONCE, events=(), scale=1.0, frames_shown=None, **changed):
        state = state_of(**changed, **({} if frames_shown is None else {"frames": frames_shown}))

        def ask():
            self.asked += 1
            return state

        pressed = []
        for _ in range(frames):
            self.framebuffer.clear()
            pressed += self.overlay.draw(ask, events, SIZE_PX, scale).pressed
            events = ()
        return pressed

    def pixels(self):
        raw = self.framebuffer.read(components=3)
        return np.flipud(np.frombuffer(raw, np.uint8).reshape(SIZE_PX[1], SIZE_PX[0], 3))

    def click(self, x_px, y_px):
        pressed = self.show(events=[MouseMove(x_px, y_px, 0)])
        pressed += self.show(events=[MouseButton("left", True, 0)])
        return pressed + self.show(events=[MouseButton("left", False, 0)])


@pytest.fixture(scope="module")
def shared():
    screen = Screen()
    yield screen
    screen.overlay.close()


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
        frames = Recent()
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


def test_the_mouse_belongs_to_the_overlay_only_over_its_panels(screen):
    screen.show(events=[MouseMove(100, 60, 0)], frames=FRAMES_PER_LAYOUT * 2)
    assert screen.overlay.wants_mouse
    screen.show(events=[MouseMove(400, 300, 0)], frames=FRAMES_PER_LAYOUT * 2)
    assert not screen.overlay.wants_mouse


def test_everything_is_larger_on_a_high_resolution_display(screen):
    screen.show()
    ordinary = (screen.pixels().max(axis=2) > 0).sum()
    screen.show(scale=2.0)
    assert (screen.pixels().max(axis=2) > 0).sum() > 2 * ordinary


def test_a_viewer_that_knows_nothing_yet_has_an_overlay(screen):
    for _ in range(LAYOUTS_AT_ONCE):
        screen.overlay.draw(lambda: OverlayState(Recent(), Recent()), (), SIZE_PX)


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


def test_recent_keeps_the_newest_in_order():
    recent = Recent()
    assert len(recent.figures_ms) == 0
    assert recent.mean_ms() == 0
    for number in range(REMEMBERED + 10):
        recent.add(number, "held" if number % 2 else "interpolated")
    np.testing.assert_array_equal(recent.figures_ms, np.arange(10, REMEMBERED + 10))
    assert recent.modes[-1] == MODES.index("held")
    assert recent.percentile_ms(100) == REMEMBERED + 9


def test_without_an_overlay_its_library_is_never_loaded():
    code = (
        "import sys, twixt.render.draw.scene_renderer, twixt.render.camera, twixt.render.overlay_state; "
        "sys.exit('imgui_bundle' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
