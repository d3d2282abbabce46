"""`wp_presentation` against a made-up libwayland: what is asked, in which order, what is believed, what is given back."""

from __future__ import annotations

import ctypes
import time
from ctypes import c_char_p, c_int, c_void_p, cast
from typing import Any

import pytest

from twixt.render.display import wayland
from twixt.render.display.present_times import MOST_OPEN, offset_ns
from twixt.render.display.wayland import WaylandPresentation

DISPLAY, SURFACE, REGISTRY, PRESENTATION = 0x10, 0x20, 0x30, 0x40
NS = 1_000_000_000


class Wayland:
    """As much of libwayland-client as is called; `events` are given out by the next dispatch."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.alive: set[int] = set()
        self.feedbacks: list[int] = []
        self.listeners: dict[int, int] = {}
        self.requests: list[str] = []
        self.is_gone = False
        self.queues = 0

    def wl_display_create_queue(self, _display: Any) -> int:
        self.queues += 1
        return 0x99

    def wl_event_queue_destroy(self, _queue: Any) -> None:
        assert not self.alive, "the queue goes last"
        self.queues -= 1

    def wl_proxy_create_wrapper(self, _proxy: Any) -> int:
        return self._made(0x11)

    def wl_proxy_wrapper_destroy(self, wrapper: c_void_p) -> None:
        self.alive.remove(wrapper.value or 0)

    def wl_proxy_set_queue(self, _proxy: Any, _queue: Any) -> None:
        pass

    def wl_display_flush(self, _display: Any) -> int:
        return -1 if self.is_gone else 0

    def wl_proxy_add_listener(self, proxy: c_void_p, listener: int, _data: Any) -> int:
        self.listeners[proxy.value or 0] = listener
        return 0

    def wl_proxy_destroy(self, proxy: c_void_p) -> None:
        self.alive.remove(proxy.value or 0)  # a KeyError: twice, or never made

    def wl_proxy_marshal(self, proxy: c_void_p, opcode: Any) -> None:
        self.requests.append(f"{proxy.value:#x}.{opcode.value}")

    def wl_proxy_marshal_constructor(self, proxy: c_void_p, *_arguments: Any) -> int:
        if proxy.value != PRESENTATION:
            return self._made(REGISTRY)
        self.feedbacks.append(self._made(0x1000 + 8 * len(self.feedbacks)))
        return self.feedbacks[-1]

    def wl_proxy_marshal_constructor_versioned(self, *_arguments: Any) -> int:
        self.requests.append("bind")
        return self._made(PRESENTATION)

    def wl_display_dispatch_queue_pending(self, _display: Any, _queue: Any) -> int:
        events, self.events = self.events, []
        if self.is_gone:
            return -1
        for proxy, event, *arguments in events:
            if proxy in self.alive:  # the library drops what comes for an object that is not held any more
                kind = {REGISTRY: wayland._RegistryListener, PRESENTATION: wayland._ClockListener}.get(
                    proxy, wayland._FeedbackListener
                )
                getattr(kind.from_address(self.listeners[proxy]), event)(None, proxy, *arguments)
        return len(events)

    def _made(self, address: int) -> int:
        assert address not in self.alive
        self.alive.add(address)
        return address


@pytest.fixture
def wl(monkeypatch):
    monkeypatch.setattr(wayland, "symbol", lambda _library, _name: 0x77)
    return Wayland()


def bound(wl: Wayland, clock_id: int = time.CLOCK_MONOTONIC) -> WaylandPresentation:
    presentation = WaylandPresentation(DISPLAY, SURFACE, wl)  # type: ignore[arg-type]
    wl.events = [
        (REGISTRY, "global_", 1, b"wl_compositor", 4),
        (REGISTRY, "global_", 2, b"wp_presentation", 1),
        (REGISTRY, "global_", 3, b"wp_presentation", 1),
    ]
    presentation.drain()
    wl.events = [(PRESENTATION, "clock_id", clock_id)]
    presentation.drain()
    return presentation


def shown(feedback: int, at_ns: int, refresh_ns: int = 16_666_666, flags: int = 0) -> tuple[Any, ...]:
    seconds = at_ns // NS
    return feedback, "presented", seconds >> 32, seconds & 0xFFFFFFFF, at_ns % NS, refresh_ns, 0, 7, flags


def test_it_is_bound_once_and_only_where_it_is_advertised(wl):
    presentation = bound(wl)
    assert wl.requests == ["bind"]
    presentation.close()
    assert wl.alive == set()
    assert wl.queues == 0
    other = WaylandPresentation(DISPLAY, SURFACE, wl)
    wl.events = [(REGISTRY, "global_", 1, b"wl_compositor", 4)]
    for number in range(MOST_OPEN + 2):
        other.ask(number)
        assert other.drain() == []
    assert "no wp_presentation" in other.given_up
    assert wl.alive == set()
    assert wl.queues == 0
    assert wl.requests == ["bind", f"{PRESENTATION:#x}.0"]


def test_an_answer_carries_instant_refresh_and_flags(wl):
    presentation = bound(wl)
    presentation.ask(5)
    at_ns = time.perf_counter_ns()
    wl.events = [(wl.feedbacks[0], "sync_output", 0xABC), shown(wl.feedbacks[0], at_ns, flags=1 | 2 | 8)]
    (said,) = presentation.drain()
    assert said == (5, at_ns, 16_666_666, "vsync hw-clock zero-copy")
    assert presentation.output == 0xABC
    assert wl.feedbacks[0] not in wl.alive


def test_a_refresh_of_nought_is_unknown_and_discarded_is_said(wl):
    presentation = bound(wl)
    presentation.ask(1)
    presentation.ask(2)
    wl.events = [(wl.feedbacks[0], "discarded"), shown(wl.feedbacks[1], time.perf_counter_ns(), refresh_ns=0)]
    discarded, seen = presentation.drain()
    assert (discarded.swap_number, discarded.was_shown) == (1, False)
    assert (seen.swap_number, seen.refresh_ns) == (2, None)
    presentation.close()
    assert wl.alive == set()


def test_answers_may_come_late_and_in_any_order(wl):
    presentation = bound(wl)
    for number in range(6):
        presentation.ask(number)
    now_ns = time.perf_counter_ns()
    wl.events = [shown(wl.feedbacks[at], now_ns + at) for at in (0, 2)] + [shown(wl.feedbacks[1], now_ns + 1)]
    assert [said.swap_number for said in presentation.drain()] == [0, 2]
    presentation.close()
    assert wl.alive == set()
    assert wl.queues == 0


@pytest.mark.parametrize("numbers", [(0, 0, 0), (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF), (0, 5, 4_000_000_000)])
def test_an_instant_out_of_range_is_no_present(wl, numbers):
    presentation = bound(wl)
    presentation.ask(1)
    wl.events = [(wl.feedbacks[0], "presented", *numbers, 16_666_666, 0, 0, 0)]
    assert presentation.drain() == []
    assert wl.feedbacks[0] not in wl.alive


def test_a_compositor_that_never_answers_is_given_up_and_everything_given_back(wl):
    presentation = bound(wl)
    for number in range(MOST_OPEN + 5):
        presentation.ask(number)
        assert presentation.drain() == []
    assert "never answers" in presentation.given_up
    assert len(wl.feedbacks) == MOST_OPEN + 1
    assert wl.alive == set()
    assert wl.queues == 0
    presentation.close()


@pytest.mark.parametrize("clock_id", [99, 123_456, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFA, 0xFFFFFFFF])
def test_a_clock_that_does_not_exist_ends_the_asking(wl, clock_id, capfd):
    presentation = bound(wl, clock_id=clock_id)
    presentation.ask(1)
    assert str(clock_id) in presentation.given_up
    assert capfd.readouterr().err == "", "nothing was raised into the library that calls"
    assert wl.feedbacks == []
    assert wl.alive == set()


def test_another_clock_is_converted(wl):
    presentation = bound(wl, clock_id=time.CLOCK_REALTIME)
    presentation.ask(1)
    before_ns = time.perf_counter_ns()
    wl.events = [shown(wl.feedbacks[0], time.time_ns())]
    (said,) = presentation.drain()
    assert abs(said.present_ns - before_ns) < NS


def test_a_compositor_that_goes_leaves_nothing_and_harms_nothing(wl):
    presentation = bound(wl)
    presentation.ask(1)
    wl.is_gone = True
    assert presentation.drain() == []
    presentation.close()
    presentation.close()
    presentation.ask(2)
    assert presentation.drain() == []
    assert wl.alive == set()
    assert wl.queues == 0


def test_the_clocks_of_this_machine_are_known_and_others_are_not():
    assert offset_ns(time.CLOCK_MONOTONIC) == 0
    realtime_ns = offset_ns(time.CLOCK_REALTIME)
    assert realtime_ns is not None
    assert abs(time.time_ns() + realtime_ns - time.perf_counter_ns()) < NS
    assert offset_ns(None) is None
    assert offset_ns(99) is None
    assert offset_ns(0xFFFFFFFF) is None


def test_the_protocol_is_written_down_as_it_is_published(wl):
    presentation = WaylandPresentation(DISPLAY, SURFACE, wl)
    presented = presentation._protocol.feedback
    asked = presentation._protocol.presentation
    assert [presented.events[i].signature for i in range(presented.event_count)] == [b"o", b"uuuuuuu", b""]
    assert [asked.methods[i].name for i in range(asked.method_count)] == [b"destroy", b"feedback"]
    assert asked.methods[1].types[1] == ctypes.addressof(presented)
    assert (cast(asked.name, c_char_p).value, c_int(asked.version).value) == (b"wp_presentation", 1)
