"""Which libglfw this process loads: one, of the kind that the display speaks, shared with the overlay.

The glfw package carries an X11 and a Wayland build; the overlay's package links an X11 one of its own.
Two copies in one process have two states, and a window of the one is garbage to the other. On Linux the
loader takes a library that is already loaded under the same SONAME, so whichever is loaded first serves
both: `choose` names that one before glfw is imported. Naming it also spares the subprocess with which
the glfw package looks for versions.

Does not import glfw.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LIBRARY_VARIABLE = "PYGLFW_LIBRARY"
VARIANT_VARIABLE = "PYGLFW_LIBRARY_VARIANT"


def choose(environ: dict[str, str] | os._Environ[str] = os.environ) -> None:
    """Sets PYGLFW_LIBRARY unless the user did; leaves it unset where the glfw package finds its own way."""
    if environ.get(LIBRARY_VARIABLE):
        return
    if sys.platform == "linux":
        library = os.path.join(_folder_of("glfw"), variant(environ), "libglfw.so")
    else:  # elsewhere a library is known by its path, so the overlay's own is the one to share (untested)
        name = "libglfw.3.dylib" if sys.platform == "darwin" else "glfw3.dll"
        library = os.path.join(_folder_of("imgui_bundle"), name)
    if os.path.isfile(library):
        environ[LIBRARY_VARIABLE] = library


def variant(environ: dict[str, str] | os._Environ[str] = os.environ) -> str:
    """`wayland` where a Wayland compositor answers, else `x11`; PYGLFW_LIBRARY_VARIANT overrides."""
    wish = environ.get(VARIANT_VARIABLE, "").lower()
    if wish in ("x11", "wayland"):
        return wish
    return "wayland" if _wayland_answers(environ) else "x11"


@contextmanager
def sharing() -> Iterator[None]:
    """Import the overlay's native module inside: it names X11 functions that the Wayland build lacks and
    never calls there, so its symbols must be resolved when first called, not when loaded."""
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
    path = os.path.join(environ.get("XDG_RUNTIME_DIR", ""), name)  # an absolute name stands alone
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _folder_of(package: str) -> str:
    spec = importlib.util.find_spec(package)
    return os.path.dirname(spec.origin) if spec and spec.origin else ""
