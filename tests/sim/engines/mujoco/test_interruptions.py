"""Ctrl-C, and any error of a signal handler, at each place of a `sync`: the next `sync` is as if there had been none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import MOVING, Launch, Reader
from tests.sim.interrupts import Interrupt, on_its_own_thread
from twixt.ipc.interaction.events import Pull
from twixt.ipc.session import wire
from twixt.sim.engines.mujoco.gate import GatedPublisher
from twixt.sim.engines.mujoco.mujoco_viewer import launch_passive

pytestmark = pytest.mark.slow

mujoco = pytest.importorskip("mujoco")


def is_interrupted_at(number: int, call: Callable[[], object]) -> bool:
    """Calls `call`, interrupted at its n-th place where a signal may be handled; False if it has fewer."""
    interrupt = Interrupt(number)
    interrupt.during(call)
    return interrupt.came


def step_and_publish(handle: Any) -> None:
    mujoco.mj_step(handle.m, handle.d)
    handle._publisher._gate.next_ns = 0
    handle._deferred.request_check()
    handle.sync()


def step_and_put_aside(handle: Any) -> None:
    mujoco.mj_step(handle.m, handle.d)
    handle._deferred.request_check()
    handle.sync()


def require_last_state(handle: Any, reader: Reader) -> None:
    reader.until(lambda: reader.newest().sim_time_ns == round(handle.d.time * 1e9))
    assert np.allclose(reader.newest().bodies["position"], handle.d.xpos, atol=1e-6)


@pytest.mark.parametrize("has_marks", [False, True])
@on_its_own_thread
def test_a_sync_that_is_interrupted_anywhere_leaves_the_next_one_whole(launch: Launch, has_marks: bool) -> None:
    handle, reader = launch(MOVING, publish_hz=1000)
    handle.opt.flags[mujoco.mjtVisFlag.mjVIS_JOINT] = has_marks
    number = 1
    while is_interrupted_at(number, lambda: step_and_publish(handle)):
        step_and_publish(handle)
        require_last_state(handle, reader)
        number += 1
    assert number > 50


@pytest.mark.parametrize("is_beside_another", [False, True])
@on_its_own_thread
def test_a_pull_that_is_interrupted_anywhere_leaves_the_programs_forces(
    launch: Launch, is_beside_another: bool
) -> None:
    handle, _ = launch(MOVING)
    other = launch_passive(handle.m, handle.d, viewer=False)
    own = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])

    def pull(puller: Any, by: Pull) -> None:
        puller._view._actions.receive("viewer", wire.Message(by.KIND, by.to_fields()))
        puller.sync()

    handle.d.xfrc_applied[1] = own
    number, is_inside = 1, True
    while is_inside:
        if is_beside_another:
            pull(other, Pull(1, target=(3, 4, 5)))
        is_inside = is_interrupted_at(number, partial(pull, handle, Pull(1, target=(1, 2, number))))
        if number % 2:
            is_interrupted_at(number // 2, lambda: pull(handle, Pull()))
        pull(handle, Pull())
        pull(other, Pull())
        assert handle.d.xfrc_applied[1].tolist() == own.tolist(), number
        number += 1
    assert number > 20
    other.close()


@on_its_own_thread
def test_an_interruption_while_the_thread_is_started_leaves_it_for_the_next_sync(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, was_interrupted = 0, True
    while was_interrupted:
        number += 1
        with monkeypatch.context() as without:
            without.setattr(GatedPublisher, "_start_wait", lambda self: None)
            handle, reader = launch(MOVING, publish_hz=0.1)
        was_interrupted = is_interrupted_at(number, handle._publisher._start_wait)
        step_and_put_aside(handle)
        require_last_state(handle, reader)
        handle.close()
    assert number > 5


def test_a_wait_for_the_lock_is_no_cost_of_publishing(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    handle, _ = launch()
    entered_ns: list[int] = []
    offered_ns: list[int] = []

    class Lock:
        """Lock that is had after a while."""

        def __init__(self) -> None:
            self._lock = threading.RLock()

        def __enter__(self) -> None:
            self._lock.acquire()
            entered_ns.append(time.perf_counter_ns())

        def __exit__(self, *error: object) -> None:
            self._lock.release()

    monkeypatch.setattr(handle, "_lock", Lock())
    monkeypatch.setattr(handle._publisher, "publish_or_defer", offered_ns.append)
    handle._deferred.request_check()
    handle.sync()
    assert entered_ns[0] <= offered_ns[0]
