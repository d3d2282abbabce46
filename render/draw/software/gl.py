"""The few functions of OpenGL that the drawing library does not offer, of whichever context is current."""

from __future__ import annotations

import ctypes
from typing import Any

LIBRARIES = ("libGL.so.1", "libOpenGL.so.0")


def function(name: str, *arguments: Any) -> Any:
    """The function, which returns nothing; None where it is not found. arguments: their ctypes."""
    for library in LIBRARIES:
        try:
            return ctypes.CFUNCTYPE(None, *arguments)((name, ctypes.CDLL(library)))
        except (OSError, AttributeError, TypeError):  # TypeError: a platform that loads no libraries by this name
            continue
    return None
