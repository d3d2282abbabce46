"""Hands and keys in a real Chromium that shows a user's own loop: pulls, clicks, keys and views arrive at the loop."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.displays.rigs import xvfb
from tests.end_to_end.processes import Run, starter, until
from twixt.cli.chromium import Chromium, Page, find_chromium
from twixt.ipc.errors import TwixtError

pytest.importorskip("websockets")
try:
    find_chromium()
except TwixtError as missing:
    pytest.skip(str(missing), allow_module_level=True)

pytestmark = pytest.mark.display

SIZE_PX = (480, 360)
CTRL = 2
LIVE = "window.twixt && twixt.state.phase === 'live' && twixt.frameLog.count > 5"

# A ball in the middle of the picture, which pulls move, and one that the user drags without Ctrl. It says what it gets.
LOOP = """
import twixt

scene = twixt.Scene([twixt.Sphere(0.5, label="ball"), twixt.Sphere(0.3)], camera=twixt.Camera((0, -8, 0), (0, 0, 0)))
options = dict(interpolation="linear", clock="buffered", buffer_ms=30, prefer="smooth", overlay=False)
with twixt.show(scene, dt=1 / 60, viewer="web", **options) as view:
    x, was_pulled, target = 0.0, False, view.draggable(1, position=(2, 0, 0))
    for t in view.real_time():
        for event in view.events():
            print(repr({name: getattr(event, name) for name in event.__dataclass_fields__}), flush=True)
        force = view.forces().get(0, ((0, 0, 0), None))[0]
        x += 1e-5 * force[0]
        if (is_pulled := force[0] != 0) != was_pulled:
            was_pulled = is_pulled
            print("pulled" if is_pulled else "free", flush=True)
        if view.keys.pressed("i"):
            print("own key", flush=True)
        view.publish(position=[(x, 0, 0), target.position])
"""


class Rig(NamedTuple):
    loop: Run
    chromium: Chromium
    link: str

    @property
    def page(self) -> Page:
        return self.chromium.page

    def events(self, name: str) -> list[dict[str, Any]]:
        """Events of this name that the loop got so far."""
        lines = [line for line in self.loop.out.splitlines() if line.startswith("{")]
        return [event for event in map(ast.literal_eval, lines) if event["name"] == name]

    def event(self, name: str, number: int) -> dict[str, Any]:
        """An event of the loop, as soon as it has it."""
        return until(lambda: self.events(name)[number:], f"event {number} of {name}")[0]

    def says(self, words: str, number: int = 1) -> None:
        until(lambda: self.loop.out.count(words) >= number, words)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with xvfb() as display, starter(tmp_path_factory.mktemp("page"), display.environ) as start:
        loop = start.script(LOOP)
        loop.hear("#")
        found = re.search(r"http://\S+", loop.err)
        assert found
        with Chromium(display.environ["DISPLAY"], SIZE_PX) as chromium:
            chromium.page.open(found[0])
            chromium.page.wait_for(f"{LIVE} && twixt.input.keyboard.listens && twixt.status.draggable")
            yield Rig(loop, chromium, found[0])


def middle(page: Page) -> tuple[float, float]:
    """The middle of the picture."""
    width, height = page.evaluate("['clientWidth', 'clientHeight'].map(name => document.getElementById('view')[name])")
    return width / 2, height / 2


def test_the_page_begins_with_the_options_of_the_run(rig: Rig) -> None:
    state = rig.page.evaluate("[twixt.method, twixt.clock.mode, twixt.clock.bufferMs, twixt.clock.prefer]")
    assert state == ["linear", "buffered", 30, "smooth"]
    assert rig.page.evaluate("document.body.className") == "is-bare"
    rig.page.send_key("h")
    assert rig.page.evaluate("document.body.className") == ""


def test_a_click_arrives_with_its_body_and_point_and_shows_the_body(rig: Rig) -> None:
    x, y = middle(rig.page)
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        rig.page.send_mouse(kind, x, y, "none" if kind == "mouseMoved" else "left")
    click = rig.event("click", 0)
    assert (click["button"], click["clicks"], click["body"]) == ("left", 1, 0)
    assert click["point"] == pytest.approx((0, -0.5, 0), abs=0.02)
    assert click["pointer"] == pytest.approx((0, 0, 0), abs=0.05)
    assert click["acted_ns"] > 0
    assert click["draw_time_ns"] > 0
    picked = "document.getElementById('picked').textContent"
    rig.page.wait_for(f"{picked}.includes('0 · ball') && {picked}.includes('0.00 m/s')")


def test_keys_arrive_with_names_and_modifiers_and_own_keys_do_nothing_in_the_page(rig: Rig) -> None:
    page = rig.page
    page.wait_for("twixt.status.own_keys.includes('i')")
    before = len(rig.events("key"))
    page.send_key("ArrowLeft")
    page.send_key("i")
    page.send_key("a", modifiers=8)
    page.send_key("c")
    keys = [rig.event("key", before + number) for number in range(6)]
    assert [(key["key_name"], key["key"], key["action"], key["mods"]) for key in keys] == [
        ("left", 263, "press", 0), ("left", 263, "release", 0), ("i", 73, "press", 0), ("i", 73, "release", 0),
        ("a", 65, "press", 1), ("a", 65, "release", 1),
    ]  # fmt: skip
    rig.says("own key")
    assert page.evaluate("[twixt.method, twixt.clock.mode]") == ["linear", "auto"]
    page.send_key(" ")
    assert rig.event("key", before + 6)["key_name"] == "space"
    page.send_key("r")
    rig.event("reset", 0)
    page.send_key("w", kinds=["keyDown"])
    page.evaluate("window.dispatchEvent(new Event('blur'))")
    until(lambda: rig.events("key")[-1]["key_name"] == "w" and rig.events("key")[-1]["action"] == "release", "release")


def test_a_pull_with_ctrl_moves_the_body_draws_a_line_and_ends(rig: Rig) -> None:
    page, (x, y) = rig.page, middle(rig.page)
    page.send_mouse("mouseMoved", x, y)
    page.send_mouse("mousePressed", x, y, "left", modifiers=CTRL)
    page.send_mouse("mouseMoved", x + 40, y, "left", modifiers=CTRL)
    rig.says("pulled")
    page.wait_for("twixt.store.newest.floats[0] > 0.1")
    line = "document.querySelector('#pull line')"
    page.wait_for(f"!document.getElementById('pull').hasAttribute('hidden') && {line}.getAttribute('x2') > {x + 39}")
    page.send_mouse("mouseReleased", x + 40, y, "left", modifiers=CTRL)
    rig.says("free")
    page.wait_for("document.getElementById('pull').hasAttribute('hidden')")


def test_a_draggable_body_follows_the_pointer_without_ctrl(rig: Rig) -> None:
    page, (x, y) = rig.page, middle(rig.page)
    at = page.evaluate("twixt.view.seen.matrices.projection[0]") * 2 / 8 * x
    page.send_mouse("mouseMoved", x + at, y)
    page.send_mouse("mousePressed", x + at, y, "left")
    page.send_mouse("mouseMoved", x + at, y - 60, "left")
    page.wait_for("twixt.store.newest.floats[18] > 0.5")
    page.send_mouse("mouseReleased", x + at, y - 60, "left")


def test_a_long_touch_pulls_and_a_page_that_leaves_ends_its_pull(rig: Rig) -> None:
    page, (x, y) = rig.page, middle(rig.page)
    page.evaluate("window.grabbed = false; navigator.vibrate = () => (window.grabbed = true)")
    at = page.evaluate("twixt.view.seen.matrices.projection[0] * twixt.store.newest.floats[0] / 8") * x
    pulls = rig.loop.out.count("pulled")
    page.send_touch("touchStart", (x + at, y))
    page.wait_for("window.grabbed")
    page.send_touch("touchMove", (x + at - 40, y))
    rig.says("pulled", pulls + 1)
    frees = rig.loop.out.count("free")
    page.open("about:blank")
    rig.says("free", frees + 1)
    assert page.errors == []
