"""Jumps of `qpos` are cuts, and no motion is: the rule by its numbers, and MuJoCo's own states as viewers get them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench.loops.mujoco_rows import humanoids_xml, spheres_xml
from tests.sim.engines.mujoco.models import FLEXED, MOVING, Launch
from twixt.ipc.snapshot import Snapshot
from twixt.render import interpolation
from twixt.sim.engines.mujoco.state_jumps import Motion

mujoco = pytest.importorskip("mujoco")

FREE, UPPER, LOWER, TARGET = 1, 2, 3, 4
RATES_HZ = (500, 125, 62.5, 31.25)
BOX = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="9 9 1"/>
    <geom type="box" size=".1 1 1" pos="-.5 0 1"/><geom type="box" size=".1 1 1" pos=".5 0 1"/>
    <body pos="0 0 .5"><freejoint/><geom size=".05" solref="-9e4 -1" mass="1"/></body>
    <body pos=".2 0 .5"><freejoint/><geom size=".05" solref="-9e4 -1" mass=".05"/></body>
    <body pos="0 3 1"><joint type="hinge" axis="0 0 1"/><geom type="capsule" size=".02" fromto="0 0 0 1 0 0"/>
        <body pos="1 0 0"><joint type="ball"/><geom type="box" size=".1 .2 .05"/></body></body>
    </worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("moved", "turned", "speed", "spin", "gap_s", "is_jump"),
    [
        (0.05, 0.0, 0.0, 0.0, 0.010, True),  # from rest to rest: more than 20 g make of 10 ms
        (0.009, 0.0, 0.0, 0.0, 0.010, False),
        (0.40, 0.0, 0.0, 0.0, 0.067, False),  # at 15 states a second half a metre is motion
        (0.60, 0.0, 0.0, 0.0, 0.067, True),
        (5.00, 0.0, 0.0, 0.0, 1.000, False),  # at one a second everything
        (0.20, 0.0, 20.0, 0.0, 0.010, False),  # as fast as its speed
        (0.30, 0.0, 20.0, 0.0, 0.010, True),
        (0.0, 0.40, 0.0, 0.0, 0.010, True),  # 0.8 rad
        (0.0, 0.40, 0.0, 100.0, 0.010, False),
        (float("nan"), 0.0, 0.0, 0.0, 0.010, False),
        (9.0, 0.0, float("nan"), 0.0, 0.010, False),
    ],
)
def test_the_rule(moved: float, turned: float, speed: float, spin: float, gap_s: float, is_jump: bool) -> None:
    assert Motion(moved, turned, speed, spin, gap_s).is_jump == is_jump


class Shown:
    """States as they are published, every `stride` steps."""

    def __init__(self, launch: Launch, xml: str = MOVING, rate_hz: float = 125.0) -> None:
        self.handle, self.reader = launch(xml, publish_hz=1000)
        self.data = self.handle.d
        self.stride = max(1, round(1 / rate_hz / self.handle.m.opt.timestep))

    def publish(self) -> Snapshot:
        self.handle._publisher._gate.next_ns = 0
        self.handle._deferred.request_check()
        self.handle.sync()
        return self.reader.newest()

    def step(self) -> Snapshot:
        for _ in range(self.stride):
            mujoco.mj_step(self.handle.m, self.data)
        return self.publish()

    def epochs(self) -> list[int]:
        return [int(each) for each in self.step().bodies["epoch"]]

    def run(self, steps: int, change: Callable[[int], object] = lambda number: None) -> set[int]:
        """All epochs seen in so many states; `change` is called before each."""
        seen: set[int] = set()
        for number in range(steps):
            change(number)
            seen.update(self.epochs())
        return seen


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_jump_of_qpos_is_a_cut_of_that_tree_alone_and_is_never_drawn_on_the_way(
    launch: Launch, rate_hz: float
) -> None:
    shown = Shown(launch, rate_hz=rate_hz)
    shown.handle.m.opt.gravity[:] = 0
    assert shown.run(20) == {0}
    older = shown.step()
    shown.data.qpos[:3] = 5, 0, 1
    newer = shown.step()
    assert newer.bodies["epoch"].tolist() == [0, 1, 0, 0, 0]
    method = interpolation.create("auto")
    method.add(older)
    method.add(newer)
    times = np.linspace(older.sim_time_ns, newer.sim_time_ns, 9).astype(int).tolist()
    drawn = [float(method.sample(time_ns).position[FREE, 0]) for time_ns in times]
    assert drawn[0] == pytest.approx(0, abs=0.01)
    assert all(min(abs(x), abs(x - 5)) < 0.01 for x in drawn), drawn
    assert shown.run(20) == {0, 1}


@pytest.mark.parametrize(
    ("jump", "expected"),
    [
        (lambda data: data.qpos.__setitem__(slice(0, 3), (0, 0, 9)), [0, 1, 0, 0, 0]),
        (lambda data: data.qpos.__setitem__(slice(3, 7), (0, 1, 0, 0)), [0, 1, 0, 0, 0]),
        (lambda data: data.qpos.__setitem__(7, data.qpos[7] + 2), [0, 0, 1, 1, 0]),
        (lambda data: data.qpos.__iadd__(1.5), [0, 1, 1, 1, 0]),
        (lambda data: data.qpos.__setitem__(slice(3, 7), -data.qpos[3:7]), [0, 0, 0, 0, 0]),  # the same pose
    ],
    ids=["place", "turn", "hinge", "all", "negative quaternion"],
)
@pytest.mark.parametrize("has_marks", [False, True])
def test_each_kind_of_jump_while_bodies_move(
    launch: Launch, jump: Callable[[Any], object], expected: list[int], has_marks: bool
) -> None:
    shown = Shown(launch)
    shown.handle.opt.flags[mujoco.mjtVisFlag.mjVIS_JOINT] = has_marks
    assert shown.run(30) == {0}
    jump(shown.data)
    assert shown.epochs() == expected
    shown.run(10)
    assert shown.epochs() == expected


@pytest.mark.parametrize("has_marks", [False, True])
def test_of_many_bodies_one_that_jumps_is_cut(launch: Launch, has_marks: bool) -> None:
    shown = Shown(launch, spheres_xml(200))
    shown.handle.opt.flags[mujoco.mjtVisFlag.mjVIS_JOINT] = has_marks
    assert shown.run(20) == {0}
    shown.data.qpos[7 * 50] += 1
    assert np.flatnonzero(shown.epochs()).tolist() == [51]
    shown.run(5)
    assert np.flatnonzero(shown.epochs()).tolist() == [51]


def test_a_jump_of_the_last_state_of_a_loop_that_stops_is_a_cut(launch: Launch) -> None:
    shown = Shown(launch)
    assert shown.run(20) == {0}
    shown.data.qpos[0] = 5
    mujoco.mj_step(shown.handle.m, shown.data)
    shown.handle._publisher._gate.next_ns = 1 << 62  # a publish is not due
    shown.handle._deferred.request_check()
    shown.handle.sync()
    assert shown.reader.of_time(shown.data.time).bodies["epoch"].tolist() == [0, 1, 0, 0, 0]
    assert shown.epochs() == [0, 1, 0, 0, 0]


def test_a_jump_while_time_stands_is_a_cut(launch: Launch) -> None:
    shown = Shown(launch)
    assert shown.run(20) == {0}
    shown.data.qpos[0] = 5
    mujoco.mj_forward(shown.handle.m, shown.data)
    assert shown.publish().bodies["epoch"].tolist() == [0, 1, 0, 0, 0]


def test_skins_and_flexes_are_cut_with_the_bodies(launch: Launch) -> None:
    shown = Shown(launch, FLEXED)
    assert shown.run(20) == {0}
    shown.data.qpos[:] += 2
    assert set(shown.epochs()[shown.handle.m.nbody :]) == {1}


@pytest.mark.parametrize("rate_hz", [*RATES_HZ, 10, 2])
@pytest.mark.parametrize("name", ["falls and lands", "is struck", "is a humanoid", "spins"])
def test_no_motion_is_a_cut(launch: Launch, name: str, rate_hz: float) -> None:
    shown = Shown(launch, humanoids_xml() if name == "is a humanoid" else BOX, rate_hz)
    if name == "is struck":
        shown.data.qvel[0] = 8
    elif name == "spins":
        shown.data.qvel[-4:] = 20, 40, 30, 10
    elif name == "falls and lands":
        shown.data.qpos[2] = 6
        shown.publish()  # that is a jump, of the first state
        mujoco.mj_resetData(shown.handle.m, shown.data)
        shown.data.qpos[2] = 6
    before = set(shown.epochs())
    assert shown.run(max(8, round(2 * rate_hz))) == before


def test_bodies_that_the_program_moves_by_hand_are_blended(launch: Launch) -> None:
    shown = Shown(launch)

    def carry(number: int) -> None:
        shown.data.mocap_pos[0] = 3 * np.cos(number), 2, number % 5

    assert shown.run(60, carry) == {0}


@pytest.mark.parametrize("has_time", [True, False])
@pytest.mark.parametrize("rate_hz", [125, 31.25])
def test_a_replay_of_recorded_qpos_is_blended(launch: Launch, rate_hz: float, has_time: bool) -> None:
    shown = Shown(launch, rate_hz=rate_hz)
    seen: set[int] = set()
    for number in range(200):  # slow at first, then fast, then at rest, and again
        phase = number / rate_hz
        shown.data.qpos[0] = 2 * np.sin(3 * phase**2)
        shown.data.qpos[7:9] = np.sin(2 * phase), np.cos(5 * phase) - 1
        shown.data.time += has_time / rate_hz
        mujoco.mj_forward(shown.handle.m, shown.data)
        seen.update(shown.publish().bodies["epoch"].tolist())
    assert seen == {0}


def test_after_a_reset_the_world_restarts_and_bodies_are_not_cut_besides(launch: Launch) -> None:
    shown = Shown(launch)
    for _ in range(3):
        assert shown.run(30) == {0}
        mujoco.mj_resetDataKeyframe(shown.handle.m, shown.data, 0)
        shown.publish()
    mujoco.mj_forward(shown.handle.m, shown.data)
    assert shown.run(5) == {0}


def test_a_state_that_is_not_finite_is_no_jump(launch: Launch) -> None:
    shown = Shown(launch)
    assert shown.run(20) == {0}
    place = shown.data.xpos[FREE].copy()
    shown.data.xpos[FREE] = np.nan
    shown.publish()
    shown.data.xpos[FREE] = place
    assert shown.run(20) == {0}
    shown.data.qpos[0] = 5
    assert shown.epochs() == [0, 1, 0, 0, 0]
