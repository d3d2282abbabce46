"""Drags in MuJoCo's terms: forces that come and go alone, the program's own ones, turns, mocap bodies."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import MOVING, Launch
from twixt.ipc.interaction.events import Pull
from twixt.ipc.session import wire
from twixt.sim.engines.mujoco.mujoco_viewer import launch_passive

mujoco = pytest.importorskip("mujoco")

FREE, TARGET = 1, 4
OWN = np.array([1.0, 2, 3, 4, 5, 6])


def pulling(handle: Any, pull: Pull) -> np.ndarray:
    """Forces on the free body after a sync with this pull."""
    handle._view._actions.receive("viewer", wire.Message(pull.KIND, pull.to_fields()))
    handle.sync()
    return handle.d.xfrc_applied[FREE].copy()


def test_a_pull_is_mujocos_own_spring_and_ends_with_the_drag(launch: Launch) -> None:
    handle, _ = launch()
    force = pulling(handle, Pull(FREE, (0.1, 0, 0), target=(0.1, 0, 2)))
    assert force[2] > 0
    assert (handle.perturb.select, handle.perturb.active) == (FREE, int(mujoco.mjtPertBit.mjPERT_TRANSLATE))
    twice = pulling(handle, Pull(FREE, (0.1, 0, 0), target=(0.1, 0, 3)))
    assert twice[2] == pytest.approx(2 * force[2])
    for _ in range(2000):
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
    assert 2.5 < handle.d.xpos[FREE][2] < 3.1
    assert not pulling(handle, Pull()).any()
    assert (handle.perturb.select, handle.perturb.active) == (0, 0)


def test_forces_of_the_program_stay_whoever_writes_when(launch: Launch) -> None:
    handle, _ = launch()
    handle.d.xfrc_applied[FREE] = OWN
    handle.d.xfrc_applied[2] = -OWN
    pull = Pull(FREE, target=(0, 0, 2))
    one = pulling(handle, pull)
    assert (one != OWN).any()
    assert pulling(handle, pull) == pytest.approx(one)  # not added twice
    assert pulling(handle, Pull()) == pytest.approx(OWN)
    one = pulling(handle, pull) - OWN
    handle.d.xfrc_applied[FREE] = 2 * OWN  # the program writes it anew in each step
    assert pulling(handle, pull) == pytest.approx(2 * OWN + one)
    handle.d.xfrc_applied[FREE] = 0
    assert not pulling(handle, Pull()).any()
    assert handle.d.xfrc_applied[2].tolist() == (-OWN).tolist()


def test_a_turn_is_a_torque_and_a_selection_none(launch: Launch) -> None:
    handle, _ = launch()
    force = pulling(handle, Pull(FREE, is_turn=True, turn=(0, 0, 0.5)))
    assert force[:3].tolist() == [0, 0, 0]
    assert force[5] > 0
    assert not pulling(handle, Pull(FREE, is_held=False)).any()
    assert (handle.perturb.select, handle.perturb.active) == (FREE, 0)


def test_a_mocap_body_goes_where_it_is_dragged(launch: Launch) -> None:
    handle, _ = launch()
    pulling(handle, Pull(TARGET, (0, 0, 0.1), target=(1, 2, 0.1)))
    assert handle.d.mocap_pos[0] == pytest.approx((1, 2, 0))
    turned = Pull(TARGET, is_turn=True, turn=(0, 0, np.pi / 2))
    pulling(handle, turned)
    assert handle.d.mocap_quat[0] == pytest.approx((np.sqrt(0.5), 0, 0, np.sqrt(0.5)))
    assert not handle.d.xfrc_applied.any()


def test_a_body_that_the_model_does_not_have_is_ignored(launch: Launch) -> None:
    handle, _ = launch()
    assert not pulling(handle, Pull(99, target=(1, 2, 3))).any()
    assert not handle.d.xfrc_applied.any()


def test_a_perturbation_that_the_program_sets_is_applied(launch: Launch) -> None:
    handle, _ = launch(MOVING)
    handle.perturb.select, handle.perturb.active = FREE, int(mujoco.mjtPertBit.mjPERT_TRANSLATE)
    handle.perturb.localmass, handle.perturb.refselpos[:] = 1, (0, 0, 5)
    handle.sync()
    assert handle.d.xfrc_applied[FREE][2] > 0
    handle.perturb.active = 0
    handle.sync()
    assert not handle.d.xfrc_applied.any()


def test_numbers_that_the_program_writes_are_its_own_the_others_hold_one_pull(launch: Launch) -> None:
    handle, _ = launch()
    pull = Pull(FREE, target=(0, 1, 2))
    one = pulling(handle, pull)
    for lift in (5.0, 6.0, 7.0):
        handle.d.xfrc_applied[FREE, 0] = lift
        now = pulling(handle, pull)
        assert now[1:] == pytest.approx(one[1:])
        assert now[0] == pytest.approx(lift + one[0])
    left = pulling(handle, Pull())
    assert left.tolist() == [7.0, 0, 0, 0, 0, 0]


def test_after_many_pulls_the_programs_forces_are_the_same_to_the_last_bit(launch: Launch) -> None:
    handle, _ = launch()
    handle.d.xfrc_applied[FREE] = own = OWN / 10
    for height in range(50):
        pulling(handle, Pull(FREE, target=(0, 0, height / 7)))
    assert pulling(handle, Pull()).tolist() == own.tolist()


def test_the_force_of_a_body_without_a_place_goes_with_the_drag(launch: Launch) -> None:
    handle, _ = launch()
    handle.d.xpos[FREE] = handle.d.xipos[FREE] = np.nan
    assert np.isnan(pulling(handle, Pull(FREE, target=(0, 0, 2)))).any()
    assert not pulling(handle, Pull()).any()


def test_close_takes_the_force_away(launch: Launch) -> None:
    handle, _ = launch()
    handle.d.xfrc_applied[FREE] = OWN
    assert (pulling(handle, Pull(FREE, target=(0, 0, 2))) != OWN).any()
    handle.close()
    assert handle.d.xfrc_applied[FREE].tolist() == OWN.tolist()


def test_a_window_that_was_closed_pulls_no_more(launch: Launch) -> None:
    handle, _ = launch()
    assert pulling(handle, Pull(FREE, target=(0, 0, 2))).any()
    handle._was_running = False  # as `is_running` finds after the user has closed the window
    handle.sync()
    assert not handle.d.xfrc_applied.any()


def beside(handle: Any) -> Any:
    """Another handle of the same data, without a window."""
    return launch_passive(handle.m, handle.d, viewer=False)


@pytest.fixture
def pair(launch: Launch) -> Iterator[tuple[Any, Any]]:
    """Two handles of one data."""
    first, _ = launch()
    second = beside(first)
    yield first, second
    second.close()


UP, ASIDE = Pull(FREE, target=(1, 2, 2)), Pull(FREE, target=(-2, 3, 4))


def alone(launch: Launch, pull: Pull) -> np.ndarray:
    """The force of a pull where there is one handle."""
    handle, _ = launch()
    return pulling(handle, pull)


def test_two_handles_that_pull_one_body_add_one_pull_each_and_leave_nothing(
    launch: Launch, pair: tuple[Any, Any]
) -> None:
    first, second = pair
    up, aside = alone(launch, UP), alone(launch, ASIDE)
    first.d.xfrc_applied[FREE] = OWN
    for _ in range(20):
        pulling(first, UP)
        assert pulling(second, ASIDE) == pytest.approx(OWN + up + aside)
    assert pulling(first, Pull()) == pytest.approx(OWN + aside)
    assert pulling(second, Pull()).tolist() == OWN.tolist()


@pytest.mark.parametrize("first_ends", [True, False])
def test_a_handle_that_is_closed_while_both_pull_takes_its_own_pull_alone(
    launch: Launch, pair: tuple[Any, Any], first_ends: bool
) -> None:
    first, second = pair
    up, aside = alone(launch, UP), alone(launch, ASIDE)
    first.d.xfrc_applied[FREE] = OWN
    pulling(first, UP), pulling(second, ASIDE)
    ending, staying, left = (first, second, aside) if first_ends else (second, first, up)
    ending.close()
    assert first.d.xfrc_applied[FREE] == pytest.approx(OWN + left)
    again = beside(first)  # one that is opened anew pulls beside the other
    assert pulling(again, UP) == pytest.approx(OWN + left + up)
    again.close()
    staying.close()
    assert first.d.xfrc_applied[FREE].tolist() == OWN.tolist()


def test_the_program_writes_its_own_forces_between_the_syncs_of_two_handles(
    launch: Launch, pair: tuple[Any, Any]
) -> None:
    first, second = pair
    both = alone(launch, UP) + alone(launch, ASIDE)
    for lift in (1.0, 2.0, 3.0):
        first.d.xfrc_applied[FREE] = lift * OWN
        pulling(first, UP)
        first.d.xfrc_applied[FREE] = -lift * OWN
        assert pulling(second, ASIDE) == pytest.approx(-lift * OWN + both)
    mujoco.mj_resetData(first.m, first.d)  # zeroes it
    mujoco.mj_forward(first.m, first.d)
    pulling(first, UP)
    assert pulling(second, ASIDE) == pytest.approx(both)
    pulling(first, Pull())
    assert not pulling(second, Pull()).any()


def test_two_handles_pull_two_bodies_and_change_them(launch: Launch, pair: tuple[Any, Any]) -> None:
    first, second = pair
    other = 2
    pulling(first, UP)
    pulling(second, Pull(other, target=(2, 0, 3)))
    assert first.d.xfrc_applied[other].any()
    pulling(second, ASIDE)
    assert not first.d.xfrc_applied[other].any()
    pulling(first, Pull(other, target=(2, 0, 3)))
    pulling(second, Pull())
    assert first.d.xfrc_applied[other].any()
    assert not first.d.xfrc_applied[FREE].any()
    pulling(first, Pull())
    assert not first.d.xfrc_applied.any()


def test_two_handles_in_two_threads_leave_the_programs_forces(launch: Launch, pair: tuple[Any, Any]) -> None:
    first, second = pair
    first.d.xfrc_applied[FREE] = OWN
    together, failed = threading.Barrier(2, timeout=60), []

    def pull_and_release(handle: Any, pull: Pull) -> None:
        try:
            for _ in range(200):
                together.wait()
                pulling(handle, pull)
                pulling(handle, Pull())
        except BaseException as error:
            failed.append(error)
            together.abort()

    threads = [threading.Thread(target=pull_and_release, args=each) for each in ((first, UP), (second, ASIDE))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not failed
    assert first.d.xfrc_applied[FREE].tolist() == OWN.tolist()


def test_a_handle_that_is_dropped_while_it_pulls_leaves_nothing(launch: Launch) -> None:
    first, _ = launch()
    dropped = beside(first)
    first.d.xfrc_applied[FREE] = OWN
    assert (pulling(dropped, UP) != OWN).any()
    view = dropped._view
    del dropped
    gc.collect()
    view.close()
    assert first.d.xfrc_applied[FREE].tolist() == OWN.tolist()


def test_a_window_that_is_found_closed_pulls_no_more_though_it_is_not_synced_again(
    launch: Launch, pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = pair
    aside = alone(launch, ASIDE)
    pulling(first, UP), pulling(second, ASIDE)
    monkeypatch.setattr(type(first._view), "is_open", property(lambda view: view is not first._view))
    first._asked_ns = 0
    assert not first.is_running()
    assert first.d.xfrc_applied[FREE] == pytest.approx(aside)


PULLS = """
import sys
from twixt.ipc.interaction.events import Pull
from twixt.ipc.session import attach
link = attach(sys.argv[1])
link.send_action(Pull(1, target=(1, 2, 2)))
print("pulls", flush=True)
sys.stdin.read()
"""


def test_a_viewer_that_is_killed_while_it_pulls_leaves_the_pull_of_the_other_handle(pair: tuple[Any, Any]) -> None:
    first, second = pair
    first.d.xfrc_applied[FREE] = OWN
    aside = pulling(second, ASIDE)
    command = [sys.executable, "-c", PULLS, first._view.name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as viewer:
        try:
            assert viewer.stdout is not None
            assert viewer.stdout.readline() == b"pulls\n"
            sync_until(first, lambda: (first.d.xfrc_applied[FREE] != aside).any())
        finally:
            viewer.kill()
    sync_until(first, lambda: first.d.xfrc_applied[FREE] == pytest.approx(aside))
    assert pulling(second, Pull()).tolist() == OWN.tolist()


def sync_until(handle: Any, holds: Callable[[], object]) -> None:
    """Calls `sync` until the condition holds; fails after a minute."""
    end_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end_s, handle.d.xfrc_applied
        handle.sync()


def test_the_data_goes_with_its_last_handle() -> None:
    model = mujoco.MjModel.from_xml_string(MOVING)
    data = mujoco.MjData(model)
    handles = [launch_passive(model, data, viewer=False) for _ in range(2)]
    for handle in handles:
        pulling(handle, UP)
        handle.close()
    gone = weakref.ref(data)
    del data, handle, handles
    gc.collect()
    assert gone() is None
