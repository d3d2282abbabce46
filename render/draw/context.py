"""The OpenGL context to draw with: of a window that another library opened, or of none, through EGL.

Always: OpenGL 3.3 core or later, or a TwixtError that says what the machine offers instead.
"""

from __future__ import annotations

from collections.abc import Callable

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
