"""Snapshots that viewers receive, and when, under injected trouble, in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.newest import newest
from tests.sim.lab import MS, Lab, MakeHost, ResettableWalk, Walk
from twixt.ipc.config.troubles import Troubles
from twixt.ipc.session import attach
from twixt.sim.schedule.step_multiple import DtLog, Origin, ReplayedSteps, Widening, read_dt_log
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column
from twixt.sim.world.world import World, state_hash

# Oversleep of a wait in the lab, and a turn that may come between, ms.
SLACK_MS = 0.3


def ticks_of(lab: Lab) -> list[int]:
    return [seen.head.tick for seen in lab.visible]


# -- stalls


def test_a_stall_is_real_waiting_in_front_of_its_step_and_then_made_good(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles(stall=(500, 2)))
    lab.run_ms(7000)
    gaps_ms = {
        after.head.sim_time_ns / 1e9: (after.now_ns - before.now_ns) / MS
        for before, after in zip(lab.visible, lab.visible[1:], strict=False)
    }
    long = {sim_s: gap_ms for sim_s, gap_ms in gaps_ms.items() if gap_ms > 100}
    assert list(long) == [2.02, 4.02, 6.02]
    assert all(500 <= gap_ms <= 530 for gap_ms in long.values())
    assert lab.physics.publisher.meter.dropped == 0
    assert lab.visible[-1].late_ms < 0


def test_stalls_and_work_add_up_and_count_as_the_cost_of_their_step(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles((3, 5), (100, 0.2)))
    lab.run_ms(2000)
    costs_ms = {seen.head.tick: seen.head.step_cost_ns / MS for seen in lab.visible if seen.head.tick}
    assert all(4 <= cost_ms <= 6.5 for tick, cost_ms in costs_ms.items() if tick % 10 != 1)
    assert all(104 <= costs_ms[tick] <= 107 for tick in (11, 21, 31))


# -- losses


def test_lost_snapshots_are_never_seen_and_the_same_ones_in_every_run(make_host: MakeHost) -> None:
    runs = []
    for _ in range(2):
        lab = Lab(make_host(), troubles=Troubles(drop_percent=30), seed=4)
        lab.run_ms(4000)
        lab.host.end()
        runs.append(set(range(lab.schedule.tick)) - set(ticks_of(lab)))
        assert lab.physics.publisher.meter.lost == pytest.approx(len(runs[-1]), abs=1)
    assert 40 <= len(runs[0]) <= 80
    assert runs[0] == runs[1]


def test_a_lost_one_leaves_a_gap_where_fewer_snapshots_than_steps_are_published(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles(drop_percent=50), publish_hz=10)
    lab.run_ms(5000)
    assert 20 <= len(lab.visible) <= 35
    assert len(lab.visible) + lab.physics.publisher.meter.lost == pytest.approx(50, abs=4)


def test_the_first_of_a_world_single_steps_and_the_last_state_are_never_lost(make_host: MakeHost) -> None:
    lab = Lab(make_host(), ResettableWalk(), troubles=Troubles(drop_percent=100))
    lab.run_ms(1000)
    assert ticks_of(lab) == [0]
    lab.ask("pause")
    for _ in range(3):
        lab.ask("step", draw_time_ns=lab.schedule.sim_time_ns)
    steps = lab.schedule.tick
    assert ticks_of(lab)[-3:] == [steps - 2, steps - 1, steps]
    lab.ask("reset")
    assert ticks_of(lab)[-1] == 0
    assert lab.visible[-1].head.world_epoch == 1
    lab.ask("resume")
    lab.run_ms(500)
    assert ticks_of(lab)[-1] == 0
    lab.physics.finish()
    assert ticks_of(lab)[-1] == lab.schedule.tick > 0


# -- delays


def test_a_delayed_snapshot_is_seen_so_much_after_its_due_instant_which_keeps_the_plan(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles(delay_ms=(80, 20)))
    lab.run_ms(5000)
    ticks = ticks_of(lab)
    assert ticks == list(range(len(ticks)))
    late_ms = [seen.late_ms for seen in lab.visible[1:]]
    assert 60 <= min(late_ms) < 64
    assert 96 < max(late_ms) <= 100 + SLACK_MS
    assert sum(late_ms) / len(late_ms) == pytest.approx(82, abs=3)  # above 80: none overtakes another
    assert all(seen.head.due_ns == lab.schedule.plan.due_ns(seen.head.sim_time_ns) for seen in lab.visible[1:])
    assert len(lab.published) > len(lab.visible) + 3  # physics runs ahead, as without trouble


def test_without_trouble_nothing_is_copied(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.run_ms(500)
    assert len(lab.visible) == len(lab.published)
    assert lab.physics.publisher.next_release_ns is None


def test_slow_steps_and_stalls_do_not_hold_up_what_is_under_way(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles((25, 60), (500, 1), 0, (80, 20)))
    lab.run_ms(6000)
    after_start = [seen for seen in lab.visible if seen.head.tick > 8]
    # Of a step of 60 ms, only the world's own part, 1 ms, delays a release.
    on_time = [seen for seen in after_start if seen.late_ms <= 100 + 1 + SLACK_MS]
    assert len(on_time) > 0.85 * len(after_start)
    assert min(seen.late_ms for seen in after_start) >= 60


def test_what_is_under_way_arrives_while_physics_stalls(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles(stall=(500, 1), delay_ms=(80, 20)))
    lab.run_ms(1800)
    before, after = max(
        zip(lab.visible, lab.visible[1:], strict=False), key=lambda pair: pair[1].now_ns - pair[0].now_ns
    )
    assert before.head.sim_time_ns / MS == 1000  # the last one before the stall
    assert before.late_ms <= 100 + SLACK_MS
    assert 340 <= (after.now_ns - before.now_ns) / MS <= 400


def test_a_pause_stops_what_is_due_and_what_is_under_way_still_comes(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles(delay_ms=(80, 20)))
    lab.run_ms(1000)
    lab.ask("pause")
    under_way = len(lab.published) - len(lab.visible)
    assert under_way > 3
    assert lab.physics.publisher.plan.rate == 0
    lab.run_ms(300)
    assert len(lab.visible) == len(lab.published)
    before = len(lab.visible)
    lab.run_ms(1000)
    assert len(lab.visible) == before
    asked_ns = lab.ns
    lab.ask("step", draw_time_ns=lab.schedule.sim_time_ns)
    lab.run_ms(150)
    assert len(lab.visible) == before + 1
    assert 60 <= (lab.visible[-1].now_ns - asked_ns) / MS <= 103
    lab.ask("resume")
    lab.run_ms(1000)
    assert [seen.head.tick for seen in lab.visible] == list(range(len(lab.visible)))
    assert 60 <= lab.visible[-1].late_ms <= 100 + SLACK_MS


def test_a_reset_drops_what_is_under_way(make_host: MakeHost) -> None:
    lab = Lab(make_host(), ResettableWalk(), troubles=Troubles(delay_ms=(200, 50)))
    lab.run_ms(1000)
    lab.ask("reset")
    seen_before = len(lab.visible)
    lab.run_ms(1000)
    after = [seen.head for seen in lab.visible[seen_before:]]
    assert {head.world_epoch for head in after} == {1}
    assert [head.tick for head in after] == list(range(len(after)))
    assert len(after) > 20


def test_a_faster_time_scale_does_not_wait_for_what_was_delayed_in_slow_motion(make_host: MakeHost) -> None:
    lab = Lab(make_host(), scale=0.05, troubles=Troubles(delay_ms=(80, 20)))
    lab.run_ms(3000)
    lab.ask("time_scale", 1.0)
    changed_ns = lab.ns
    lab.run_ms(500)
    after = [seen for seen in lab.visible if seen.now_ns > changed_ns]
    assert len(after) >= 20
    plan = lab.physics.publisher.plan
    late_ms = [(seen.now_ns - (plan.due_ns(seen.head.sim_time_ns) or 0)) / MS for seen in after]
    assert max(late_ms) <= 100 + SLACK_MS


def test_a_delay_that_is_taken_away_while_running_loses_and_disorders_nothing(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles(delay_ms=(300, 100)))
    lab.run_ms(1000)
    lab.ask("delay", None)
    lab.run_ms(1000)
    ticks = ticks_of(lab)
    assert ticks == list(range(len(ticks)))
    assert lab.visible[-1].late_ms < 0
    lab.ask("delay", [80, 20])
    lab.run_ms(1000)
    assert 60 <= lab.visible[-1].late_ms <= 100 + SLACK_MS


def test_at_the_end_whatever_is_under_way_is_seen(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles(delay_ms=(300, 100)))
    lab.run_ms(1000)
    lab.physics.finish()
    assert ticks_of(lab) == list(range(lab.schedule.tick + 1))


class Late(Walk):
    """Corrects its first body in step 20, and so has columns from then on."""

    def __init__(self, count: int = 3, seed: int = 0) -> None:
        super().__init__(count, seed)
        self.bodies = Bodies(count, columns={"heat": Column("f4")})
        self.steps = 0

    def step(self, dt: float) -> None:
        super().step(dt)
        self.steps += 1
        self.bodies.columns["heat"][:] = self.steps
        if self.steps == 20:
            self.bodies.correct(0, (1, 0, 0))


def test_columns_that_come_later_come_with_the_delayed_snapshot_they_belong_to(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Late(), troubles=Troubles(delay_ms=(200, 50)))
    while lab.visible[-1].head.tick < 18:
        lab.physics.turn()
    assert lab.schedule.tick > 20
    assert set(lab.host.ring.columns) == {"heat"}
    while lab.visible[-1].head.tick < 21:
        lab.physics.turn()
    link = attach("lab")
    seen = newest(link)
    link.close()
    assert seen.columns["heat"].tolist() == [seen.tick] * 3
    assert seen.columns["corrected_ns"].tolist() == [20 * lab.schedule.dt_ns, 0, 0]


# -- widening


class Even(World):
    """One body that moves at 1 m/s."""

    dt = 1 / 60
    scene = Walk().scene

    def __init__(self) -> None:
        self.bodies = Bodies(3)

    def step(self, dt: float) -> None:
        self.bodies.position[:, 0] += dt


def test_widened_steps_stay_in_real_time_at_15_hz_and_narrow_back(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Even(), stride=Widening(6))
    lab.run_ms(1000)
    lab.ask("slow_physics", [50, 50])
    lab.run_ms(2000)
    settled = len(lab.visible)
    lab.run_ms(4000)
    heads = [seen.head for seen in lab.visible[settled:]]
    assert {head.dt_ns for head in heads} == {round(4 / 60 * 1e9)}
    assert len(heads) == pytest.approx(60, abs=1)
    assert {head.rate for head in heads} == {1.0}
    passed = heads[-1].sim_time_ns - heads[0].sim_time_ns
    assert passed == pytest.approx(lab.visible[-1].now_ns - lab.visible[settled].now_ns, rel=0.02)
    assert all(seen.late_ms < 0 for seen in lab.visible[settled:])
    lab.ask("slow_physics", None)
    lab.run_ms(3000)
    assert {seen.head.dt_ns for seen in lab.visible[-60:]} == {round(1e9 / 60)}
    meter = lab.physics.publisher.meter
    assert (meter.widened, meter.narrowed, meter.dropped) == (1, 1, 0)
    plan = lab.physics.publisher.plan  # the plan of the whole run: simulated time was never slowed down
    assert all(seen.head.due_ns == plan.due_ns(seen.head.sim_time_ns) for seen in lab.visible[1:])
    told: list[dict[str, Any]] = []
    lab.host.set_status = told.append  # type: ignore[method-assign]
    lab.run_ms(500)
    assert told[-1]["step_multiple"] == 1
    assert "4 -> 1" in told[-1]["step_reason"]
    assert lab.physics.world.bodies.position[0, 0] == pytest.approx(lab.schedule.sim_time_ns / 1e9, rel=1e-4)


def test_beyond_the_widest_step_simulated_time_runs_slower(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Even(), stride=Widening(2), troubles=Troubles((50, 50)))
    lab.run_ms(3000)
    assert lab.visible[-1].head.dt_ns == round(2e9 / 60)
    assert lab.schedule.rate == pytest.approx(1000 / 60 * 2 / 51, rel=0.02)
    assert lab.schedule.is_overloaded


def test_a_replayed_log_makes_the_same_steps_and_the_same_states_whatever_the_load(
    make_host: MakeHost, tmp_path: Path
) -> None:
    path = str(tmp_path / "log")
    log = DtLog(path, Origin("walk", 0, 0.02))
    first = Lab(make_host(), stride=Widening(5), troubles=Troubles(stall=(200, 0.1)), dt_log=log)
    first.cost_ms = 47
    first.run_ms(1500)
    first.cost_ms = 1
    first.run_ms(3000)
    log.close()
    first.host.end()
    multiples = list(read_dt_log(path).multiples)
    assert len(multiples) == first.schedule.tick
    assert len(set(multiples)) >= 2
    second = Lab(make_host(), stride=ReplayedSteps(multiples))
    while not second.schedule.stride.is_over:
        second.physics.turn()
    assert state_hash(second.world) == state_hash(first.world)
    assert second.schedule.sim_time_ns == first.schedule.sim_time_ns
    plain = Walk()
    for _ in multiples:
        plain.step(plain.dt)
    assert state_hash(plain) != state_hash(first.world)


def test_a_reset_begins_log_and_replay_again(make_host: MakeHost, tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    log = DtLog(path, Origin("walk", 0, 0.02))
    lab = Lab(make_host(), ResettableWalk(), stride=ReplayedSteps([3, 1, 2] * 20), dt_log=log)
    lab.run_steps(7)
    lab.ask("reset")
    lab.run_steps(4)
    log.close()
    assert list(read_dt_log(path).multiples) == [3, 1, 2, 3]


def test_viewers_are_told_the_trouble_in_force_and_what_flags_asked_for(make_host: MakeHost) -> None:
    lab = Lab(make_host(), troubles=Troubles((20, 120), (500, 5), 5, (80, 20)))
    told: list[dict[str, Any]] = []
    lab.host.set_status = told.append  # type: ignore[method-assign]
    for name in ("slow_physics", "stall", "drop", "delay"):
        lab.ask(name, None)
    lab.run_ms(500)
    nothing = {"slow_physics_ms": None, "stall": None, "drop_percent": 0.0, "delay_ms": None}
    asked = {"slow_physics_ms": [20, 120], "stall": [500, 5], "drop_percent": 5, "delay_ms": [80, 20]}
    assert told[-1]["trouble"] == nothing
    assert told[-1]["trouble_asked"] == asked
    assert told[-1]["slow_physics_ms"] is None
    lab.ask("slow_physics", [20, 120])
    lab.run_ms(500)
    assert told[-1]["trouble"] == nothing | {"slow_physics_ms": [20, 120]}
