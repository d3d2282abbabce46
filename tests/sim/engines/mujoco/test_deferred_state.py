"""States that `sync` puts aside without a look at anything, and what makes the next one look."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import HUNG, KINDS, MOVING, Launch
from twixt.ipc.interaction.events import Pull
from twixt.ipc.session import wire
from twixt.sim.engines.mujoco import gate
from twixt.sim.engines.mujoco.body_poses import BodyPoses
from twixt.sim.engines.mujoco.gate import DeferredState, time_memory

mujoco = pytest.importorskip("mujoco")

# States a second; none is published in a test but the first, and the last of a loop.
SELDOM = 0.1
FREE = 1


def passing(launch: Launch, model: str = MOVING) -> tuple[Any, Any]:
    """A handle whose syncs look at nothing, with its reader."""
    handle, reader = launch(model, publish_hz=SELDOM)
    for _ in range(3):
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
    assert handle._deferred.until_ns
    return handle, reader


def pull(handle: Any, pulled: Pull) -> None:
    handle._view._actions.receive("viewer", wire.Message(pulled.KIND, pulled.to_fields()))


def test_a_copy_is_the_state_of_its_sync(launch: Launch) -> None:
    handle, _ = passing(launch)
    taken, shown = BodyPoses(handle.m, handle.d).empty(), np.array(handle.d.xpos)
    time_s = handle.d.time
    handle.d.xpos[:], handle.d.time = np.nan, 5.0
    state = handle._deferred.pop(taken)
    assert state is not None
    assert state.time_s == time_s
    assert np.array_equal(taken.position, shown)
    assert np.array_equal(taken.quaternion, handle.d.xquat)


@pytest.mark.parametrize("model", [MOVING, KINDS, HUNG])
def test_all_that_lies_between_positions_and_quaternions_is_a_gap(model: str) -> None:
    made = mujoco.MjModel.from_xml_string(model)
    data = mujoco.MjData(made)
    poses = BodyPoses(made, data)
    mujoco.mj_forward(made, data)
    taken = poses.empty()
    poses.copy_to(taken)
    assert np.array_equal(taken.position, data.xpos)
    assert np.array_equal(taken.quaternion, data.xquat)


def test_the_time_is_found_in_memory() -> None:
    data = mujoco.MjData(mujoco.MjModel.from_xml_string(MOVING))
    memory = time_memory(data)
    assert memory is not None
    for data.time in (0.0, 0.002, 1e9):
        assert memory.cast("d")[0] == data.time


def test_without_a_known_place_of_the_time_each_sync_looks(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "time_memory", lambda data: None)
    handle, reader = launch(publish_hz=SELDOM)
    first = reader.newest()
    for _ in range(3):
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
        assert not handle._deferred.until_ns
    seen = reader.until_tick(first.tick + 1)
    assert np.allclose(seen.bodies["position"], handle.d.xpos)
    assert seen.sim_time_ns == round(handle.d.time * 1e9)


def test_a_reader_that_another_state_overtakes_takes_none() -> None:
    model = mujoco.MjModel.from_xml_string(MOVING)
    data = mujoco.MjData(model)
    poses = BodyPoses(model, data)
    deferred = DeferredState(poses, data)
    deferred.put(1)

    class Overtaken:
        """Memory into which a copy is made while another state is put aside."""

        def __setitem__(self, place: slice, copied: memoryview) -> None:
            deferred.put(2)

    assert deferred.pop(poses.empty()._replace(memory=Overtaken())) is None
    state = deferred.pop(poses.empty())
    assert state is not None
    assert state.time_s == 0.0
    assert deferred.pop(poses.empty()) is None


def test_a_pull_reaches_the_next_sync_and_ends_with_the_drag(launch: Launch) -> None:
    handle, _ = passing(launch)
    pull(handle, Pull(FREE, (0.1, 0, 0), target=(0.1, 0, 2)))
    handle.sync()
    assert handle.d.xfrc_applied[FREE][2] > 0
    handle.sync()
    pull(handle, Pull())
    handle.sync()
    assert not handle.d.xfrc_applied.any()
    handle.sync()
    assert handle._deferred.until_ns


def test_a_perturbation_that_the_program_sets_reaches_the_next_sync(launch: Launch) -> None:
    handle, _ = passing(launch)
    handle.perturb.select, handle.perturb.active = FREE, int(mujoco.mjtPertBit.mjPERT_TRANSLATE)
    handle.perturb.localmass, handle.perturb.refselpos[:] = 1, (0, 0, 5)
    handle.sync()
    assert handle.d.xfrc_applied[FREE][2] > 0


@pytest.mark.parametrize("is_kept", [False, True])
def test_the_last_state_has_the_marks_that_were_asked_for_since_the_last_publish(launch: Launch, is_kept: bool) -> None:
    handle, reader = passing(launch, KINDS)
    opt, tick = handle.opt, reader.newest().tick
    handle.sync()
    handle.sync()
    (opt if is_kept else handle.opt).flags[mujoco.mjtVisFlag.mjVIS_JOINT] = 1
    handle.sync()
    handle.d.xpos[:] = np.nan
    reader.until_tick(tick + 1)
    reader.until(lambda: len(reader.newest().marks))


def test_geoms_of_the_users_own_come_with_the_last_state(launch: Launch) -> None:
    handle, reader = passing(launch)
    scene, tick = handle.user_scn, reader.newest().tick
    handle.sync()
    mujoco.mjv_initGeom(
        scene.geoms[0], mujoco.mjtGeom.mjGEOM_SPHERE, np.ones(3), np.array([1.0, 2, 3]), np.eye(3).ravel(), np.ones(4)
    )
    scene.ngeom = 1
    handle.sync()
    reader.until_tick(tick + 1)
    reader.until(lambda: reader.newest().marks["position"].tolist() == [[1, 2, 3]])


def test_a_state_that_another_thread_is_changing_is_not_put_aside(launch: Launch) -> None:
    handle, _ = passing(launch)
    begun, synced, put_ns = threading.Event(), threading.Event(), handle._deferred.put_ns

    def work() -> None:
        begun.set()
        handle.sync()
        synced.set()

    with handle.lock():
        other = threading.Thread(target=work)
        other.start()
        begun.wait()
        assert not synced.is_set()
        assert handle._deferred.put_ns == put_ns
    other.join()
    assert handle._deferred.put_ns > put_ns


def test_a_reset_that_no_step_follows_is_shown(launch: Launch) -> None:
    handle, reader = passing(launch)
    reader.until(lambda: reader.newest().sim_time_ns > 0)
    epoch = reader.newest().world_epoch
    handle.sync()
    handle.sync()
    assert handle._deferred.until_ns
    mujoco.mj_resetData(handle.m, handle.d)  # leaves no poses until the next step
    handle.sync()
    reader.until(lambda: reader.newest().world_epoch > epoch)
    assert reader.newest().bodies["position"][FREE].tolist() == [0, 0, 1]


def test_after_a_rest_the_thread_wakes_again(launch: Launch) -> None:
    handle, reader = passing(launch)
    for _ in range(3):
        reader.until(lambda: not handle._publisher._wake.is_set and not handle._deferred.until_ns)
        tick = reader.newest().tick
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
        handle.sync()
        assert handle._deferred.until_ns
        seen = reader.until_tick(tick + 1)
        assert seen.sim_time_ns == round(handle.d.time * 1e9)


def test_close_is_seen_at_once(launch: Launch) -> None:
    handle, _ = passing(launch)
    put_ns = handle._deferred.put_ns
    handle.close()
    handle.sync()
    assert handle._deferred.put_ns == put_ns


def _is_free_body_at(reader: Any, height: float) -> bool:
    return bool(reader.newest().bodies["position"][FREE, 2] == height)


@pytest.mark.parametrize("rate_hz", [SELDOM, 1000])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -1e12])
def test_a_time_that_is_none_is_said_once_and_the_bodies_are_shown(
    launch: Launch, capsys: pytest.CaptureFixture[str], odd: float, rate_hz: float
) -> None:
    handle, reader = launch(publish_hz=rate_hz)
    mujoco.mj_step(handle.m, handle.d)
    handle.sync()
    reader.until(lambda: reader.newest().sim_time_ns > 0)
    for height in (5.0, 6.0):
        handle.d.time, handle.d.qpos[2] = odd, height
        mujoco.mj_kinematics(handle.m, handle.d)
        handle.sync()
        reader.until(partial(_is_free_body_at, reader, height))
    assert reader.newest().sim_time_ns == round(handle.m.opt.timestep * 1e9)
    assert capsys.readouterr().err.count("data.time is") == 1
