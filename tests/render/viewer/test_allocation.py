"""Frames leave nothing behind: counted on the real frame loop with overlay and log, never timed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from bench.costs import allocation
from bench.costs.allocation import TARGET, Allocation, Frames, measured
from twixt.render.viewer import spare_time

# What the clock remembers of the last half minute is not full yet, and each new wording of its reasons is kept: less
# than a block a frame, which is the least that anything lost in each frame would be.
MOST_GROWTH = 1.0


@pytest.fixture(scope="module")
def private_runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("run")
        folder.chmod(0o700)
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield


@pytest.fixture(scope="module")
def found(private_runtime: None) -> Allocation:
    with allocation.frames() as made:
        for _ in range(8):  # what each frame loses is lost each time; what a late frame words anew is not
            seen = measured(made)
            if seen.growth < MOST_GROWTH:
                break
        return seen


def test_memory_does_not_grow_with_frames(found: Allocation) -> None:
    assert found.growth < MOST_GROWTH


def test_no_frame_leaves_garbage_that_only_the_collector_finds(found: Allocation) -> None:
    assert found.garbage == 0


def test_what_a_frame_makes_and_keeps_is_few_objects(found: Allocation) -> None:
    assert found.objects <= TARGET, found.where
    assert found.objects_with_snapshot <= 2 * TARGET, found.where


def test_what_a_frame_leaves_is_found() -> None:
    """The measuring itself: an object a frame, and a cycle a frame."""
    kept: list[object] = []

    def frame() -> None:
        kept.append(object())
        cycle: list[object] = []
        cycle.append(cycle)

    gc.collect()
    gc.freeze()  # what other tests left is not looked through again at each count
    try:
        seen = measured(Frames(frame, frame), growth_frames=100)
    finally:
        gc.unfreeze()
    assert 1 <= seen.growth < 2
    assert seen.garbage == 1
    assert seen.objects >= 1


def test_frames_that_leave_no_spare_time_look_for_garbage_all_the_same(
    private_runtime: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Kept:
        def __init__(self) -> None:
            self.itself = self

    monkeypatch.setattr(allocation, "FRAMES_AT_FIRST", 1)
    gc.disable()
    try:
        with allocation.frames(overlay=False) as made:
            seen = [weakref.ref(Kept()) for _ in range(2 * spare_time.FEW)]
            for _ in range(1000):
                made.with_news()
                if all(each() is None for each in seen):
                    break
            assert all(each() is None for each in seen)
    finally:
        gc.enable()
