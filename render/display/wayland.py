"""Reads present times on Wayland, from `wp_presentation` (protocol presentation-time, version 1). Also waits for frame
callbacks.

The protocol has few messages. The messages are written here as libwayland's structures, so no code generator and no
Python binding is needed. Requests never wait. Events arrive while frames are made. The registry's events, the clock's
events and each frame's events have separate queues.

Always: if the compositor lacks the protocol or never reports, it is no longer asked after `MOST_OPEN` frames. `close`
destroys all objects, even if the compositor has ended. All calls come from the thread that owns the window.
"""

from __future__ import annotations

import ctypes
import select
import time
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_uint32, c_void_p, cast
from typing import Protocol

from twixt.render.display.present_times import MOST_OPEN, Answers, Presented, offset_ns

GLOBAL = b"wp_presentation"
# Names of the bits of wp_presentation_feedback.kind.
FLAGS = {1: "vsync", 2: "hw-clock", 4: "hw-completion", 8: "zero-copy"}
NS_A_SECOND = 1_000_000_000

# Opcodes of requests, in this order: wl_display.get_registry, wl_registry.bind, wp_presentation.destroy,
# wp_presentation.feedback.
_GET_REGISTRY, _BIND = 1, 0
_DESTROY, _FEEDBACK = 0, 1


class _Message(Structure):
    _fields_ = [("name", c_char_p), ("signature", c_char_p), ("types", POINTER(c_void_p))]


class _Interface(Structure):
    _fields_ = [
        ("name", c_char_p), ("version", c_int),
        ("method_count", c_int), ("methods", POINTER(_Message)),
        ("event_count", c_int), ("events", POINTER(_Message)),
    ]  # fmt: skip


_GLOBAL = CFUNCTYPE(None, c_void_p, c_void_p, c_uint32, c_char_p, c_uint32)
_GLOBAL_REMOVE = CFUNCTYPE(None, c_void_p, c_void_p, c_uint32)
_CLOCK_ID = CFUNCTYPE(None, c_void_p, c_void_p, c_uint32)
_SYNC_OUTPUT = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
_PRESENTED = CFUNCTYPE(None, c_void_p, c_void_p, *[c_uint32] * 7)
_DISCARDED = CFUNCTYPE(None, c_void_p, c_void_p)


class _RegistryListener(Structure):
    _fields_ = [("global_", _GLOBAL), ("global_remove", _GLOBAL_REMOVE)]


class _ClockListener(Structure):
    _fields_ = [("clock_id", _CLOCK_ID)]


class _FeedbackListener(Structure):
    _fields_ = [("sync_output", _SYNC_OUTPUT), ("presented", _PRESENTED), ("discarded", _DISCARDED)]


class _Protocol:
    """The protocol's interfaces as libwayland's structures. These structures must exist longer than the objects that
    are made with them. The argument of the event sync_output has no type here, because GLFW made the object that it
    names."""

    def __init__(self, wl: ctypes.CDLL) -> None:
        nothing = (c_void_p * 8)()
        surface = symbol(wl, "wl_surface_interface")
        self.feedback = _interface(
            b"wp_presentation_feedback", [], [(b"sync_output", b"o"), (b"presented", b"uuuuuuu"), (b"discarded", b"")],
            nothing,
        )  # fmt: skip
        asked = (c_void_p * 2)(surface, ctypes.addressof(self.feedback))
        self.presentation = _interface(
            GLOBAL, [(b"destroy", b""), (b"feedback", b"on")], [(b"clock_id", b"u")], nothing
        )
        self.presentation.methods[_FEEDBACK].types = cast(asked, POINTER(c_void_p))
        self._kept = nothing, asked


class WaylandPresentation:
    """Asks a compositor when it showed the frames of one surface.

    way: name of the protocol. output: address of the wl_output object of the monitor that last showed a frame, or 0
    while it is unknown.
    """

    way = GLOBAL.decode()

    def __init__(self, display: int, surface: int, wl: ctypes.CDLL | None = None) -> None:
        """display: address of the wl_display. surface: address of the wl_surface. wl: the library
        libwayland-client."""
        self._wl = wl = wl or library()
        self._display, self._surface = c_void_p(display), c_void_p(surface)
        self._answers = Answers()
        self._number_of: dict[int, int] = {}  # number of each swap, by the address of its feedback object
        self._clock_id: int | None = None
        # address of the wp_presentation object; number of frames without this object
        self._presentation = self._unable = 0
        self.output = 0
        self._protocol = _Protocol(wl)
        self._make_listeners()
        self._queue = c_void_p(wl.wl_display_create_queue(self._display))
        self._wrapper = c_void_p(wl.wl_proxy_create_wrapper(self._display))
        wl.wl_proxy_set_queue(self._wrapper, self._queue)
        registry = symbol(wl, "wl_registry_interface")
        self._registry = wl.wl_proxy_marshal_constructor(
            self._wrapper, c_uint32(_GET_REGISTRY), c_void_p(registry), c_void_p(None)
        )
        wl.wl_proxy_add_listener(c_void_p(self._registry), ctypes.addressof(self._registry_listener), None)
        wl.wl_display_flush(self._display)

    @property
    def given_up(self) -> str:
        """Reason why the compositor is no longer asked, or "" while it is asked."""
        return self._answers.given_up

    def ask(self, swap_number: int) -> None:
        """Asks for feedback about the next commit of the surface. The swap makes this commit, so call this just before
        the swap."""
        if self.given_up:
            return
        if not self._presentation or self._clock_id is None:
            self._unable += 1
            if self._unable > MOST_OPEN:
                self._answers.give_up("the compositor has no wp_presentation")
            return
        feedback = self._wl.wl_proxy_marshal_constructor(
            c_void_p(self._presentation), c_uint32(_FEEDBACK), ctypes.byref(self._protocol.feedback), self._surface,
            c_void_p(None),
        )  # fmt: skip
        if not feedback:
            self._answers.give_up("the compositor accepts no more requests")
            return
        self._wl.wl_proxy_add_listener(c_void_p(feedback), ctypes.addressof(self._feedback_listener), None)
        self._number_of[feedback] = swap_number
        dropped = self._answers.asked(swap_number, time.perf_counter_ns())
        if dropped is not None:
            self._forget(dropped)

    def swapped(self) -> None:
        """Does nothing."""

    def drain(self) -> list[Presented]:
        """Returns the reports received since the last call. Does not read the socket, because the window reads it."""
        if self._registry:
            self._wl.wl_display_dispatch_queue_pending(self._display, self._queue)
            if self.given_up:
                self._release_objects()
        return self._answers.drain()

    def close(self) -> None:
        """Destroys all objects. This may be called more than once, and after the compositor has ended."""
        self._answers.give_up("closed")
        if self._registry:
            self._release_objects()

    # -- events of the compositor

    def _on_global(self, _data: int, registry: int, name: int, interface: bytes, _version: int) -> None:
        if interface != GLOBAL or self._presentation:
            return
        self._presentation = self._wl.wl_proxy_marshal_constructor_versioned(
            c_void_p(registry), c_uint32(_BIND), ctypes.byref(self._protocol.presentation), c_uint32(1),
            c_uint32(name), c_char_p(GLOBAL), c_uint32(1), c_void_p(None),
        )  # fmt: skip
        listener = ctypes.addressof(self._clock_listener)
        self._wl.wl_proxy_add_listener(c_void_p(self._presentation), listener, None)

    def _on_clock_id(self, _data: int, _presentation: int, clock_id: int) -> None:
        if offset_ns(clock_id) is None:
            self._answers.give_up(f"the compositor's clock (number {clock_id}) cannot be read")
        self._clock_id = clock_id

    def _on_presented(
        self, _data: int, feedback: int, sec_high: int, sec_low: int, nsec: int, refresh_ns: int, _sequence_high: int,
        _sequence_low: int, flags: int,
    ) -> None:  # fmt: skip
        number = self._done(feedback)
        clock_offset_ns = offset_ns(self._clock_id)
        if number is None or clock_offset_ns is None:
            return
        present_ns = ((sec_high << 32) + sec_low) * NS_A_SECOND + nsec + clock_offset_ns
        words = " ".join(word for bit, word in FLAGS.items() if flags & bit)
        self._answers.presented(number, present_ns, refresh_ns, words, time.perf_counter_ns())

    def _on_discarded(self, _data: int, feedback: int) -> None:
        number = self._done(feedback)
        if number is not None:
            self._answers.was_discarded(number, time.perf_counter_ns())

    def _on_sync_output(self, _data: int, _feedback: int, output: int) -> None:
        self.output = output or 0

    def _done(self, feedback: int) -> int | None:
        """Destroys a feedback object. Returns the number of its swap, or None if the object is unknown."""
        number = self._number_of.pop(feedback, None)
        if number is not None:
            self._wl.wl_proxy_destroy(c_void_p(feedback))
        return number

    # -- objects

    def _forget(self, swap_number: int) -> None:
        for feedback, number in self._number_of.items():
            if number == swap_number:
                self._done(feedback)
                return

    def _release_objects(self) -> None:
        wl = self._wl
        for feedback in list(self._number_of):
            self._done(feedback)
        if self._presentation:
            wl.wl_proxy_marshal(c_void_p(self._presentation), c_uint32(_DESTROY))
            wl.wl_proxy_destroy(c_void_p(self._presentation))
        wl.wl_proxy_destroy(c_void_p(self._registry))
        wl.wl_proxy_wrapper_destroy(self._wrapper)
        wl.wl_event_queue_destroy(self._queue)
        self._presentation = self._registry = 0

    def _make_listeners(self) -> None:
        self._registry_listener = _RegistryListener(_GLOBAL(self._on_global), _GLOBAL_REMOVE(lambda *_: None))
        self._clock_listener = _ClockListener(_CLOCK_ID(self._on_clock_id))
        self._feedback_listener = _FeedbackListener(
            _SYNC_OUTPUT(self._on_sync_output), _PRESENTED(self._on_presented), _DISCARDED(self._on_discarded)
        )


def _interface(
    name: bytes, methods: list[tuple[bytes, bytes]], events: list[tuple[bytes, bytes]], types: ctypes.Array[c_void_p]
) -> _Interface:
    """Describes an interface of version 1. types: null pointers, at least as many as the largest number of arguments
    of a message."""
    made = [
        (_Message * len(messages))(*(_Message(*message, cast(types, POINTER(c_void_p))) for message in messages))
        for messages in (methods, events)
    ]
    pointers = [cast(messages, POINTER(_Message)) for messages in made]
    return _Interface(name, 1, len(methods), pointers[0], len(events), pointers[1])


# Waits for Wayland frame callbacks. A frame callback tells that the compositor has accepted a frame for its next
# picture. Each wait has a time limit.
#
# With a swap interval of 1, the GL library would wait for the callback itself. While the window is hidden, it would
# wait without a limit. So on Wayland the interval is 0, and this code waits. `request` is called before the swap, and
# `wait` is called after the swap.
#
# The wait ends when the compositor has accepted this frame for its next picture. The GL library would wait for the
# callback of the previous frame, so its wait would end one refresh later. If no callback comes within the limit, the
# window is hidden.
#
# This code calls libwayland-client through ctypes (see `library`), on its own event queue, from the thread that owns
# the window.


class AwaitCall(Protocol):
    """Waits for at most `timeout_ns` until the compositor's frame callback comes. Returns True if the callback has
    come."""

    def __call__(self, timeout_ns: int) -> bool: ...


def library() -> ctypes.CDLL:
    """Loads libwayland-client and declares its functions. Raises OSError if the library is missing. Some functions of
    the library are variadic. Pass ctypes values to these functions."""
    wl = ctypes.CDLL("libwayland-client.so.0")
    for name, result, arguments in (
        ("wl_display_create_queue", c_void_p, [c_void_p]),
        ("wl_display_flush", c_int, [c_void_p]),
        ("wl_display_get_fd", c_int, [c_void_p]),
        ("wl_display_get_error", c_int, [c_void_p]),
        ("wl_display_read_events", c_int, [c_void_p]),
        ("wl_display_cancel_read", None, [c_void_p]),
        ("wl_display_prepare_read_queue", c_int, [c_void_p, c_void_p]),
        ("wl_display_dispatch_queue_pending", c_int, [c_void_p, c_void_p]),
        ("wl_event_queue_destroy", None, [c_void_p]),
        ("wl_proxy_create_wrapper", c_void_p, [c_void_p]),
        ("wl_proxy_wrapper_destroy", None, [c_void_p]),
        ("wl_proxy_set_queue", None, [c_void_p, c_void_p]),
        ("wl_proxy_destroy", None, [c_void_p]),
        ("wl_proxy_add_listener", c_int, [c_void_p, c_void_p, c_void_p]),
    ):
        function = getattr(wl, name)
        function.restype, function.argtypes = result, arguments
    for name in ("wl_proxy_marshal_constructor", "wl_proxy_marshal_constructor_versioned"):
        getattr(wl, name).restype = c_void_p
    wl.wl_proxy_marshal.restype = None
    return wl


def symbol(wl: ctypes.CDLL, name: str) -> int:
    """Address of the library's interface `name`."""
    return ctypes.addressof(c_void_p.in_dll(wl, name))


# Longest wait for a callback, in ns. While the window is visible, one callback comes per refresh. No display refreshes
# less often than 4 times a second.
HIDDEN_AFTER_NS = 250_000_000

_WL_SURFACE_FRAME = 3  # opcode of wl_surface.frame in the core protocol
_DONE = CFUNCTYPE(None, c_void_p, c_void_p, c_uint32)


class FrameCallback:
    """Frame callbacks of one surface.

    Always: at most one callback is outstanding. is_out: True if a callback is outstanding. asked_ns: instant of the
    last request.
    """

    def __init__(self, display: int, surface: int) -> None:
        """display: address of the wl_display. surface: address of the wl_surface."""
        self._wl = wl = library()
        self._display = c_void_p(display)
        self._queue = c_void_p(wl.wl_display_create_queue(self._display))
        self._surface = c_void_p(wl.wl_proxy_create_wrapper(c_void_p(surface)))
        wl.wl_proxy_set_queue(self._surface, self._queue)
        self._interface = symbol(wl, "wl_callback_interface")
        self._listener = (_DONE * 1)(_DONE(self._done))
        self._callback: int | None = None
        self.asked_ns = 0

    @property
    def is_out(self) -> bool:
        return self._callback is not None

    @property
    def is_overdue(self) -> bool:
        """True if a callback was requested more than HIDDEN_AFTER_NS ago and has not come. Then the window is
        hidden."""
        return self.is_out and time.perf_counter_ns() - self.asked_ns > HIDDEN_AFTER_NS

    def request(self) -> None:
        """Requests a callback for the next commit of the surface, unless a callback is outstanding."""
        if self.is_out:
            return
        self._callback = self._wl.wl_proxy_marshal_constructor(
            self._surface, c_uint32(_WL_SURFACE_FRAME), c_void_p(self._interface), c_void_p(None)
        )
        self._wl.wl_proxy_add_listener(c_void_p(self._callback), ctypes.addressof(self._listener), None)
        self.asked_ns = time.perf_counter_ns()

    def wait(self, timeout_ns: int = HIDDEN_AFTER_NS) -> bool:
        """Waits for the callback, for at most `timeout_ns`. If `timeout_ns` is 0, only reads events that have arrived.
        Returns True if no callback is outstanding afterwards."""
        end_ns = time.perf_counter_ns() + timeout_ns
        while self.is_out:
            left_ns = max(0, end_ns - time.perf_counter_ns())
            if not self._read(left_ns) and (left_ns == 0 or self.is_broken):
                return not self.is_out
        return True

    @property
    def is_broken(self) -> bool:
        """True if the compositor has ended, or has closed this client's connection."""
        return self._wl.wl_display_get_error(self._display) != 0

    def close(self) -> None:
        if self._callback is not None:
            self._wl.wl_proxy_destroy(c_void_p(self._callback))
            self._callback = None
        self._wl.wl_proxy_wrapper_destroy(self._surface)
        self._wl.wl_event_queue_destroy(self._queue)

    def _read(self, timeout_ns: int) -> bool:
        """Dispatches the events of this callback's queue. Reads the socket if the queue is empty. Returns True if
        there were any events."""
        wl = self._wl
        if wl.wl_display_prepare_read_queue(self._display, self._queue) != 0:
            return wl.wl_display_dispatch_queue_pending(self._display, self._queue) > 0
        wl.wl_display_flush(self._display)
        poll = select.poll()
        poll.register(wl.wl_display_get_fd(self._display), select.POLLIN)
        try:
            ready = poll.poll(timeout_ns / 1e6)
        # Even after Ctrl-C, the prepared read must be cancelled. Otherwise, the next reader of the socket would wait
        # for it.
        except BaseException:
            wl.wl_display_cancel_read(self._display)
            raise
        if not ready:
            wl.wl_display_cancel_read(self._display)
            return False
        wl.wl_display_read_events(self._display)
        return wl.wl_display_dispatch_queue_pending(self._display, self._queue) > 0

    def _done(self, _data: int, callback: int, _time_ms: int) -> None:
        self._wl.wl_proxy_destroy(c_void_p(callback))
        self._callback = None
