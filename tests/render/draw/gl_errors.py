"""OpenGL's own reports of errors (KHR_debug), as the driver makes them: none is lost, whoever asks `glGetError`."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_char_p, c_int, c_uint, c_void_p
from typing import Any

from twixt.render.draw.frame.context import gl_function

DEBUG_OUTPUT, DEBUG_OUTPUT_SYNCHRONOUS, DEBUG_TYPE_ERROR = 0x92E0, 0x8242, 0x824C
NO_SUCH_CAP = 0x1234
REPORT = ctypes.CFUNCTYPE(None, c_uint, c_uint, c_uint, c_uint, c_int, c_char_p, c_void_p)


@contextmanager
def gl_errors() -> Iterator[Counter[str]]:
    """Counts the errors of the current context within the block, by the driver's words.

    Fails at the end unless the driver reports an error that is made there on purpose.
    """
    found: Counter[str] = Counter()

    @REPORT
    def note(_source: int, kind: int, _id: int, _severity: int, _length: int, text: bytes, _user: Any) -> None:
        if kind == DEBUG_TYPE_ERROR:
            found[text.decode().strip()] += 1

    enable, disable = gl_function("glEnable", c_uint), gl_function("glDisable", c_uint)
    listen = gl_function("glDebugMessageCallback", c_void_p, c_void_p)
    enable(DEBUG_OUTPUT)
    enable(DEBUG_OUTPUT_SYNCHRONOUS)
    listen(ctypes.cast(note, c_void_p), None)
    try:
        yield found
        before = found.copy()
        enable(NO_SUCH_CAP)
        assert found.total() == before.total() + 1, "this driver does not report errors"
        found &= before
    finally:
        listen(None, None)
        disable(DEBUG_OUTPUT)
