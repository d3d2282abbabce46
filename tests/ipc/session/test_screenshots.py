"""Requests of screenshots on their way to the viewer, and its answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.session import wire
from twixt.ipc.session.screenshots import (
    BY_A_PAGE,
    LONGEST_PATH,
    MOST_REQUESTS,
    NO_PICTURES,
    ScreenshotRequest,
    ScreenshotRequests,
    screenshot_path,
)

Until = Callable[[Callable[[], Any]], Any]


class Viewer:
    """What is posted to a viewer."""

    def __init__(self) -> None:
        self.posted: dict[str, wire.Message] = {}

    def post(self, kind: str, content: bytes) -> None:
        (self.posted[kind],) = wire.Inbox(1 << 20).feed(content)

    @property
    def requests(self) -> list[ScreenshotRequest]:
        return [ScreenshotRequest.from_fields(message.fields) for message in self.posted.values()]


def new() -> ScreenshotRequests:
    return ScreenshotRequests(tuple)


def test_requests_go_to_a_viewer_in_order_and_its_answers_end_them() -> None:
    requests, viewer = new(), Viewer()
    first, second = requests.add("/a.png", 3, False), requests.add("/b.png", -1, True)
    assert requests.are_waiting
    requests.post_to(viewer)
    assert not requests.are_waiting
    assert [(one.path, one.tick, one.has_panels) for one in viewer.requests] == [
        ("/a.png", 3, False),
        ("/b.png", -1, True),
    ]
    assert not first.is_done
    assert not first.wait(0.0)
    requests.answer(viewer, {"number": viewer.requests[0].number, "tick": 3, "error": None})
    requests.answer(viewer, {"number": viewer.requests[1].number, "tick": 3, "error": "the disk is full"})
    assert first.is_done
    assert first.error is None
    assert first.wait()
    assert second.is_done
    assert second.error == "the disk is full"
    assert not second.wait()


def test_an_answer_of_another_viewer_or_to_no_request_changes_nothing() -> None:
    requests, viewer = new(), Viewer()
    screenshot = requests.add("/a.png", 0, False)
    requests.post_to(viewer)
    requests.answer(Viewer(), {"number": viewer.requests[0].number, "tick": 3, "error": None})
    requests.answer(viewer, {"number": 99, "tick": 3, "error": None})
    assert not screenshot.is_done
    for fields in ({"number": "1"}, {"number": 1, "error": 3}, {}):
        with pytest.raises(TwixtError):
            requests.answer(viewer, fields)


def test_a_viewer_that_disconnects_fails_its_requests_and_each_reason_is_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    requests, viewer = new(), Viewer()
    lost = [requests.add(f"/{number}.png", 0, False) for number in range(3)]
    requests.post_to(viewer)
    waiting = requests.add("/later.png", 0, False)
    requests.viewer_gone(viewer, False)
    assert [one.error for one in lost] == ["the viewer was closed before it wrote the picture"] * 3
    assert not waiting.is_done
    requests.viewer_gone(Viewer(), True)
    assert waiting.error == "the viewer was closed before it wrote the picture"
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "twixt: no screenshot in /0.png: the viewer was closed before it wrote the picture",
    ]


def test_too_many_requests_fail_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    requests, viewer = new(), Viewer()
    for number in range(MOST_REQUESTS):
        assert not requests.add(f"/{number}.png", 0, False).is_done
        requests.post_to(viewer)
    more = [requests.add("/more.png", 0, False) for _ in range(100)]
    assert all(one.is_done and one.error for one in more)
    assert capsys.readouterr().err.count("16 screenshots are already waiting") == 1


def test_a_path_is_made_absolute_in_the_programs_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert screenshot_path("ep.png") == str(tmp_path / "ep.png")
    assert screenshot_path(Path("a") / ".." / "ep.PNG") == str(tmp_path / "ep.PNG")
    assert screenshot_path("~/ep.png") == "/home/somebody/ep.png"


@pytest.mark.parametrize("path", [None, 3, b"a.png", "", "a", "a.jpg", "a\0.png", "a\n.png", "\udcff.png",
                                  "x" * LONGEST_PATH + ".png"])  # fmt: skip
def test_a_path_that_names_no_png_file_is_refused(path: Any) -> None:
    with pytest.raises(TwixtError) as error:
        screenshot_path(path)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize(
    "changed",
    [{"path": "a.png"}, {"path": 3}, {"path": "/a\0.png"}, {"tick": None}, {"number": 1.5}, {"has_panels": 1}],
)
def test_a_damaged_request_is_refused(changed: dict[str, Any]) -> None:
    fields = {"number": 1, "path": "/a.png", "tick": 0, "has_panels": False}
    assert ScreenshotRequest.from_fields(fields).path == "/a.png"
    with pytest.raises(wire.WireError):
        ScreenshotRequest.from_fields({**fields, **changed})


def test_the_viewer_that_is_attached_longest_gets_them_and_a_late_one_after_it(channel: Any, until: Until) -> None:
    host = channel.open(4)
    shot = host.screenshots.add("/early.png", 7, False)
    first = channel.attach()
    second = channel.attach()
    until(lambda: (first.poll(), first.received.screenshots)[1])
    (request,) = first.received.screenshots
    assert (request.path, request.tick) == ("/early.png", 7)
    assert first.answer_screenshot(request.number, request.tick + 7, None)
    assert shot.wait(60)
    assert shot.steps_late == 7
    lost = host.screenshots.add("/lost.png", 8, True)
    until(lambda: (first.poll(), len(first.received.screenshots) == 2)[1])
    second.poll()
    assert second.received.screenshots == []
    first.close()
    until(lambda: lost.is_done)
    host.screenshots.add("/next.png", 9, False)
    until(lambda: (second.poll(), second.received.screenshots)[1])
    host.end()


def test_the_end_of_the_host_fails_what_is_not_written(channel: Any, capsys: pytest.CaptureFixture[str]) -> None:
    host = channel.open(4)
    shot = host.screenshots.add("/a.png", 0, False)
    host.end()
    assert shot.error == "the view was closed before the viewer wrote the picture"
    assert capsys.readouterr().err.count("no screenshot in /a.png") == 1


def test_the_text_of_a_failure_is_printable(capsys: pytest.CaptureFixture[str]) -> None:
    requests, viewer = new(), Viewer()
    screenshot = requests.add("/a.png", 0, False)
    requests.post_to(viewer)
    answer = {"number": viewer.requests[0].number, "tick": 0, "error": "\x1b[31mred\nline"}
    requests.answer(viewer, answer)
    assert screenshot.error == " [31mred line"
    assert capsys.readouterr().err.count("\n") == 1


def test_a_window_gets_them_before_a_page_and_a_guest_without_pictures_never(channel: Any, until: Until) -> None:
    host = channel.open(4)
    without, page = channel.attach(pictures=NO_PICTURES), channel.attach(pictures=BY_A_PAGE)
    host.screenshots.add("/page.png", 0, False)
    until(lambda: (page.poll(), page.received.screenshots)[1])
    window = channel.attach()
    host.screenshots.add("/window.png", 0, False)
    until(lambda: (window.poll(), window.received.screenshots)[1])
    window.close()
    until(lambda: host.viewers == 2)
    last = host.screenshots.add("/page.png", 0, False)
    until(lambda: (page.poll(), len(page.received.screenshots) == 2)[1])
    page.close()
    until(lambda: last.is_done)
    without.poll()
    assert without.received.screenshots == []
    host.end()


def test_requests_outlive_a_guest_without_pictures_and_wait_for_a_viewer(channel: Any, until: Until) -> None:
    host = channel.open(4)
    guest = channel.attach(pictures=NO_PICTURES)
    waiting = host.screenshots.add("/a.png", 0, False)
    guest.close()
    until(lambda: host.viewers == 0)
    viewer = channel.attach()
    until(lambda: (viewer.poll(), viewer.received.screenshots)[1])
    assert not waiting.is_done
    host.end()
