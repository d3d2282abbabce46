"""The page in a real Chromium: `twixt sim`, `twixt serve`, and a browser on an X server. One browser for the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import pytest

from tests.displays.rigs import xvfb
from tests.end_to_end.processes import Run, Starter, starter
from twixt.cli.chromium import Chromium, Page, find_chromium
from twixt.ipc.errors import TwixtError

pytest.importorskip("websockets")
try:
    find_chromium()
except TwixtError as missing:
    pytest.skip(str(missing), allow_module_level=True)

pytestmark = pytest.mark.display

NAME = "lab"
SIZE_PX = (480, 360)
LIVE = "window.twixt && twixt.state.phase === 'live' && twixt.frameLog.count > 5"


class Rig(NamedTuple):
    start: Starter
    chromium: Chromium

    @property
    def page(self) -> Page:
        return self.chromium.page

    def serve(self) -> tuple[Run, str]:
        """The server, and the link that it prints."""
        run = self.start("serve", NAME)
        run.hear("#")
        found = re.search(r"http://\S+", run.out)
        assert found
        return run, found[0]

    def open(self) -> tuple[Run, str]:
        """The server, and the link that the browser shows by now."""
        run, link = self.serve()
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
    assert rig.page.errors == []
    assert rig.page.evaluate("crossOriginIsolated")
    card, title = rig.page.evaluate("[document.getElementById('card').innerText, document.title]")
    assert NAME in card
    assert "fps" in card
    assert NAME in title
    colors = rig.page.evaluate(
        """new Promise(resolve => requestAnimationFrame(() => {
            twixt.renderer.draw({...twixt.store.at(0), method: "none", widthPx: 480, heightPx: 360,
                                 camera: twixt.camera.matrices(480, 360)});
            const gl = twixt.renderer.gl, pixels = new Uint8Array(4 * 480 * 360);
            gl.readPixels(0, 0, 480, 360, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
            resolve(new Set(new Uint32Array(pixels.buffer)).size);
        }))"""
    )
    assert colors > 50, "the picture has a single colour"


def test_a_lost_link_is_said_and_the_page_comes_back_by_itself(rig: Rig) -> None:
    run, link = rig.open()
    run.process.kill()
    rig.page.wait_for("twixt.state.phase === 'lost'")
    assert "link is lost" in rig.page.evaluate("document.getElementById('message').innerText")
    _, again = rig.serve()
    assert again == link
    rig.page.wait_for(LIVE)
    rig.page.wait_for("document.getElementById('message').hidden")
    moved = "twixt.frameLog.rows(1).filter(row => row.worldEpoch > 0 && row.mode === 'interpolated').length > 20"
    rig.page.wait_for(moved)
    assert rig.page.evaluate("twixt.frameLog.figures().reversals") == 0


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
        rig.page.wait_for("!document.getElementById('message').hidden")
        assert title in rig.page.evaluate("document.getElementById('message').innerText")
    rig.page.evaluate(f"location.hash = '{token}'")
    rig.page.wait_for(LIVE)
