"""The page in a real Chromium: `twixt sim`, `twixt serve`, and a browser on an X server. One browser for the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from tests.displays.rigs import xvfb
from tests.end_to_end.processes import Run, Starter, starter
from tests.relay.page import Page as Link
from twixt.cli.chromium import Chromium, Page, find_chromium
from twixt.ipc.errors import TwixtError

pytest.importorskip("websockets")
try:
    find_chromium()
except TwixtError as missing:
    pytest.skip(str(missing), allow_module_level=True)

pytestmark = pytest.mark.display

NAME = "lab"
SIZE_PX = (660, 560)  # a smaller page folds its panels
IS_SILENT = "document.getElementById('message').hidden"
LIVE = "window.twixt && twixt.state.phase === 'live' && twixt.frameLog.count > 5"


# A world whose body is where its controls say.
KNOBS = """
from twixt import Bodies, Button, Scene, Slider, Sphere, Toggle, World

class Knobs(World):
    def __init__(self):
        self.bodies = Bodies(1)
        self.scene = Scene([Sphere(0.2)])
        self.x = Slider("x", 0.5, low=0, high=2)
        self.up = Toggle("up", False)
        self.kick = Button("kick")
        self.controls = [self.x, self.up, self.kick]
        self.kicks = 0
    def step(self, dt):
        self.kicks += self.kick.pressed()
        self.bodies.position[0] = self.x.value, float(self.up.value), self.kicks
"""

# A program that draws over the picture. Its image is red, its figure has a line of pure green. It asks for
# pictures if there is a file `ask`.
PICTURES = """
import os, numpy as np, twixt
from twixt import OverlayFigure, OverlayImage, OverlayLine, OverlayText, Scene, Sphere

red = np.full((20, 30, 3), (255, 0, 0), np.uint8)
line = OverlayLine([[0, 0], [1, 1]], "up", (0, 1, 0))
with twixt.show(Scene([Sphere(0.2, label="the ball")]), 0.01, name="pictures", viewer=False) as view:
    view.set_texts([OverlayText("top", "score", "17", size=2)])
    view.set_images([OverlayImage((170, 160, 60, 40), red)])
    view.set_figures([OverlayFigure((240, 120, 130, 110), [line], "growth")])
    for t in view.real_time():
        view.plot("energy", kinetic=t % 0.5, potential=3)
        view.publish(position=[[0, 0, t % 1]])
        if os.path.exists("ask"):
            os.remove("ask")
            shots = view.screenshot("bare.png"), view.screenshot("panels.png", overlay=True)
            print("written:", [shot.wait(30) for shot in shots], flush=True)
"""


class Rig(NamedTuple):
    start: Starter
    chromium: Chromium

    @property
    def page(self) -> Page:
        return self.chromium.page

    @property
    def faults(self) -> list[str]:
        """Errors of the page, except those of a server that was ended."""
        return [error for error in self.page.errors if "ERR_CONNECTION_REFUSED" not in error]

    def serve(self, name: str = NAME) -> tuple[Run, str]:
        """The server, and the link that it prints."""
        run = self.start("serve", name)
        run.hear("#")
        found = re.search(r"http://\S+", run.out)
        assert found
        return run, found[0]

    def open(self, name: str = NAME) -> tuple[Run, str]:
        """The server, and the link that the browser shows by now."""
        run, link = self.serve(name)
        self.page.open("about:blank")
        self.page.open(link)
        self.page.wait_for(LIVE)
        return run, link


@pytest.fixture(scope="module")
def module_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with xvfb() as display, starter(tmp_path_factory.mktemp("page"), display.environ) as start:
        start("sim", "balls", "--set", "count=40", "--name", NAME)
        with Chromium(display.environ["DISPLAY"], SIZE_PX) as chromium:
            yield Rig(start, chromium)


@pytest.fixture
def rig(module_rig: Rig) -> Iterator[Rig]:
    yield module_rig
    module_rig.page.evaluate("twixt.connection.command('resume')")
    for run in module_rig.start.runs[1:]:
        run.kill_all()
    del module_rig.start.runs[1:]


@pytest.mark.starvable
def test_frames_show_moving_balls_each_at_a_later_time(rig: Rig) -> None:
    rig.open()
    first = rig.page.evaluate("twixt.frameLog.count")
    rig.page.wait_for(f"twixt.frameLog.count > {first + 120}")
    figures = rig.page.evaluate("twixt.frameLog.figures(1.5)")
    assert figures["reversals"] == 0
    assert figures["distinctShare"] > 0.9
    assert figures["rate"]["p50"] == pytest.approx(1, abs=0.05)
    assert rig.faults == []
    assert rig.page.evaluate("crossOriginIsolated")
    card, title = rig.page.evaluate("[document.getElementById('card').innerText, document.title]")
    assert NAME in card
    assert "fps" in card
    assert NAME in title
    colors = rig.page.evaluate(
        """new Promise(resolve => requestAnimationFrame(() => {
            twixt.renderer.draw({...twixt.store.at(0), method: "none", widthPx: 480, heightPx: 360,
                                 camera: twixt.view.matrices(480, 360)});
            const gl = twixt.renderer.gl, pixels = new Uint8Array(4 * 480 * 360);
            gl.readPixels(0, 0, 480, 360, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
            resolve(new Set(new Uint32Array(pixels.buffer)).size);
        }))"""
    )
    assert colors > 50, "the picture has a single colour"


def test_keys_and_buttons_pause_step_and_change_what_is_drawn(rig: Rig) -> None:
    rig.open()
    page = rig.page
    page.wait_for("!document.getElementById('control').hidden")
    page.send_key(" ")
    page.wait_for("twixt.state.clock.mode === 'paused' && twixt.status.paused")
    page.wait_for("document.querySelector('[data-action=pause]').ariaPressed === 'true'")
    page.wait_for("twixt.state.clock.reason === 'physics is paused'")
    # A picture that stands is drawn again after the browser has lost the GPU.
    page.evaluate("twixt.lose = twixt.renderer.gl.getExtension('WEBGL_lose_context'), twixt.lose.loseContext()")
    page.wait_for("twixt.renderer.isLost")
    page.evaluate("twixt.before = twixt.renderer.fence, twixt.lose.restoreContext()")
    page.wait_for("!twixt.renderer.isLost && twixt.renderer.fence !== null && twixt.renderer.fence !== twixt.before")
    drawn_ns = page.evaluate("twixt.frameLog.rows(0).at(-1).drawNs")
    page.evaluate("document.querySelector('[data-action=step]').click()")
    page.wait_for(f"twixt.frameLog.rows(0).at(-1).drawNs === twixt.plan.simNs && twixt.plan.simNs > {drawn_ns}")
    page.send_key("[")
    page.send_key(" ")
    page.wait_for("twixt.plan.rate === 0.5 && twixt.state.clock.mode !== 'paused'")
    page.send_key("]")
    page.wait_for("twixt.plan.rate === 1")
    epoch = page.evaluate("twixt.store.newest.worldEpoch")
    page.send_key("r")
    page.wait_for(f"twixt.store.newest.worldEpoch > {epoch}")
    for key, value in (("i", "hermite"), ("i", "linear"), ("i", "none"), ("i", "latest"), ("i", "auto")):
        page.send_key(key)
        assert page.evaluate("twixt.method") == value
    page.send_key("c")
    page.wait_for("document.getElementById('clock').textContent === 'ahead'")
    page.send_key("v")
    page.wait_for(
        "document.getElementById('halves').innerText.split(/\\n/).join() === 'latest, clock ahead,auto, clock ahead'"
    )
    left, line, right = page.evaluate(
        """new Promise((resolve) => requestAnimationFrame(() => {
            const {gl} = twixt.renderer, {leftPx, canvasPx, heightPx} = twixt.view.seen;
            const colors = (fromPx, toPx) => {
                const width = toPx - fromPx, pixels = new Uint8Array(4 * width * heightPx);
                gl.readPixels(fromPx, 0, width, heightPx, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
                return new Set(new Uint32Array(pixels.buffer)).size;
            };
            resolve([colors(0, leftPx - 2), colors(leftPx - 2, leftPx), colors(leftPx, canvasPx)]);
        }))"""
    )
    assert line == 1
    assert min(left, right) > 50, "a half has a single colour"
    page.send_key("v")
    page.send_key("?")
    assert "pause / continue" in page.evaluate("document.getElementById('help').innerText")
    page.send_key("h")
    assert page.evaluate("getComputedStyle(document.getElementById('card')).display") == "none"
    page.send_key("h")
    page.send_key("F12")
    page.wait_for("/twixt-.*png saved/.test(document.getElementById('note').textContent)")
    assert rig.faults == []


def test_a_lost_link_is_said_and_the_page_comes_back_by_itself(rig: Rig) -> None:
    run, link = rig.open()
    run.process.kill()
    rig.page.wait_for("twixt.state.phase === 'lost'")
    assert "link is lost" in rig.page.evaluate("document.getElementById('message').innerText")
    _, again = rig.serve()
    assert again == link
    rig.page.wait_for(LIVE)
    rig.page.wait_for(IS_SILENT)
    moved = "twixt.frameLog.rows(1).filter(row => row.worldEpoch > 0 && row.mode === 'interpolated').length > 20"
    rig.page.wait_for(moved)
    assert rig.page.evaluate("twixt.frameLog.figures().reversals") == 0


def test_the_page_waits_for_a_simulation_and_for_its_return(rig: Rig) -> None:
    _, link = rig.serve("guest")
    rig.page.open("about:blank")
    rig.page.open(link)
    message = "document.getElementById('message').innerText"
    rig.page.wait_for(f"!{IS_SILENT} && {message}.includes('Waiting for the simulation')")
    run = rig.start("sim", "balls", "--set", "count=10", "--name", "guest")
    rig.page.wait_for(f"{LIVE} && {IS_SILENT}")
    run.interrupt()
    rig.page.wait_for(f"twixt.state.phase === 'waiting' && {message}.includes('has ended')")
    rig.start("sim", "balls", "--set", "count=20", "--name", "guest")
    rig.page.wait_for(f"{LIVE} && {IS_SILENT} && twixt.store.newest.count === 20")
    rig.page.wait_for("twixt.frameLog.rows(0.3).every(row => row.worldEpoch > 0 && row.mode === 'interpolated')")
    assert rig.page.evaluate("twixt.frameLog.figures().reversals") == 0
    assert rig.faults == []


def test_a_hidden_page_costs_nothing_and_returns_with_one_cut(rig: Rig) -> None:
    rig.open()
    before = rig.page.evaluate("[twixt.connection.messages, twixt.frameLog.count]")
    other = rig.chromium.new_page()
    other.activate()
    rig.page.wait_for("document.hidden && performance.now() - twixt.frameLog.rows(0.1).at(-1).timestampMs > 2500")
    during = rig.page.evaluate("[twixt.connection.messages, twixt.frameLog.count]")
    assert during[0] - before[0] < 30, "it received snapshots while it was hidden"
    rig.page.activate()
    rig.page.wait_for(f"twixt.frameLog.count > {during[1] + 60}")
    rows = [row for row in rig.page.evaluate("twixt.frameLog.rows()") if row["frame"] >= during[1]]
    steps_ns = [after["drawNs"] - row["drawNs"] for row, after in pairwise(rows)]
    assert min(steps_ns) >= 0
    assert sum(step_ns > 1e9 for step_ns in steps_ns) <= 1
    assert rows[-1]["drawNs"] - rows[0]["drawNs"] > 1e9, "it still shows what was there when it was hidden"


def test_a_link_with_a_wrong_token_or_none_says_so_and_is_not_tried_again(rig: Rig) -> None:
    _, link = rig.serve()
    address, _, token = link.partition("#")
    for fragment, title in (("wrong", "The token is wrong"), ("", "The link has no token")):
        rig.page.open("about:blank")
        rig.page.open(f"{address}#{fragment}")
        rig.page.wait_for("window.twixt && twixt.state.phase === 'refused'")
        rig.page.wait_for(f"!{IS_SILENT}")
        assert title in rig.page.evaluate("document.getElementById('message').innerText")
    rig.page.evaluate(f"location.hash = '{token}'")
    rig.page.wait_for(LIVE)


def test_drags_and_the_wheel_move_the_camera_and_f_shows_all_bodies_again(rig: Rig) -> None:
    rig.open()
    page, view = rig.page, "twixt.view.orbit"
    azimuth, distance, target = page.evaluate(f"[{view}.azimuthRad, {view}.distanceM, {view}.target]")
    for button in ("left", "right"):
        page.send_mouse("mousePressed", 100, 50, button)
        page.send_mouse("mouseMoved", 140, 70, button)
        page.send_mouse("mouseReleased", 140, 70, button)
    page.send_mouse("mouseWheel", 200, 100, deltaX=0, deltaY=-300)
    page.wait_for(f"{view}.distanceM < {distance}")
    assert page.evaluate(f"[{view}.azimuthRad, {view}.target]") != [azimuth, target]
    page.evaluate("twixt.view.follow(3)")
    page.wait_for("twixt.view.followed === 3")
    page.send_key("f")
    page.wait_for("twixt.view.followed === null")
    assert rig.faults == []


def test_a_page_follows_the_camera_that_another_presents_until_its_user_moves_it_and_presents_its_own(rig: Rig) -> None:
    _, link = rig.open()
    page = rig.page
    with Link(link) as other:
        shown = {"camera": {"eye": [3, 4, 5], "target": [0, 0, 1]}, "at_ns": 0, "begins": True}
        other.tell(kind="action", action="present", fields=shown)
        page.wait_for("twixt.follows && twixt.view.orbit.eye.every((value, axis) => Math.abs(value - 3 - axis) < 1e-6)")
        page.wait_for("document.querySelector('[data-action=follow]').ariaPressed === 'true'")
        page.send_mouse("mouseWheel", 200, 100, deltaX=0, deltaY=-300)
        page.wait_for("!twixt.follows && document.getElementById('note').textContent === 'your own camera'")
        page.evaluate("document.querySelector('[data-action=follow]').click()")
        page.wait_for("twixt.follows && Math.abs(twixt.view.orbit.eye[2] - 5) < 1e-6")
        page.evaluate("document.querySelector('[data-action=present]').click()")
        eye = other.heard("presented", lambda fields: fields["camera"] is not None)["camera"]["eye"]
        assert eye == pytest.approx([3, 4, 5])
        page.evaluate("document.querySelector('[data-action=present]').click()")
        other.heard("presented", lambda fields: fields["camera"] is None)
    assert rig.faults == []


def test_sliders_switches_and_buttons_of_the_program_reach_it(rig: Rig) -> None:
    (rig.start.folder / "knobs.py").write_text(KNOBS)
    rig.start("sim", "knobs:Knobs", "--name", "knobs")
    rig.open("knobs")
    page, inputs = rig.page, "document.querySelectorAll('#program input, #program button')"
    page.wait_for("!document.getElementById('program').hidden")
    assert "x" in page.evaluate("document.getElementById('program').innerText")
    assert page.evaluate(f"{inputs}[0].value") == "0.5"
    page.evaluate(f"{inputs}[0].value = 1.25; {inputs}[0].dispatchEvent(new Event('change'))")
    page.evaluate(f"{inputs}[1].click(); {inputs}[2].click()")
    page.wait_for("twixt.store.newest.floats.slice(0, 3).join() === '1.25,1,1'")
    # The browser remembers that the user has folded the panel.
    page.evaluate("document.querySelector('#side summary').click()")
    link = page.evaluate("location.href")
    page.open("about:blank")
    page.open(link)
    page.wait_for(LIVE)
    assert page.evaluate("[document.getElementById('card').open, document.getElementById('side').open]") == [
        True,
        False,
    ]
    assert rig.faults == []


def test_texts_images_figures_plots_and_labels_of_a_program_are_on_the_page(rig: Rig) -> None:
    program = rig.start.script(PICTURES)
    rig.open("pictures")
    page = rig.page
    pixel = "(canvas, x, y) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].join()"
    page.wait_for("document.querySelectorAll('#over canvas').length === 2 && !!document.querySelector('#plots canvas')")
    assert page.evaluate("document.querySelector('#over .text').innerText.split(/\\s+/).join()") == "score,17"
    page.wait_for(f"({pixel})(document.querySelector('#over .images canvas'), 15, 10) === '255,0,0,255'")
    figure = "document.querySelector('#over .figures canvas')"
    page.wait_for(
        f"(canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
        f".some((value, at, all) => at % 4 === 1 && value > 200 && all[at - 1] < 30))({figure})"
    )
    page.wait_for("document.getElementById('plots').innerText.includes('potential 3')")
    page.wait_for("document.querySelector('#over .labels span')?.textContent === 'the ball'")
    page.send_key("t")
    page.wait_for("twixt.trails?.[1].dots().length > 10")
    (rig.start.folder / "ask").touch()
    program.hear("written: [True, True]")
    bare, panels = (np.asarray(Image.open(rig.start.folder / f"{name}.png"))[..., :3] for name in ("bare", "panels"))
    assert list(bare.shape) == list(panels.shape) == page.evaluate("[innerHeight, innerWidth, 3]")
    place = "document.querySelector('#over .images canvas').getBoundingClientRect()"
    x, y = page.evaluate(f"(({{x, y}}) => [x + 3, y + 3])({place})")
    assert bare[round(y), round(x)].tolist() == [255, 0, 0]
    assert ((bare[..., 1] > 200) & (bare[..., ::2].max(-1) < 60)).sum() > 20, "the figure's line"
    sides = "(({left, top, right, bottom}) => [left, top, right, bottom])"
    place = "document.getElementById('name').getBoundingClientRect()"
    x, y, right, bottom = map(round, page.evaluate(f"{sides}({place})"))
    assert panels[y:bottom, x:right].std() > bare[y:bottom, x:right].std() + 20, "the card's title"
    # H hides the panels, but not what the program draws.
    page.send_key("h")
    page.wait_for("getComputedStyle(document.getElementById('side')).display === 'none'")
    assert page.evaluate("document.querySelector('#over .text').checkVisibility()")
    # Without panels, pictures are where the program wants them.
    page.wait_for(
        "(({left, width, bottom}) => left === 170 && width === 60 && innerHeight - bottom === 160)"
        "(document.querySelector('#over .images canvas').getBoundingClientRect())"
    )
    page.send_key("h")
    assert rig.faults == []
