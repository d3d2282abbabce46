"""Actions of a page's user: what reaches the simulation, at which rate, and what ends with the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import twixt
from tests.relay.page import Page, closed_with
from tests.relay.serve.conftest import PATIENCE_S, Served, served, stopped, until
from twixt.ipc.interaction.events import UserEvent
from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.relay.serve.controller import MOST_CONTROLLERS
from twixt.relay.stream.messages import INVALID

pytestmark = pytest.mark.slow

BALLS = Scene([Sphere(0.1)] * 3, camera=Camera((3, 0, 0)))
PRESS = {"name": "key", "key": 65, "action": "press"}


@pytest.fixture(scope="module")
def lab(runtime_folder: Path) -> Iterator[Served]:
    with served() as made:
        made.simulate(BALLS)
        made.publish()
        made.serve()
        yield made


def act(page: Page, kind: str, **fields: Any) -> None:
    page.tell(kind="action", action=kind, fields=fields)


def events(lab: Served, count: int) -> list[UserEvent]:
    """The next events of the program."""
    found: list[UserEvent] = []

    def are_there() -> bool:
        while event := lab.host.actions.next_event():
            found.append(event)
        return len(found) >= count

    until(are_there, f"{count} events")
    return found


def test_an_event_arrives_with_instants_of_the_servers_clock(lab: Served) -> None:
    with Page(lab.link) as page:
        act(page, "event", **PRESS, acted_ns=5, draw_time_ns="9007199254740993", pointer_px=[1.5, 2], pointer=[1, 2, 3])
        assert events(lab, 1) == [
            UserEvent(
                "key", 65, acted_ns=int(page.welcome["origin_ns"]) + 5, draw_time_ns=9007199254740993, key_name="a",
                pointer_px=(1.5, 2), pointer=(1, 2, 3),
            )
        ]  # fmt: skip
        assert "a" in lab.host.actions.keys.down
        act(page, "look", camera={"eye": [1, 2, 3]}, camera_version=1, size_px=[300, 100], is_moved=True)
        until(lambda: lab.host.actions.moved is not None, "the view")
        assert lab.host.actions.moved.camera.eye == (1, 2, 3)
    assert events(lab, 1)[0].action == "release", "keys of a page that has left are down"


def test_a_pull_ends_with_its_page(lab: Served) -> None:
    with Page(lab.link) as page:
        act(page, "pull", body=1, force=[1, 2, 3], at=[0, 0, 1])
        until(lambda: lab.host.actions.pulls, "the pull")
        assert [(pull.body, pull.force) for pull in lab.host.actions.pulls] == [(1, (1, 2, 3))]
        act(page, "pull", body=None)
        until(lambda: not lab.host.actions.pulls, "the end of the pull")
        act(page, "pull", body=2)
        until(lambda: lab.host.actions.pulls, "another pull")
    until(lambda: not lab.host.actions.pulls, "the end of the pull of a page that has left")


def test_a_pull_and_held_keys_of_a_page_that_falls_silent_end(lab: Served) -> None:
    with Page(lab.link) as page:
        act(page, "event", **PRESS)
        act(page, "pull", body=1)
        until(lambda: lab.host.actions.pulls, "the pull")
        until(lambda: not lab.host.actions.pulls, "the end of the pull of a silent page")
        assert [event.action for event in events(lab, 2)] == ["press", "release"]
        act(page, "pull", body=2)
        until(lambda: lab.host.actions.pulls, "the pull of a page that speaks again")


def test_of_a_flood_every_event_arrives_in_order_and_of_pulls_the_newest(lab: Served) -> None:
    with Page(lab.link) as page:
        for number in range(100):
            act(page, "event", name="click", button="left", clicks=number)
            act(page, "pull", body=0, target=[number, 0, 0])
            act(page, "look", camera={"eye": [number, 0, 1]}, camera_version=1, size_px=[9, 9])
        counts: list[int] = []
        while len(counts) < 100:
            counts += [event.clicks for event in events(lab, 1)]
        assert counts == list(range(100))
        until(lambda: [pull.target[0] for pull in lab.host.actions.pulls] == [99], "the newest pull")
        until(lambda: lab.host.actions.look.camera.eye[0] == 99, "the newest view")
        page.tell(kind="ping", id=1)
        assert page.heard("pong")["id"] == 1


@pytest.mark.parametrize(
    "action",
    [
        {"action": "quit", "fields": {}},
        {"action": "event"},
        {"action": "event", "fields": {"name": "key", "key": 5000}},
        {"action": "event", "fields": {"name": "key", "more": 1}},
        {"action": "event", "fields": {"name": "key", "acted_ns": "1"}},
        {"action": "event", "fields": {"name": "key", "draw_time_ns": 1}},
        {"action": "pull", "fields": {"body": 1, "force": [float("nan"), 0, 0]}},
        {"action": "pull", "fields": {"body": -1}},
        {"action": "look", "fields": {"camera": 1, "camera_version": 1, "size_px": [1, 1]}},
        {"action": ["pull"], "fields": {}},
    ],
)
def test_an_action_that_breaks_a_rule_closes_the_page(lab: Served, action: dict[str, Any]) -> None:
    with Page(lab.link) as page:
        page.tell(kind="action", **action)
        assert closed_with(page.control) == INVALID


def test_more_pages_than_may_control_are_refused_but_not_for_their_views(lab: Served) -> None:
    pages = [Page(lab.link) for _ in range(MOST_CONTROLLERS + 1)]
    try:
        for page in pages[:-1]:
            act(page, "event", name="reset")
        events(lab, MOST_CONTROLLERS)
        last = pages[-1]
        act(last, "look", camera={"eye": [1, 2, 3]}, camera_version=1, size_px=[9, 9])
        act(last, "pull", body=1)
        assert last.heard("refused")["name"] == "pull"
    finally:
        for page in pages:
            page.close()


def present(page: Page, x: float, at_ns: int = 0, begins: bool = False) -> None:
    act(page, "present", camera={"eye": [x, 0, 1]}, at_ns=at_ns, begins=begins)


def eye_x(fields: dict[str, Any]) -> float | None:
    return None if fields["camera"] is None else fields["camera"]["eye"][0]


def test_a_presented_camera_reaches_the_other_pages_until_its_page_leaves_and_the_newest_presenter_wins(
    lab: Served,
) -> None:
    with Page(lab.link) as watcher, Page(lab.link) as first:
        present(first, 1, begins=True)
        assert eye_x(watcher.heard("presented")) == 1
        watcher.tell(kind="ping", id=1)
        now_ns = watcher.heard("pong")["at_ns"]
        present(first, 2, now_ns + 3_600_000_000_000)
        fields = watcher.heard("presented", lambda fields: eye_x(fields) == 2)
        assert now_ns < fields["at_ns"] < now_ns + PATIENCE_S * 1e9, "its instant is far in the future"
        with Page(lab.link) as second:
            known = second.heard("presented")
            assert (eye_x(known), known["begun"]) == (2, 1)
            present(second, 3, begins=True)
            newer = first.heard("presented")
            assert (eye_x(newer), newer["begun"]) == (3, 2)
            present(first, 4)  # it was sent before the first page knew of the second one
            present(second, 5)
            heard = [eye_x(watcher.heard("presented"))]
            while heard[-1] != 5:
                heard.append(eye_x(watcher.heard("presented")))
            assert set(heard) <= {3, 5}
        for page in (watcher, first):
            page.heard("presented", lambda fields: eye_x(fields) is None)
        present(first, 6, begins=True)
        act(first, "present", camera=None, at_ns=0, begins=False)
        assert eye_x(watcher.heard("presented", lambda fields: eye_x(fields) != 6)) is None


def test_of_a_flood_of_presented_cameras_a_page_gets_a_few_a_second_and_the_newest(lab: Served) -> None:
    with Page(lab.link) as watcher, Page(lab.link) as presenter:
        began_s = time.monotonic()
        for number in range(200):
            present(presenter, number, begins=True)
        heard = [eye_x(watcher.heard("presented"))]
        while heard[-1] != 199:
            heard.append(eye_x(watcher.heard("presented")))
        assert len(heard) <= 2 + 31 * (time.monotonic() - began_s)
        assert heard == sorted(heard)


def test_a_link_without_control_sends_no_action(runtime_folder: Path) -> None:
    with served() as made:
        made.simulate(BALLS)
        made.publish()
        with Page(made.serve("--no-control")) as page:
            assert page.welcome["may_control"] is False
            act(page, "pull", body=1)
            assert page.heard("refused")["name"] == "pull"
            assert made.host.actions.pulls == ()
            present(page, 1, begins=True)
            assert page.heard("refused")["name"] == "present"


MUJOCO = """
import mujoco
from twixt import mujoco_viewer

model = mujoco.MjModel.from_xml_string(
    "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><geom size='0.1'/></body></worldbody></mujoco>"
)
data = mujoco.MjData(model)
said = lambda *words: print(*words, flush=True)
with mujoco_viewer.launch_passive(model, data, key_callback=lambda code: said("key", code), viewer="web") as viewer:
    was_pulled = False
    while viewer.is_running():
        mujoco.mj_step(model, data)
        viewer.sync()
        if (is_pulled := bool(data.xfrc_applied[1].any())) != was_pulled:
            was_pulled = is_pulled
            said("pulled" if is_pulled else "free")
"""


def test_a_mujoco_program_gets_keys_and_pulls_of_the_page(runtime_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    script = tmp_path / "script.py"
    script.write_text(MUJOCO)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(str(twixt.__file__)).parent)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        link = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+#\S+", line)))
        with Page(link) as page:
            body = int(page.snapshot().head["count"]) - 1
            act(page, "event", **PRESS)
            assert process.stdout.readline() == "key 65\n"
            act(page, "pull", body=body, target=[1, 0, 0], force=[1, 0, 0])
            assert process.stdout.readline() == "pulled\n"
        assert process.stdout.readline() == "free\n"
    finally:
        stopped(process)
