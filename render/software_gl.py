"""Software OpenGL without stalls: threads left for the simulation, memory kept between frames.

`before_context` must run before any GL context exists, `after_context` before the first frame.
Both do nothing of note where a GPU draws.
"""

from __future__ import annotations

import ctypes
import os
import sys

# Names under which the renderers that draw on the CPU present themselves.
SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "swiftshader")

# glibc's mallopt: parameters, and how much freed memory is kept rather than given back. llvmpipe allocates
# its bins anew in every frame; given back each time, a frame of 10,000 spheres took 1.35 times as long.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 1 << 30
LARGEST_KEPT_BLOCK_BYTES = 32 << 20


def before_context() -> None:
    """Leaves one core to the simulation: with every core taken by drawing, its steps wait."""
    os.environ.setdefault("LP_NUM_THREADS", str(max(1, len(_usable_cores()) - 1)))


def after_context(renderer: str) -> None:
    """Keeps freed memory in the process where `renderer` (GL_RENDERER) draws on the CPU."""
    if is_software(renderer) and sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt is not None:
            mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
            mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BLOCK_BYTES)


def is_software(renderer: str) -> bool:
    """Whether a renderer of this name draws on the CPU."""
    return any(name in renderer.lower() for name in SOFTWARE_RENDERERS)


def _usable_cores() -> range | set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)
