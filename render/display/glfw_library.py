"""Chooses the libglfw that this process loads, X11 or Wayland, and shares it with the overlay.

The glfw package contains an X11 and a Wayland build; the overlay's package links an X11 build of its own. Two copies in
one process have separate states, and a window of one is invalid in the other. On Linux the loader reuses a library that
is already loaded under the same SONAME, so the first one loaded serves both: `choose` names it before glfw is imported.
Naming it also saves the subprocess in which the glfw package looks for versions.

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
    """Sets PYGLFW_LIBRARY unless it is set. Leaves it unset if the file is missing; glfw then searches by itself."""
    if environ.get(LIBRARY_VARIABLE):
        return
    if sys.platform == "linux":
        library = os.path.join(_folder_of("glfw"), variant(environ), "libglfw.so")
    else:  # elsewhere the loader goes by the path, so the overlay's own is shared (untested)
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
    """Resolves symbols of libraries loaded inside when they are first called, not when they are loaded. Import the
    overlay's native module inside: it refers to X11 functions that the Wayland build lacks, and does not call them
    there."""
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
