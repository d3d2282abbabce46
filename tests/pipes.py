"""Pipes that take nothing: without a reader, and full."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unread_pipe() -> Iterator[int]:
    """Writing end of a pipe whose reader is gone."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


@contextmanager
def full_pipe() -> Iterator[tuple[int, int]]:
    """Reading and writing end of a pipe that holds all it can, of b"x"; nobody reads it."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        size = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
        assert os.write(writing, b"x" * size) == size
        os.set_blocking(writing, True)
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)
