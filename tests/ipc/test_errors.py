"""What is said where the system has given all that it gives."""

from __future__ import annotations

import errno
import os

import pytest

from twixt.ipc.errors import say_exhausted


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (
            errno.EMFILE,
            "this process may open no more files (Too many open files); allow more, such as: ulimit -n 1024",
        ),
        (errno.ENFILE, "this machine can open no more files (Too many open files in system); end other programs"),
        (errno.ENOENT, ""),
    ],
)
def test_a_system_that_gives_no_more_is_said_with_the_way_out(number: int, says: str) -> None:
    assert say_exhausted(OSError(number, os.strerror(number))) == says
    # Compiled code that cannot be imported for it gives the system's words alone.
    assert say_exhausted(ImportError(f"libGL.so.1: {os.strerror(number)}")) == says
