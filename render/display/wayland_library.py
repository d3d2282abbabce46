"""libwayland-client, as ctypes calls it: the functions that are used here, and what they take."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_void_p


def library() -> ctypes.CDLL:
    """Raises OSError where there is none. The variadic ones are given typed arguments."""
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
    """The address of one of its interfaces."""
    return ctypes.addressof(c_void_p.in_dll(wl, name))
