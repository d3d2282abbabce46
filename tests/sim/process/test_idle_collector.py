from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator

import pytest

from tests.ipc.ring.test_memory import in_forked_child
from twixt.sim.process.idle_collector import FULL_EVERY_NS, YOUNG_NS, IdleCollector


class Loop:
    """Garbage that only a collector finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def collector() -> Iterator[IdleCollector]:
    collector = IdleCollector()
    collector.begin()
    yield collector
    collector.end()


def test_nothing_is_collected_behind_a_steps_back_and_all_in_a_wait(collector: IdleCollector) -> None:
    lost = weakref.ref(Loop())
    for _ in range(5000):
        Loop()
    assert lost() is not None
    collector.collect_in(0)
    assert lost() is not None
    collector.collect_in(10 * YOUNG_NS)
    assert lost() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_that_the_world_forks_collects_as_python_does(collector: IdleCollector) -> None:
    assert in_forked_child(lambda: f"{gc.isenabled()} {gc.get_freeze_count()}") == "True 0"
    assert not gc.isenabled()


def test_physics_that_never_waits_is_collected_now_and_then(
    collector: IdleCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = weakref.ref(Loop())
    for _ in range(5000):
        Loop()
    now_ns = collector._young_ns
    monkeypatch.setattr("time.perf_counter_ns", lambda: now_ns + FULL_EVERY_NS + 1)
    collector.collect_in(0)
    assert lost() is None


def test_collecting_is_given_back() -> None:
    assert gc.isenabled()
    collector = IdleCollector()
    collector.end()
    collector.begin()
    assert not gc.isenabled()
    collector.end()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
