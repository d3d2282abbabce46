"""Makes the OpenGL context for drawing. It is either the context of a window that another library opened, or a context
without a window, made through EGL.

This module also contains settings of software drivers, OpenGL functions that moderngl lacks, and timers of GPU time.

Always: the context has OpenGL 3.3 or later; otherwise an error is raised. Call `prepare_driver` before any context is
made, and `keep_freed_memory` before the first frame. Neither function has an effect if a GPU draws.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from ctypes import c_uint, c_uint64, c_void_p
from typing import Any

import moderngl

from twixt.ipc.errors import TwixtError

Context = moderngl.Context
GL_VERSION = 330
# Names of software renderers. If GL_RENDERER, in lower case, contains one of these names, the CPU draws.
SOFTWARE_RENDERERS = ("llvmpipe", "softpipe", "swrast", "swiftshader")

# Parameters of glibc's mallopt. If they are set, the process keeps up to KEPT_BYTES of freed memory, and does not
# return it to the system. llvmpipe allocates its bins in every frame. When freed memory was returned in each frame,
# drawing 10,000 spheres took 1.35 times as long.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 1 << 30
LARGEST_KEPT_BLOCK_BYTES = 32 << 20
# moderngl adds a number to GL_COLOR_ATTACHMENT0. It reads from the buffer that has the sum as its OpenGL number. A
# window has no attachments. With the number BACK_BUFFER, the sum is GL_BACK.
BACK_BUFFER = 0x0405 - 0x8CE0
LIBRARIES = ("libGL.so.1", "libOpenGL.so.0")


def prepare_driver() -> None:
    """Sets the number of llvmpipe's drawing threads to `drawing_threads`. Does nothing if LP_NUM_THREADS is set
    already."""
    os.environ.setdefault("LP_NUM_THREADS", str(drawing_threads(len(_usable_cores()))))


def drawing_threads(cores: int) -> int:
    """Returns the number of drawing threads. It is one less than `cores`, so that one core remains for the simulation.

    With two cores or fewer the number is 0, and the calling thread draws. A single drawing thread would be no faster,
    because the calling thread waits for it. (The default world takes 2.8 ms per frame with a drawing thread, and 2.6 ms
    without.) A drawing thread can also corrupt memory. llvmpipe (Mesa 22.3, `lp_setup_get_empty_scene`) frees a fence
    when the fence's count is complete. The drawing thread that completed the count may then still hold the fence's
    lock. On a busy machine this corrupts memory about once in some hundred runs.
    """
    return cores - 1 if cores > 2 else 0


def keep_freed_memory(renderer: str) -> None:
    """Makes the process keep freed memory if `renderer` draws on the CPU. renderer: the string GL_RENDERER."""
    if is_software(renderer) and sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has no mallopt
        if mallopt is not None:
            mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
            mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BLOCK_BYTES)


def is_software(renderer: str) -> bool:
    """Returns True if a renderer with this name draws on the CPU. renderer: the string GL_RENDERER."""
    return any(name in renderer.lower() for name in SOFTWARE_RENDERERS)


def draws_in_threads(renderer: str) -> bool:
    """Returns True if a renderer with this name draws on the CPU and may use threads of this process. It may use
    threads if LP_NUM_THREADS is not 0."""
    return is_software(renderer) and os.environ.get("LP_NUM_THREADS") != "0"


def _usable_cores() -> range | set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)


def of_window(function_address: Callable[[str], int]) -> Context:
    """Wraps the current OpenGL context. function_address: returns the address of an OpenGL function, or 0 if there is
    no such function.

    Raises ValueError if the version of OpenGL is below 3.3.
    """
    return moderngl.create_context(require=GL_VERSION, context=_Loader(function_address))  # type: ignore[arg-type]


def without_window() -> Context:
    """Creates an OpenGL context without a window, through EGL. Raises TwixtError if this is not possible."""
    try:
        return moderngl.create_standalone_context(require=GL_VERSION, backend="egl")  # type: ignore[arg-type]  # stubs
    except Exception as problem:  # moderngl raises errors of any type
        raise TwixtError(
            f"no OpenGL 3.3 context through EGL ({problem}); install a driver, on Debian: "
            "apt-get install libegl1 libgl1 libgl1-mesa-dri"
        ) from None


def update_size(context: Context) -> None:
    """Makes software OpenGL on X11 ask for the window's size now, which takes 25 us. Without this call, the first draw
    of the frame would ask for the size.

    If the size has changed, all pixels of the window are lost. Events that are read after this call report the new
    size.
    """
    read_pixels(context.screen, (0, 0, 1, 1))


def read_pixels(framebuffer: moderngl.Framebuffer, area: tuple[int, int, int, int]) -> bytes:
    """Returns the RGB pixels of an area of a framebuffer or window. The bottom row is first. area: left, bottom, width,
    height."""
    attachment = 0 if framebuffer.glo else BACK_BUFFER
    return framebuffer.read(area, 3, attachment=attachment, alignment=1)


class NextBuffer:
    """Waits until the window's next buffer is free. For this, it clears one pixel of that buffer, and then waits for a
    fence that follows the clear.

    The OpenGL functions are looked up at the first call.
    """

    _COMMANDS_COMPLETE, _FLUSH = 0x9117, 1

    def __init__(self, context: Context, function_address: Callable[[str], int]) -> None:
        self._context, self._find = context, function_address
        self._functions: tuple[Callable[..., int], ...] = ()

    def __call__(self, timeout_ns: int) -> None:
        """Waits at most this many nanoseconds."""
        if not self._functions:
            self._functions = (
                ctypes.CFUNCTYPE(c_void_p, c_uint, c_uint)(self._find("glFenceSync")),
                ctypes.CFUNCTYPE(c_uint, c_void_p, c_uint, c_uint64)(self._find("glClientWaitSync")),
                ctypes.CFUNCTYPE(None, c_void_p)(self._find("glDeleteSync")),
            )
        make, wait, delete = self._functions
        self._context.screen.clear(viewport=(0, 0, 1, 1))
        fence = make(self._COMMANDS_COMPLETE, 0)
        wait(fence, self._FLUSH, timeout_ns)
        delete(fence)


def gl_function(name: str, *arguments: Any) -> Any:
    """Returns the OpenGL function `name`, or None if it is not found. The function must have no return value.
    arguments: the ctypes types of its arguments."""
    for library in LIBRARIES:
        try:
            return ctypes.CFUNCTYPE(None, *arguments)((name, ctypes.CDLL(library)))
        # TypeError is raised if the platform does not load libraries by name
        except (OSError, AttributeError, TypeError):
            continue
    return None


class GpuTimers:
    """Timers that measure GPU time. They are reused in each frame."""

    def __init__(self, context: moderngl.Context, is_software: bool) -> None:
        self._context = context
        self._is_software = is_software
        self._timers: list[moderngl.Query] = []
        self._used = 0

    def begin_frame(self) -> None:
        """Starts a frame. After the call, all timers can be used again."""
        self._used = 0

    def next(self) -> moderngl.Query | nullcontext[None]:
        """Context manager that times the draws inside it. In software rendering it measures nothing."""
        if self._is_software:
            return nullcontext()
        if self._used == len(self._timers):
            self._timers.append(self._context.query(time=True))
        self._used += 1
        return self._timers[self._used - 1]

    @property
    def elapsed_ns(self) -> int | None:
        """Returns how long the GPU took for the timed draws since `begin_frame`, in ns. Waits until these draws are
        complete. Returns None if no draw was timed."""
        if not self._used:
            return None
        return sum(timer.elapsed for timer in self._timers[: self._used])


class _Loader:
    def __init__(self, function_address: Callable[[str], int]) -> None:
        self.load_opengl_function = function_address

    def __enter__(self) -> _Loader:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def release(self) -> None:
        pass
