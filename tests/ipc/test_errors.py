"""What is said where the system has given all that it gives."""

from __future__ import annotations

import errno
import os

import pytest

from twixt.ipc.errors import exhaustion_advice, is_utf8


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (
            errno.EMFILE,
            "this process cannot open more files (Too many open files); raise its limit, such as: ulimit -n 1024",
        ),
        (errno.ENFILE, "this machine cannot open more files (Too many open files in system); end other programs"),
        (
            errno.ENOSPC,
            "the disk is full (No space left on device); free disk space, or write to another disk",
        ),
        (errno.ENOENT, ""),
    ],
)
def test_a_system_that_gives_no_more_is_said_with_the_way_out(number: int, says: str) -> None:
    assert exhaustion_advice(OSError(number, os.strerror(number))) == says
    # Compiled code that cannot be imported for it gives the system's words alone.
    assert exhaustion_advice(ImportError(f"libGL.so.1: {os.strerror(number)}")) == says


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_it_is_the_number_of_an_os_error_that_counts_and_not_its_words(number: int) -> None:
    assert os.strerror(number) in exhaustion_advice(OSError(number, "the camera does not open"))
    assert exhaustion_advice(OSError(errno.EIO, os.strerror(number))) == ""


def test_a_name_with_bytes_that_are_not_utf_8_is_known() -> None:
    assert is_utf8("caf\u00e9.xml")
    assert not is_utf8(os.fsdecode(b"caf\xe9.xml"))
