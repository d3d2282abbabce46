"""Chooses the libglfw build (X11 or Wayland) that the window and the overlay share. Also installs handlers for X
errors.

The glfw package contains an X11 build and a Wayland build. The overlay's package links a third build, for X11. Two
copies in one process have separate states, and a window of one copy is invalid in the other. On Linux the loader
reuses a library that is already loaded under the same SONAME, so the copy that is loaded first serves both packages.
`choose` sets the path of this copy before glfw is imported. If the path is set, the glfw package does not start a
subprocess that compares versions.

This module does not import glfw.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import CFUNCTYPE, c_int, c_ubyte, c_ulong, c_void_p

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_current_exception, print_notice

LIBRARY_VARIABLE = "PYGLFW_LIBRARY"
VARIANT_VARIABLE = "PYGLFW_LIBRARY_VARIANT"


def choose(environ: dict[str, str] | os._Environ[str] = os.environ) -> None:
    """Sets PYGLFW_LIBRARY to the path of the chosen library. Does nothing if the variable is already set or the
    library's file is missing. If the variable stays unset, glfw searches for a library."""
    if environ.get(LIBRARY_VARIABLE):
        return
    if sys.platform == "linux":
        library = os.path.join(_folder_of("glfw"), variant(environ), "libglfw.so")
    else:  # Other systems identify a library by its path. So both packages use the overlay's copy. This is not tested.
        name = "libglfw.3.dylib" if sys.platform == "darwin" else "glfw3.dll"
        library = os.path.join(_folder_of("imgui_bundle"), name)
    if os.path.isfile(library):
        environ[LIBRARY_VARIABLE] = library


def variant(environ: dict[str, str] | os._Environ[str] = os.environ) -> str:
    """Returns "wayland" if a Wayland compositor answers, else "x11". The variable PYGLFW_LIBRARY_VARIANT overrides
    this."""
    wish = environ.get(VARIANT_VARIABLE, "").lower()
    if wish in ("x11", "wayland"):
        return wish
    return "wayland" if _wayland_answers(environ) else "x11"


@contextmanager
def sharing() -> Iterator[None]:
    """In this context, loaded libraries resolve each symbol at its first call and not when the library is loaded. Use
    this context to import the overlay's native module. That module refers to X11 functions that the Wayland build
    lacks, but it does not call them on Wayland."""
    if not hasattr(sys, "setdlopenflags"):
        yield
        return
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)
    try:
        yield
    finally:
        sys.setdlopenflags(flags)


def _wayland_answers(environ: dict[str, str] | os._Environ[str]) -> bool:
    name = environ.get("WAYLAND_DISPLAY", "")
    if not name:
        return False
    path = os.path.join(environ.get("XDG_RUNTIME_DIR", ""), name)  # an absolute name is the whole path
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _folder_of(package: str) -> str:
    spec = importlib.util.find_spec(package)
    return os.path.dirname(spec.origin) if spec and spec.origin else ""


# Handlers for three events: the X server ends, the X server refuses a request, or another client destroys the window.
# In the first two cases, Xlib's own handlers would end the process. In the third case, GLFW reports nothing.
#
# When the server ends, a display call detects the end and calls the handler. The handler writes the report and informs
# the physics process. The display call never returns. If it returned, the caller (usually Mesa) would use answers that
# never arrived, for example the window's size. It would then write to memory that it does not own. The first refused
# request is reported, and frames continue. Refused requests to a destroyed window are not reported.


_IO_ERROR = CFUNCTYPE(c_int, c_void_p)
_ERROR = CFUNCTYPE(c_int, c_void_p, c_void_p)
_WIRE_TO_EVENT = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
_DESTROY_NOTIFY, _BAD_WINDOW, _BAD_DRAWABLE = 17, 3, 9
_installed: list[object] = []  # Xlib stores the addresses of these objects, so they must stay alive
_watched: set[int] = set()  # ids of the watched windows
_destroyed: set[int] = set()  # ids of the watched windows that are destroyed
_has_reported = False


class _XErrorEvent(ctypes.Structure):
    _fields_ = [
        ("type", c_int), ("display", c_void_p), ("resourceid", c_ulong), ("serial", c_ulong),
        ("error_code", c_ubyte), ("request_code", c_ubyte), ("minor_code", c_ubyte),
    ]  # fmt: skip


class _XDestroyWindowEvent(ctypes.Structure):
    _fields_ = [
        ("type", c_int), ("serial", c_ulong), ("send_event", c_int), ("display", c_void_p), ("event", c_ulong),
        ("window", c_ulong),
    ]  # fmt: skip


def end_with_the_server(gone: Callable[[], int]) -> None:
    """Installs the handlers for X errors. When the X server ends, `gone` is called within the display call that
    detects the end. `gone` returns an exit code, and the process ends with this code. `gone` must call neither the
    display nor OpenGL."""

    def last(_display: int) -> int:
        code = TwixtError.exit_code
        try:
            code = gone()
        except BaseException:
            print_current_exception()
        with suppress(Exception):  # the program that reads the output may have ended
            sys.stdout.flush()
        os._exit(code)

    handler, refusals = _IO_ERROR(last), _ERROR(_refused)
    _installed.extend((handler, refusals))
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XSetIOErrorHandler.argtypes, x11.XSetIOErrorHandler.restype = [_IO_ERROR], c_void_p
    x11.XSetIOErrorHandler(handler)
    x11.XSetErrorHandler.argtypes, x11.XSetErrorHandler.restype = [_ERROR], c_void_p
    x11.XSetErrorHandler(refusals)


def watch(display: int, window: int) -> None:
    """Watches a window, so that `is_destroyed` can tell its end. display: address of the window's Display. window: id
    of the window."""
    _destroyed.discard(window)  # a later connection may reuse this id
    _watched.add(window)
    convert = ctypes.CDLL("libX11.so.6").XESetWireToEvent
    convert.argtypes, convert.restype = [c_void_p, c_int, _WIRE_TO_EVENT], _WIRE_TO_EVENT

    # Xlib calls this function for each event that it reads, whichever library takes the event from the queue.
    def note(display: int, event: int, wire: int) -> int:
        is_queued = before(display, event, wire)
        number = int(_XDestroyWindowEvent.from_address(event).window)
        if number in _watched:
            _destroyed.add(number)
        return int(is_queued)

    noting = _WIRE_TO_EVENT(note)
    before = convert(display, _DESTROY_NOTIFY, noting)
    _installed.extend((noting, before))


def is_destroyed(window: int) -> bool:
    """True if another client has destroyed this watched window."""
    return window in _destroyed


def _refused(_display: int, address: int) -> int:
    global _has_reported
    error = _XErrorEvent.from_address(address)
    if error.error_code in (_BAD_WINDOW, _BAD_DRAWABLE) and error.resourceid in _watched:
        _destroyed.add(int(error.resourceid))  # the event that reports the destruction may not have arrived yet
    if not _has_reported and not _destroyed:
        _has_reported = True
        request = f"{error.request_code}.{error.minor_code}"
        print_notice(f"the X server refused request {request} (error {error.error_code}); the viewer continues")
    return 0
