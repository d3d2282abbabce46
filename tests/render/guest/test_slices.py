"""Slices of a core, asked for in a process of their own: what was asked for stays with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from twixt.render.guest.slices import SLICE_NS, slice_ns

CODE = """
import os, threading
from twixt.render.guest.slices import ask_for_short_slices, slice_ns
os.nice(3)
ask_for_short_slices()
found = [slice_ns()]
thread = threading.Thread(target=lambda: found.append(slice_ns()))
thread.start(); thread.join()
print(*found, os.nice(0))
"""


def test_a_slice_is_granted_and_inherited_and_the_nice_value_stays() -> None:
    if slice_ns() is None:
        pytest.skip("skipped: no slices of a thread's own (Linux 6.12 and later)")
    out = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    assert out.split() == [str(SLICE_NS), str(SLICE_NS), "3"]


def test_a_system_that_knows_no_slices_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from twixt.render.guest import slices

    monkeypatch.setattr(slices.platform, "machine", lambda: "some other")
    slices.ask_for_short_slices()
    assert slices.slice_ns() is None
