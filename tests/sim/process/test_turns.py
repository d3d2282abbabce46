"""Turns of physics with a real world on a real host, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.newest import newest
from tests.sim.lab import MS, Lab, MakeHost, ResettableWalk, Walk
from twixt.ipc.config.troubles import Troubles
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.controls import Button, Slider
from twixt.ipc.process.user_code import UserCodeCrashed
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import attach
from twixt.sim.process.turns import ASSUMED_VIEWERS_LEAD_NS
from twixt.sim.schedule.schedule import LEAD_SLACK_NS
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.columns import Column
from twixt.sim.world.world import World, state_hash


def test_the_first_snapshot_is_the_world_as_it_was_made(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    assert [(p.tick, p.sim_time_ns) for p in lab.published] == [(0, 0)]


def least_and_most_ms_ahead(lab: Lab) -> tuple[float, float]:
    ahead_ms = [(p.due_ns - p.now_ns) / MS for p in lab.published[-20:] if p.due_ns]
    return min(ahead_ms), max(ahead_ms)


def test_every_step_is_published_ahead_of_its_due_instant_by_one_interval_and_what_a_viewer_will_need(
    make_host: MakeHost,
) -> None:
    lab = Lab(make_host())
    lab.run_ms(2000)
    ticks = [p.tick for p in lab.published]
    assert ticks == list(range(len(ticks)))
    least_ms, most_ms = least_and_most_ms_ahead(lab)
    expected_ms = 20 + (ASSUMED_VIEWERS_LEAD_NS + LEAD_SLACK_NS) / MS
    # Never less; more only by the margin for the cost of the slowest steps.
    assert expected_ms <= least_ms <= most_ms <= expected_ms + 1.2


def test_a_viewers_own_lead_replaces_the_assumed_one(make_host: MakeHost) -> None:
    host = make_host()
    lab = Lab(host)
    link = attach("lab")
    link.report_lead(10 * MS)
    for _ in range(2000):
        if host.lead_ns == 10 * MS:
            break
        host.viewer_attached.wait(1)
        link.wait(0.01)
    assert host.lead_ns == 10 * MS
    lab.run_ms(1000)
    least_ms, most_ms = least_and_most_ms_ahead(lab)
    assert 30 <= least_ms - LEAD_SLACK_NS / MS <= most_ms - LEAD_SLACK_NS / MS <= 31.2
    link.close()


def test_with_lead_0_snapshots_are_published_as_they_fall_due(make_host: MakeHost) -> None:
    lab = Lab(make_host(), lead_ms=0)
    lab.run_ms(1000)
    late_ns = [p.now_ns - p.due_ns for p in lab.published[10:] if p.due_ns]
    assert len(late_ns) > 35
    assert all(0 <= each <= 2 * lab.oversleep_ns for each in late_ns)


def test_high_step_rates_publish_no_more_than_publish_hz_and_make_every_step(make_host: MakeHost) -> None:
    world = Walk()
    world.dt = 0.001
    lab = Lab(make_host(), world, publish_hz=100)
    lab.cost_ms = 0.1
    lab.run_ms(2000)
    assert 2000 <= lab.physics.publisher.meter.steps <= 2060
    assert 190 <= len(lab.published) <= 204
    assert all(p.due_ns - p.now_ns > 0 for p in lab.published[5:] if p.due_ns)


def test_a_debt_is_made_good_without_publishing_more_than_publish_hz(make_host: MakeHost) -> None:
    lab = Lab(make_host(), publish_hz=60)
    lab.run_ms(500)
    lab.cost_ms = 800
    while lab.cost_ms == 800:
        lab.physics.turn()
        if lab.ns > 10**9 + 1200 * MS:
            lab.cost_ms = 1
    before = len(lab.published)
    steps = lab.physics.publisher.meter.steps
    lab.run_ms(100)
    assert lab.physics.publisher.meter.steps - steps > 35
    assert len(lab.published) - before <= 6 + 3
    assert lab.published[-1].tick >= lab.schedule.tick - 1


def test_slow_physics_publishes_every_step_as_it_is_made(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.cost_ms = 41
    lab.run_ms(2000)
    ticks = [p.tick for p in lab.published]
    assert ticks == list(range(len(ticks)))
    assert all(p.due_ns and 0 <= p.now_ns - p.due_ns <= 2000 for p in lab.published[2:])
    assert lab.schedule.rate == pytest.approx(20 / 41, rel=0.01)
    assert lab.physics.publisher.meter.dropped == 0


def test_a_stall_beyond_a_second_is_given_up_and_counted(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.run_ms(500)
    lab.cost_ms = 3000
    lab.physics.turn()
    while lab.published[-1].now_ns < 4 * 10**9:
        lab.physics.turn()
        lab.cost_ms = 1 if lab.ns > 4 * 10**9 else 3000
    assert lab.physics.publisher.meter.dropped == pytest.approx(3000 / 20, abs=4)
    assert lab.host is not None
    assert lab.physics.publisher.plan == lab.schedule.plan


def test_pause_stops_at_what_the_user_saw_and_resume_goes_on_from_there(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.run_ms(500)
    seen_ns = lab.schedule.present_ns(lab.ns) - 5 * MS
    lab.ask("pause", draw_time_ns=seen_ns)
    steps = lab.physics.publisher.meter.steps
    lab.run_ms(1000)
    plan = lab.physics.publisher.plan
    assert (plan.rate, plan.sim_time_ns) == (0, seen_ns)
    assert lab.physics.publisher.meter.steps == steps
    lab.ask("resume")
    lab.run_ms(500)
    assert lab.physics.publisher.plan.sim_time_ns == seen_ns
    assert lab.physics.publisher.meter.steps == pytest.approx(steps + 25, abs=2)


def test_single_steps_play_what_is_published_and_then_make_one_step_each(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.run_ms(500)
    seen_ns = lab.schedule.present_ns(lab.ns)
    held = [seen_ns]
    for _ in range(6):
        lab.ask("step", draw_time_ns=seen_ns)
        assert lab.physics.publisher.plan.rate == 0
        held.append(lab.physics.publisher.plan.sim_time_ns)
    on_the_grid = [(seen_ns // (20 * MS) + k) * 20 * MS for k in range(1, 7)]
    assert held[1:] == on_the_grid
    assert lab.schedule.sim_time_ns == held[-1]
    assert lab.published[-1].sim_time_ns == held[-1]


def test_a_new_time_scale_takes_effect_at_once(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.run_ms(500)
    lab.ask("time_scale", 0.25)
    steps = lab.physics.publisher.meter.steps
    lab.run_ms(2000)
    assert lab.physics.publisher.plan.rate == 0.25
    assert lab.physics.publisher.meter.steps == pytest.approx(steps + 25, abs=3)
    lab.ask("time_scale", 4.0)
    steps = lab.physics.publisher.meter.steps
    lab.run_ms(1000)
    assert lab.physics.publisher.meter.steps == pytest.approx(steps + 200, abs=8)


@pytest.mark.parametrize("kind", [Walk, ResettableWalk])
def test_a_reset_begins_again_in_a_new_world_epoch_with_the_same_states(make_host: MakeHost, kind: type[Walk]) -> None:
    lab = Lab(make_host(), kind())
    lab.run_ms(200)
    first = [p for p in lab.published if p.tick == 5]
    lab.ask("reset")
    assert lab.published[-1].tick == 0
    assert lab.physics.publisher.plan.world_epoch == 1
    fresh = kind()
    while lab.schedule.tick < 5:
        lab.physics.turn()
    for _ in range(5):
        fresh.step(fresh.dt)
    assert first
    assert lab.physics.world.bodies.position.tolist() == fresh.bodies.position.tolist()


def test_trouble_is_changed_by_a_command(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.ask("slow_physics", [5, 7])
    assert lab.physics.trouble.now.slow_physics_ms == (5, 7)
    lab.ask("slow_physics", None)
    assert lab.physics.trouble.now.slow_physics_ms is None


def test_a_world_that_changes_its_dt_while_it_runs_is_stepped_as_it_began(make_host: MakeHost) -> None:
    asked: list[float] = []

    class Changes(Walk):
        def step(self, dt: float) -> None:
            asked.append(dt)
            self.dt = 5.0

    lab = Lab(make_host(), Changes())
    lab.run_ms(100)
    assert set(asked) == {0.02}
    assert lab.schedule.sim_time_ns == len(asked) * 20 * MS


def test_quit_is_a_wish_that_the_caller_sees(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.ask("quit")
    assert lab.physics.wants_to_quit


@pytest.mark.parametrize(
    ("cost_ms", "options"),
    [
        (1, {}),
        (41, {}),
        (1, {"publish_hz": 13}),
        (1, {"lead_ms": 0}),
        (1, {"scale": 0.3}),
        (400, {"scale": 3.0}),
        (3, {"troubles": Troubles((1, 2)), "seed": 5}),
        (1, {"troubles": Troubles(stall=(300, 0.2))}),
        (1, {"troubles": Troubles(drop_percent=60)}),
        (1, {"troubles": Troubles(delay_ms=(80, 20)), "publish_hz": 30}),
        (1, {"troubles": Troubles((5, 40), (300, 0.2), 20, (80, 80)), "seed": 3}),
    ],
)
def test_the_states_are_the_same_bytes_at_any_pace(
    make_host: MakeHost, cost_ms: float, options: dict[str, Any]
) -> None:
    expected = Walk(seed=0)
    for _ in range(50):
        expected.step(expected.dt)
    lab = Lab(make_host(), **options)
    lab.cost_ms = cost_ms
    lab.run_steps(50)
    assert state_hash(lab.physics.world) == state_hash(expected)


def test_a_world_that_raises_is_a_crash_of_its_own(make_host: MakeHost) -> None:
    lab = Lab(make_host())
    lab.world.spend = lambda: 1 / 0  # type: ignore[attr-defined]
    with pytest.raises(UserCodeCrashed, match=r"Walk\.step raised ZeroDivisionError: division by zero"):
        lab.run_ms(100)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda world: setattr(world, "bodies", Bodies(9)), r"was Bodies\(3\) and is Bodies\(9\)"),
        (lambda world: setattr(world, "bodies", np.zeros(3)), r"is ndarray after step 1"),
        (lambda world: delattr(world, "bodies"), "is NoneType"),
    ],
)
def test_a_world_that_takes_its_arrays_away_is_told_what_to_keep(
    make_host: MakeHost, change: Callable[[World], None], said: str
) -> None:
    class Taker(Walk):
        def step(self, dt: float) -> None:
            change(self)

    lab = Lab(make_host(), Taker())
    with pytest.raises(UserCodeCrashed, match=said) as caught:
        lab.run_ms(100)
    assert caught.value.exit_code == 1


def test_a_new_array_of_as_many_bodies_is_fine(make_host: MakeHost) -> None:
    class Renewer(Walk):
        def step(self, dt: float) -> None:
            self.bodies = Bodies(3)
            self.bodies.position = 7

    lab = Lab(make_host(), Renewer())
    lab.run_ms(100)
    link = attach("lab")
    assert newest(link).bodies["position"].tolist() == [[7, 7, 7]] * 3
    link.close()


def test_bodies_may_be_spawned_beyond_the_first_capacity(make_host: MakeHost) -> None:
    class Grower(Walk):
        def step(self, dt: float) -> None:
            self.bodies.spawn((1, 0, 0))

    lab = Lab(make_host(), Grower())
    lab.run_ms(400)
    lab.physics.finish()
    link = attach("lab")
    assert len(newest(link).bodies) == len(lab.world.bodies) > 15
    link.close()


def test_a_new_scene_is_published_and_one_with_too_many_shapes_refused(make_host: MakeHost) -> None:
    host = make_host()
    lab = Lab(host)
    lab.run_ms(100)
    assert host.scene.version == 1
    lab.world.scene = Scene([Sphere(0.2)] * 3)
    lab.run_ms(100)
    assert host.scene.version == 2
    lab.world.scene = Scene([Sphere(0.2)] * 4)
    with pytest.raises(TwixtError, match="4 shapes for 3 bodies"):
        lab.run_ms(100)


def test_a_position_that_is_no_number_is_named_once_and_the_run_goes_on(
    make_host: MakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    class Sick(Walk):
        def step(self, dt: float) -> None:
            super().step(dt)
            self.bodies.position[1, 2] = np.nan

    lab = Lab(make_host(), Sick())
    lab.run_ms(2000)
    said = capsys.readouterr().err
    assert said.count("twixt:") == 1
    assert "body 1 has the position" in said
    assert "after step 1;" in said
    assert lab.physics.publisher.meter.steps > 90


def test_bodies_that_are_far_off_but_drawn_are_not_blamed(
    make_host: MakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    class Far(Walk):
        def step(self, dt: float) -> None:
            self.bodies.position[:] = 9e29

    lab = Lab(make_host(), Far())
    lab.run_ms(1000)
    assert capsys.readouterr().err == ""


def test_viewers_are_told_what_physics_does(make_host: MakeHost) -> None:
    class Told(Walk):
        def diagnostics(self) -> dict[str, float]:
            return {"energy": np.float32(2.5)}

    lab = Lab(make_host(), Told())
    told: list[dict[str, Any]] = []
    lab.host.set_status = told.append  # type: ignore[method-assign]
    lab.run_ms(1000)
    assert 4 <= len(told) <= 6
    assert told[-1]["world"] == "Told"
    assert told[-1]["rate"] == 1.0
    assert told[-1]["diagnostics"] == {"energy": 2.5}


class Corrected(Walk):
    """World that corrects its first body once, in step 3, and has a column `heat`."""

    def __init__(self, count: int = 3, seed: int = 0) -> None:
        super().__init__(count, seed)
        self.bodies = Bodies(count, columns={"heat": Column("f4")})
        self.steps = 0

    def step(self, dt: float) -> None:
        self.spend()
        self.steps += 1
        self.bodies.columns["heat"] += 1
        self.bodies.position[0] += 0.5
        if self.steps == 3:
            self.bodies.correct(0, (1, 0, 0))


def test_columns_and_the_first_correction_go_out_with_the_snapshot_they_belong_to(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Corrected())
    link = attach("lab")
    while lab.published[-1].tick < 5:
        lab.physics.turn()
    seen = newest(link, lambda snapshot: snapshot.tick == 5)
    assert seen.columns["heat"].tolist() == [5] * 3
    kept = seen.columns["correction"]
    assert kept[0].tolist() == [0.5, 1.5, 1.5, 0, 0, 0, 1]
    assert kept[1:].tolist() == [[0, 0, 0, 0, 0, 0, 1]] * 2
    assert seen.columns["corrected_ns"].tolist() == [3 * lab.schedule.dt_ns, 0, 0]
    link.close()


def test_a_world_made_anew_after_corrections_goes_on(make_host: MakeHost) -> None:
    lab = Lab(make_host(), Corrected())
    while lab.schedule.tick < 4:
        lab.run_ms(1)
    assert set(lab.host.ring.columns) == {"heat", "correction", "corrected_ns"}
    lab.ask("reset")
    assert lab.host.ring.columns == {"heat": ("<f4", 1)}
    lab.run_ms(200)
    assert set(lab.host.ring.columns) == {"heat", "correction", "corrected_ns"}


class Tuned(Walk):
    """World with a slider and a button, which asks for a reset when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.speed, self.home = Slider("speed", 1, 0, 5), Button("home")
        self.controls = [self.speed, self.home]
        self.is_old, self.resets = False, 0

    def _is_outdated(self) -> bool:
        return self.is_old

    def reset(self, seed: int) -> None:
        self.is_old, self.resets = False, self.resets + 1


def test_a_control_takes_what_a_viewer_sends_and_its_value_goes_back_to_all(make_host: MakeHost) -> None:
    world = Tuned()
    lab = Lab(make_host(), world)
    statuses: list[dict[str, Any]] = []
    lab.host.set_status = statuses.append  # type: ignore[method-assign]
    lab.ask("control", [0, 7.5])
    lab.ask("control", [1, 1])
    lab.ask("control", [9, 1])  # of a world from before
    assert world.speed.value == 5
    assert world.home.pressed()
    lab.run_ms(500)
    assert statuses[-1]["controls"] == [
        ["slider", "speed", 5, 0, 5, "controls"],
        ["button", "home", 0, 0, 1, "controls"],
    ]


def test_a_world_that_says_it_is_outdated_is_reset_once(make_host: MakeHost) -> None:
    world = Tuned()
    lab = Lab(make_host(), world)
    lab.run_ms(500)
    assert world.resets == 0
    world.is_old = True
    lab.run_ms(500)
    assert world.resets == 1
    assert lab.schedule.plan.world_epoch == 1


def test_controls_that_are_none_are_the_worlds_crash(make_host: MakeHost) -> None:
    world = Tuned()
    lab = Lab(make_host(), world)
    world.controls = ["speed"]  # type: ignore[list-item]
    with pytest.raises(UserCodeCrashed, match="Tuned.controls must be a list of Slider, Toggle and Button"):
        lab.run_ms(500)
