"""Wayland frame callbacks: waits, with a limit, until the compositor has taken a frame.

With a swap interval of 1 the GL library waits for that callback itself, and without a limit when the window is hidden.
So on Wayland the interval is 0 and the wait is here: `request` before the swap, `wait` after it. The wait ends when the
compositor has taken this frame for its next picture. That is one refresh earlier than the end of the GL library's own
wait, which waits for the compositor to take the frame before it. If no callback comes, the window is hidden.

Calls libwayland-client through ctypes (`library` declares the functions in use), on an event queue of its own, so that
it never dispatches the window library's events. All calls come from the thread that owns the window.
"""

from __future__ import annotations

import ctypes
import select
import time
from ctypes import CFUNCTYPE, c_int, c_uint32, c_void_p
from typing import Protocol


class AwaitCall(Protocol):
    """Waits for the compositor's frame callback, for `timeout_ns` at most; True if it has come."""

    def __call__(self, timeout_ns: int) -> bool: ...


def library() -> ctypes.CDLL:
    """Loads libwayland-client and declares its functions. Raises OSError where it is missing. Variadic functions take
    arguments of ctypes."""
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
    """Address of one of the library's interfaces."""
    return ctypes.addressof(c_void_p.in_dll(wl, name))


# Longest wait for a callback; it comes once a refresh while the window is visible, and no display is under 4 Hz.
HIDDEN_AFTER_NS = 250_000_000

_WL_SURFACE_FRAME = 3  # opcode of wl_surface.frame in the core protocol
_DONE = CFUNCTYPE(None, c_void_p, c_void_p, c_uint32)


class FrameCallback:
    """Frame callbacks of one surface.

    Always: at most one callback is outstanding (`is_out`). asked_ns: when it was requested.
    """

    def __init__(self, display: int, surface: int) -> None:
        """display, surface: addresses of the wl_display and wl_surface."""
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
        """True if a callback is outstanding for more than HIDDEN_AFTER_NS, so that the window must be hidden."""
        return self.is_out and time.perf_counter_ns() - self.asked_ns > HIDDEN_AFTER_NS

    def request(self) -> None:
        """Requests a callback for the next commit of the surface, unless one is outstanding."""
        if self.is_out:
            return
        self._callback = self._wl.wl_proxy_marshal_constructor(
            self._surface, c_uint32(_WL_SURFACE_FRAME), c_void_p(self._interface), c_void_p(None)
        )
        self._wl.wl_proxy_add_listener(c_void_p(self._callback), ctypes.addressof(self._listener), None)
        self.asked_ns = time.perf_counter_ns()

    def wait(self, timeout_ns: int = HIDDEN_AFTER_NS) -> bool:
        """Waits for the callback; True if none is outstanding after `timeout_ns`. 0: reads only what is there."""
        end_ns = time.perf_counter_ns() + timeout_ns
        while self.is_out:
            left_ns = max(0, end_ns - time.perf_counter_ns())
            if not self._read(left_ns) and (left_ns == 0 or self.is_broken):
                return not self.is_out
        return True

    @property
    def is_broken(self) -> bool:
        """True if the compositor has gone, or has closed this client's connection."""
        return self._wl.wl_display_get_error(self._display) != 0

    def close(self) -> None:
        if self._callback is not None:
            self._wl.wl_proxy_destroy(c_void_p(self._callback))
            self._callback = None
        self._wl.wl_proxy_wrapper_destroy(self._surface)
        self._wl.wl_event_queue_destroy(self._queue)

    def _read(self, timeout_ns: int) -> bool:
        """Dispatches this queue; reads the socket if the queue is empty. True if an event was dispatched."""
        wl = self._wl
        if wl.wl_display_prepare_read_queue(self._display, self._queue) != 0:
            return wl.wl_display_dispatch_queue_pending(self._display, self._queue) > 0
        wl.wl_display_flush(self._display)
        poll = select.poll()
        poll.register(wl.wl_display_get_fd(self._display), select.POLLIN)
        try:
            ready = poll.poll(timeout_ns / 1e6)
        except BaseException:  # Ctrl-C must not leave the read prepared: the next reader would wait for it
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
