"""Drags in MuJoCo's terms: forces that come and go alone, the program's own ones, turns, mocap bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import MOVING, Launch
from twixt.ipc.interaction.user_actions import Pull
from twixt.ipc.session import wire

mujoco = pytest.importorskip("mujoco")

FREE, TARGET = 1, 4
OWN = np.array([1.0, 2, 3, 4, 5, 6])


def pulling(handle: Any, pull: Pull) -> np.ndarray:
    """Forces on the free body after a sync with this pull."""
    handle._view.actions.take("viewer", wire.Message(pull.KIND, pull.to_fields()))
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
