"""The OpenGL context to draw with: of a window that another library opened, or of none, through EGL.

Always: OpenGL 3.3 core or later, or a TwixtError that says what the machine offers instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_uint, c_uint64, c_void_p

import moderngl

from twixt.ipc.errors import TwixtError

Context = moderngl.Context
GL_VERSION = 330


def of_window(function_address: Callable[[str], int]) -> Context:
    """The context that is current, with GL's functions found by `function_address` (0: not there)."""
    return moderngl.create_context(require=GL_VERSION, context=_Loader(function_address))  # type: ignore[arg-type]  # stubs


def without_window() -> Context:
    """A context of its own, through EGL."""
    try:
        return moderngl.create_standalone_context(require=GL_VERSION, backend="egl")  # type: ignore[arg-type]  # stubs
    except Exception as problem:  # the library raises whatever its platform layer met
        raise TwixtError(
            f"no OpenGL 3.3 context through EGL ({problem}); install a driver, on Debian: "
            "apt-get install libegl1 libgl1 libgl1-mesa-dri"
        ) from None


class NextBuffer:
    """Waits until the buffer that is drawn on next can be drawn on: it is touched, and a fence behind that waited for.
    The functions are looked for when it is first called."""

    _COMMANDS_COMPLETE, _FLUSH = 0x9117, 1

    def __init__(self, context: Context, function_address: Callable[[str], int]) -> None:
        self._context, self._find = context, function_address
        self._functions: tuple[Callable[..., int], ...] = ()

    def __call__(self, timeout_ns: int) -> None:
        """Waits `timeout_ns` at most."""
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


class _Loader:
    """What moderngl asks for GL's functions."""

    def __init__(self, function_address: Callable[[str], int]) -> None:
        self.load_opengl_function = function_address

    def __enter__(self) -> _Loader:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def release(self) -> None:
        pass
