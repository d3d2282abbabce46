"""Controls of a user's own loop, between the loop and the knobs of a viewer that is attached to it."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.sim.watched import BALLS, Watched
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.controls import Slider
from twixt.ipc.session import running
from twixt.render.input.sliders import Knobs, Turn
from twixt.sim.show.show import show
from twixt.sim.show.view import View

PATIENCE_S = 30.0


class Turning(Watched):
    """A view, and the knobs of a viewer that is attached to it."""

    def __init__(self) -> None:
        super().__init__()
        self.knobs, self.now_ns = Knobs(), 0

    def until(self, is_so: Callable[[], bool]) -> None:
        """Publishes and takes messages in turn until `is_so`. The knobs' clock runs a second a turn: they never wait for
        an answer."""
        limit = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < limit, f"never came; the status is {self.link.status}"
            self.view.publish(position=[[0, 0, 0]])
            self.link.wait(0.02)
            self.link.poll()
            self.now_ns += 1_000_000_000
            self.knobs.offer(self.link.status.get("controls", ()), self.now_ns)

    def shown(self) -> list[tuple[str, float]]:
        """Names and values of the knobs that are offered now."""
        keys = self.knobs.offer(self.link.status.get("controls", ()), self.now_ns)
        return [(self.knobs.knob(key).name, self.knobs.figures(key)[0]) for key in keys]

    def turn(self, index: int, value: float) -> None:
        """The viewer's user sets a control."""
        self.knobs.turn(Turn(f"control {index}", 0, value, released=True))
        self.now_ns += 1_000_000_000
        for command in self.knobs.due(self.now_ns, 0).commands:
            self.link.send(command)


@pytest.fixture
def turning() -> Iterator[Turning]:
    made = Turning()
    yield made
    made.link.close()
    made.view.close()


def test_what_a_viewer_sets_arrives_and_what_the_program_assigns_is_shown(turning: Turning) -> None:
    view = turning.view
    gravity, wind = view.slider("gravity", 9.81, 0, 20), view.toggle("wind", True, section="air")
    turning.until(lambda: turning.shown() == [("gravity", 9.81), ("wind", 1.0)])
    assert [control[5] for control in turning.link.status["controls"]] == ["controls", "air"]
    turning.turn(0, 4.5)
    turning.turn(1, 0.0)
    turning.until(lambda: gravity.value == 4.5 and not wind.value)
    gravity.value, wind.value = 3, True
    turning.until(lambda: turning.shown() == [("gravity", 3.0), ("wind", 1.0)])
    assert (gravity.value, wind.value) == (3.0, True)
    more = view.slider("more", -1, -2, 2)
    turning.until(lambda: len(turning.shown()) == 3)
    turning.turn(2, 1.0)
    turning.until(lambda: more.value == 1.0)
    assert view.controls == (gravity, wind, more)


def test_a_press_counts_once(turning: Turning) -> None:
    kick = turning.view.button("kick")
    turning.until(lambda: bool(turning.shown()))
    assert not kick.pressed()
    for _ in range(2):
        turning.turn(0, 1.0)
        turning.until(kick.pressed)
        for _ in range(5):
            turning.view.publish()
            assert not kick.pressed()


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (lambda view: view.slider("g", 1, 5, 5), "Slider 'g': low must be below high, got 5 and 5"),
        (lambda view: view.slider("g", 6, 0, 5), "Slider 'g': value must be from 0 to 5, got 6"),
        (lambda view: view.toggle("w", "on"), "Toggle.value must be True or False, got 'on'"),
        (lambda view: view.button(""), "Button: name must be a text"),
        (lambda view: view.slider("there", 1, 0, 5), "this view has a control 'there' in the section 'controls'; give"),
        (lambda view: [view.button(f"b{i}") for i in range(200)], "may have 192 controls at most, got 193"),
    ],
)
def test_what_cannot_be_offered_is_refused_and_what_was_there_stays(turning: Turning, offer: Any, words: str) -> None:
    there = turning.view.toggle("there")
    with pytest.raises(TwixtError, match=words):
        offer(turning.view)
    assert turning.view.controls[0] is there


def test_a_closed_view_offers_nothing_and_its_controls_keep_their_values() -> None:
    view = show(BALLS, viewer=False)
    gravity = view.slider("gravity", 9.81, 0, 20)
    view.close()
    gravity.value = 3
    assert gravity.value == 3
    with pytest.raises(TwixtError, match="this view is closed, so it can offer no button 'kick'; open another"):
        view.button("kick")


def test_a_control_that_is_kept_keeps_no_view_open() -> None:
    def kept() -> tuple[Slider, weakref.ref[View]]:
        view = show(BALLS, viewer=False)
        return view.slider("gravity", 9.81, 0, 20), weakref.ref(view)

    gravity, of_view = kept()
    gc.collect()
    assert of_view() is None
    assert running() == []
    gravity.value = 3
