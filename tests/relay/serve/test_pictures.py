"""Screenshots that a program requests, drawn by a page: who is asked, what is written, and what a page cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.relay.page import Page, closed_with
from tests.relay.serve.conftest import PATIENCE_S, Served, served, until
from twixt.ipc.scene import Scene, Sphere
from twixt.relay.serve.pictures import ASKED_BYTES, MOST_PICTURE_BYTES, PNG
from twixt.relay.stream.messages import INVALID, PICTURE_PIECE_BYTES


@pytest.fixture(scope="module")
def lab(runtime_folder: Path) -> Iterator[Served]:
    with served() as made:
        made.simulate(Scene([Sphere(0.1)] * 3))
        made.publish()
        made.serve()
        yield made


def opened(lab: Served) -> Page:
    """A page of which the server knows that it is visible."""
    page = Page(lab.link)
    page.tell(kind="ping", id=1)
    page.heard("pong")
    return page


def answer(page: Page, number: int, size: int, **more: Any) -> None:
    page.tell(kind="picture", number=number, tick=5, size=size, **more)


def send(page: Page, content: bytes) -> None:
    """The picture in pieces, each as soon as it is asked for."""
    for first in range(0, len(content), ASKED_BYTES):
        part = content[first : first + ASKED_BYTES]
        assert page.heard("more")["count"] == len(part)
        for at in range(0, len(part), PICTURE_PIECE_BYTES):
            page.control.send(part[at : at + PICTURE_PIECE_BYTES])


def test_the_asked_page_sends_a_picture_and_the_server_writes_it(lab: Served, tmp_path: Path) -> None:
    content = PNG + bytes(range(256)) * 3000  # more than a page may send in a second without being asked
    with opened(lab) as page, opened(lab) as other:
        shot = lab.host.screenshots.add(str(tmp_path / "a.png"), 3, True)
        asked = page.heard("picture")
        assert (asked["tick"], asked["has_panels"]) == (3, True)
        answer(other, asked["number"], 100)  # it was not asked
        answer(page, asked["number"] + 1, 100)
        answer(page, asked["number"], len(content))
        send(page, content)
        assert shot.wait(PATIENCE_S), shot.error
        assert shot.steps_late == 2
        other.tell(kind="ping", id=2)
        assert other.heard("pong", lambda fields: fields["id"] == 2)
    assert (tmp_path / "a.png").read_bytes() == content
    assert list(tmp_path.iterdir()) == [tmp_path / "a.png"]


def test_a_page_that_cannot_make_it_or_sends_something_else_is_named_as_the_reason(lab: Served, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with opened(lab) as page:
        for size, error, reason in (
            (0, "the picture is too large", "could not make the picture: the picture is too large"),
            (MOST_PICTURE_BYTES + 1, "", "more than 33,554,432; make the page smaller"),
            (5000, "", "the page sent something that is not a PNG file"),
        ):
            shot = lab.host.screenshots.add(str(path), 0, False)
            answer(page, page.heard("picture")["number"], size, error=error)
            if size == 5000:
                send(page, bytes(size))
            assert not shot.wait(PATIENCE_S)
            assert reason in str(shot.error)
    assert not path.exists()


def test_requests_wait_for_each_other_and_end_with_the_page(lab: Served, tmp_path: Path) -> None:
    with opened(lab) as page:
        shots = [lab.host.screenshots.add(str(tmp_path / f"{number}.png"), 0, False) for number in range(3)]
        first = page.heard("picture")["number"]
        answer(page, first, len(PNG))
        send(page, PNG)
        assert shots[0].wait(PATIENCE_S), shots[0].error
        assert page.heard("picture")["number"] == first + 1
    until(lambda: shots[2].is_done, "the answers")
    assert [shot.error for shot in shots[1:]] == [
        "the page was closed before it sent the picture",
        "no page shows the simulation now; open the printed link in a browser, or a window with: twixt view",
    ]


@pytest.mark.parametrize("content", [PNG, b"", bytes(PICTURE_PIECE_BYTES)])
def test_a_page_that_sends_bytes_without_being_asked_is_closed(lab: Served, content: bytes) -> None:
    with opened(lab) as page:
        page.control.send(content)
        assert closed_with(page.control) == INVALID
