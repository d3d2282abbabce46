"""When frames stop, and what ends a rest: on the real frame loop, drawn offscreen, with a real channel."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.publishing import publish
from twixt.ipc.config.flags import Config
from twixt.ipc.interaction.overlay import OverlayImage, images_as_message
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import open_listener
from twixt.ipc.session.host import Host
from twixt.ipc.session.link import attach
from twixt.ipc.snapshot import NO_MARKS, Head, new_bodies
from twixt.render.display.display import open_display
from twixt.render.display.input import Key
from twixt.render.draw.quality import CHEAPEST, FULL
from twixt.render.measure.evenness import intervals
from twixt.render.measure.run_figures import measure
from twixt.render.pacing.pacer import Pacer
from twixt.render.viewer import idle
from twixt.render.viewer.idle import PAUSED_NS, SILENT_NS, RedrawRequests, Waker
from twixt.render.viewer.loop import FrameLoop

MS = 1_000_000
DT_NS = 20 * MS
# Frames until something that takes less than a second has happened, on a machine that makes thousands a second.
MANY = 100_000
# A sleep that nobody ends: the test fails by its own patience instead.
LONG_S = 30.0
IMAGE = OverlayImage((0, 0, 2, 2), np.zeros((2, 2, 3), np.uint8))


class Viewer:
    """A frame loop and the simulation that it looks at, both here."""

    def __init__(self, overlay: bool = False, size_px: tuple[int, int] = (64, 48)) -> None:
        listener = open_listener(f"rest-{os.getpid()}")
        self.host = Host(listener, Scene([Sphere(0.5)]), 1)
        self.bodies = new_bodies(1)
        self.tick = 0
        self.plans = 0
        self.plan(1.0)
        self.publish()
        config = Config(offscreen=True, pacing="unlimited", overlay=overlay, size_px=size_px, clock="ahead")
        self.window = open_display(config)
        self.link = attach(listener.name)
        self.loop = FrameLoop(config, self.window, self.link, Pacer("unlimited"))
        self.loop.frame()
        self.loop.is_starting = False

    def plan(self, rate: float) -> None:
        self.plans += 1
        self.host.ring.write_plan(Plan(self.plans, 0, time.perf_counter_ns(), self.tick * DT_NS, rate))

    def publish(self, marks: np.ndarray = NO_MARKS) -> None:
        self.tick += 1
        now_ns = time.perf_counter_ns()
        self.bodies["position"][0, 0] = self.tick
        head = Head(tick=self.tick, sim_time_ns=self.tick * DT_NS, due_ns=now_ns, count=len(self.bodies))
        publish(self.host.ring, head, self.bodies, marks=marks)

    def frames_until(self, condition: Callable[[], object]) -> int:
        for number in range(MANY):
            if condition():
                return number
            self.loop.frame()
        raise AssertionError(f"not in {MANY} frames")

    def come_to_rest(self) -> None:
        self.plan(0.0)
        self.frames_until(lambda: self.loop.is_idle)

    def close(self) -> None:
        self.loop.close()
        self.link.close()
        self.host.end()
        self.window.close()


@pytest.fixture
def viewer(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("run")
    folder.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    opened = Viewer()
    yield opened
    opened.close()


def test_a_picture_that_stands_may_rest_after_a_while_and_a_paused_one_sooner() -> None:
    requests = RedrawRequests()
    requests.drawn(5, 0, 1000 * MS)
    assert not requests.is_idle(1000 * MS + PAUSED_NS - 1, is_paused=True)
    requests.drawn(5, 0, 1200 * MS)  # the same instant again stirs nothing
    assert requests.is_idle(1000 * MS + PAUSED_NS, is_paused=True)
    assert not requests.is_idle(1000 * MS + PAUSED_NS, is_paused=False)
    assert requests.is_idle(1000 * MS + SILENT_NS, is_paused=False)
    requests.request(2500 * MS)
    assert not requests.is_idle(2500 * MS + 1, is_paused=True)
    requests.drawn(6, 0, 3000 * MS)
    assert not requests.is_idle(2500 * MS + PAUSED_NS, is_paused=True)


def test_a_frame_requested_for_an_instant_ends_the_rest_then_once() -> None:
    requests = RedrawRequests()
    requests.drawn(5, 0, 1000 * MS)
    requests.request_at("note", 4000 * MS)
    assert requests.is_idle(4000 * MS - 1, is_paused=True)
    assert not requests.is_idle(4000 * MS, is_paused=True)
    requests.drawn(5, 4000 * MS - 1, 4010 * MS)
    assert not requests.is_idle(4010 * MS, is_paused=True), "that frame had begun before"
    requests.drawn(5, 4020 * MS, 4030 * MS)
    assert requests.is_idle(4030 * MS, is_paused=True)
    requests.request_at("note", 5000 * MS)
    requests.withdraw("note")
    assert requests.is_idle(6000 * MS, is_paused=True)


def test_what_rests_is_drawn_in_full(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer.loop.governor, "is_free", True)
    monkeypatch.setattr(viewer.loop.governor, "frame", lambda *_: CHEAPEST)
    viewer.frames_until(lambda: viewer.loop.record.last.quality == CHEAPEST.name)
    viewer.come_to_rest()
    assert viewer.loop.record.last.quality == FULL.name
    viewer.plan(1.0)
    viewer.loop.sleep()
    viewer.loop.frame()
    viewer.loop.frame()
    assert viewer.loop.record.last.quality == CHEAPEST.name


def test_a_paused_picture_comes_to_rest(viewer: Viewer) -> None:
    assert not viewer.loop.is_idle
    viewer.come_to_rest()


def test_a_world_that_publishes_does_not_rest_and_one_that_stopped_does(viewer: Viewer) -> None:
    for _ in range(20):
        viewer.publish()
        viewer.loop.frame()
        assert not viewer.loop.is_idle
    viewer.frames_until(lambda: viewer.loop.is_idle)


@pytest.mark.parametrize("event", ["snapshot", "plan", "scene", "images", "end"])
def test_news_of_physics_ends_the_sleep(viewer: Viewer, event: str, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer.come_to_rest()
    viewer.loop.sleep()  # what waited is taken in
    viewer.frames_until(lambda: viewer.loop.is_idle)
    monkeypatch.setattr(idle, "SLEEP_S", LONG_S)
    slept: list[float] = []
    sleep = viewer.window.wait_events
    tell = {
        "snapshot": viewer.publish,
        "plan": lambda: viewer.plan(1.0),
        "scene": lambda: viewer.host.write_scene(Scene([Sphere(0.7)])),
        "images": lambda: viewer.host.write_overlay("images", *images_as_message([IMAGE])),
        "end": lambda: viewer.host.end(),
    }

    def told_while_asleep(timeout_s: float) -> list[object]:
        tell[event]()
        begin = time.monotonic()
        events: list[object] = sleep(timeout_s)
        slept.append(time.monotonic() - begin)
        return events

    monkeypatch.setattr(viewer.window, "wait_events", told_while_asleep)
    for _ in range(3):  # a wake too many is no harm
        viewer.loop.sleep()
        if not viewer.loop.is_idle or viewer.link.ended is not None:
            break
    assert max(slept) < LONG_S
    if event == "end":
        assert viewer.link.ended is not None
    else:
        assert not viewer.loop.is_idle
        assert viewer.loop.frame().rested_ns > 0


def test_input_ends_the_rest_and_the_next_frame_obeys_it(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer.come_to_rest()
    method = viewer.loop.input.settings.interpolation
    acted_ns = time.perf_counter_ns()
    monkeypatch.setattr(viewer.window, "wait_events", lambda _timeout_s: [Key("I", acted_ns)])
    viewer.loop.sleep()
    assert not viewer.loop.is_idle
    assert viewer.loop.frame().input_acted_ns == acted_ns
    assert viewer.loop.input.settings.interpolation != method


def test_a_window_that_lost_its_picture_is_drawn_again(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer.come_to_rest()
    monkeypatch.setattr(viewer.window, "pop_damage", lambda: True)
    viewer.loop.sleep()
    assert not viewer.loop.is_idle


def test_a_rest_is_in_no_figure(viewer: Viewer) -> None:
    viewer.come_to_rest()
    before = viewer.loop.record.log.count
    viewer.loop.sleep()
    viewer.publish()
    viewer.loop.sleep()
    row = viewer.loop.frame()
    rested_ns = row.rested_ns
    assert rested_ns > 0
    assert viewer.loop.frame().rested_ns == 0
    rows = viewer.loop.record.log.rows
    timing = intervals(rows)
    at = before - int(rows["probe"].sum())
    assert not timing.joined[at]
    assert timing.joined[at + 1]
    assert any(f"in 1 pauses, {rested_ns / 1e9:.1f} s together" in line for line in measure(rows).conditions)


def test_after_a_rest_a_step_plays_on_as_if_frames_had_been_made_all_the_time(viewer: Viewer) -> None:
    """The time that passed without frames is not made up for at once."""
    clock = viewer.loop.stage.main.clock
    viewer.come_to_rest()
    stood_ns = viewer.loop.record.last.draw_time_ns
    now_ns = time.perf_counter_ns() + 60_000 * MS  # a minute of rest
    viewer.loop.stage.pass_still(now_ns)
    viewer.publish()
    viewer.loop.intake.receive()
    clock.replan(Plan(viewer.plans + 1, 0, now_ns, viewer.tick * DT_NS, 0.0))
    assert clock.draw_time_ns(now_ns + MS) - stood_ns <= MS


def test_a_waker_wakes_once_each_time_it_is_armed() -> None:
    woken: list[int] = []
    heard, said = os.pipe()
    came = threading.Semaphore(0)

    def wake() -> None:
        woken.append(1)
        came.release()

    waker = Waker([heard], wake)
    try:
        os.write(said, b"x")
        assert not woken, "not armed"
        for count in (1, 2):
            waker.arm()
            assert came.acquire(timeout=LONG_S)
            assert len(woken) == count
    finally:
        waker.close()
        os.close(heard)
        os.close(said)
