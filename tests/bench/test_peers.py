"""Frames a second of a peer: counted from the instants of its frames, not from how often it was asked to draw."""

from __future__ import annotations

import pytest

from bench.peers import fps_of


def test_frames_are_counted_from_the_begin_until_before_the_end() -> None:
    second = 1_000_000_000
    assert fps_of([0, second, second + 1, 2 * second, 3 * second - 1, 3 * second], second, 3 * second) == 2.0
    assert fps_of([], 0, second) == pytest.approx(0.0)
