"""MotionFigures of drawn motion, on recordings whose figures are known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.clock.traces import SECOND, Arrival, steady
from bench.motion.drawn_motion import TROUBLES, MotionFigures, MotionReplay, TroubleTrace, motion_figures
from bench.motion.motion_bench import Result, as_text, document, measured, page, size
from bench.motion.recordings import PICTURED, SUBJECTS, Recording
from bench.pages import BEGIN, markdown
from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import HAS_ANGULAR_VELOCITY, HAS_VELOCITY, Snapshot, new_bodies
from twixt.render.interpolation import METHODS
from twixt.render.interpolation.method import PREDICTED_NS, Linear
from twixt.render.interpolation.poses import ACCELERATION_CHANGE, Poses

HZ = 960
SECONDS = 4.5
AHEAD_10 = steady(10, early_ns=SECOND // 10, jitter_ns=0)
Place = Callable[[float], Sequence[float]]


def recording(
    place: Place, velocity: Place | None = None, life: Callable[[float], int] = lambda t: 0, seconds: float = SECONDS
) -> Recording:
    """One body whose place, velocity and epoch are functions of simulated seconds."""
    states = []
    for tick in range(round(seconds * HZ) + 1):
        t, bodies = tick / HZ, new_bodies(1)
        bodies["position"], bodies["epoch"] = place(t), life(t)
        if velocity is not None:
            bodies["velocity"] = velocity(t)
            bodies["flags"] |= HAS_VELOCITY
        states.append(Snapshot(round(t * 1e9), bodies))
    return Recording(Scene([Sphere()]), states)


def seen(recorded: Recording, method: str, trace=AHEAD_10, seconds: float = SECONDS) -> MotionFigures:
    stage = MotionReplay(recorded)
    rows = stage.rows(trace(0, seconds))
    return motion_figures(stage.truth, stage.show(rows, method, 0), rows)


def test_a_body_at_constant_speed_is_drawn_where_it_is() -> None:
    figure = seen(recording(lambda t: (2.0 * t, 0.0, 0.0)), "linear")
    assert figure.position_max_mm < 0.01
    assert figure.jump_max_mm < 0.01
    assert figure.overshoot_max_mm == 0.0
    assert math.isnan(figure.off_path_max_mm)
    assert figure.compared > 70


def test_the_newest_snapshot_alone_is_off_by_what_the_body_moved_since() -> None:
    """2 m/s, ten snapshots a second: up to 200 mm behind, and the same in one jump; on average half an interval old."""
    figure = seen(recording(lambda t: (2.0 * t, 0.0, 0.0)), "none")
    assert 160 < figure.position_max_mm <= 200.01
    assert 80 < figure.position_p50_mm < 120
    assert 160 < figure.jump_max_mm <= 200.01
    assert 40 < figure.age_mean_ms < 60


def test_latest_is_held_against_the_present_and_its_age_is_the_snapshots() -> None:
    late = steady(10, early_ns=-50_000_000, jitter_ns=0)  # each comes 50 ms after it is due
    figure = seen(recording(lambda t: (2.0 * t, 0.0, 0.0)), "latest", late)
    assert 160 < figure.position_p50_mm < 240, "50 to 150 ms at 2 m/s"
    assert 90 < figure.age_mean_ms < 110
    assert figure.now_p50_mm == pytest.approx(figure.position_p50_mm)


def test_what_error_and_age_cost_together_is_the_distance_from_now() -> None:
    figure = seen(recording(lambda t: (2.0 * t, 0.0, 0.0)), "linear", steady(10, jitter_ns=0))
    assert figure.position_max_mm < 0.01
    assert figure.now_p50_mm == pytest.approx(2.0 * figure.age_mean_ms, rel=0.05)
    assert figure.age_mean_ms > 100


def test_a_straight_line_errs_by_the_sagitta_of_free_fall_and_hermite_by_nothing() -> None:
    fall = recording(lambda t: (0.0, 0.0, -4.9 * t * t), lambda t: (0.0, 0.0, -9.8 * t))
    assert seen(fall, "linear").position_max_mm == pytest.approx(12.25, abs=0.4)
    assert seen(fall, "hermite").position_max_mm < 0.1


def bounce(t: float) -> tuple[float, float, float]:
    since = (t + 0.004) % 1.0  # each impact lies 4 ms before a snapshot
    return (0.0, 0.0, 5.0 * since * (1.0 - since))


def bounce_velocity(t: float) -> tuple[float, float, float]:
    return (0.0, 0.0, 5.0 * (1.0 - 2.0 * ((t + 0.004) % 1.0)))


def test_a_curve_through_the_floor_is_an_overshoot_and_a_straight_line_is_none() -> None:
    world = recording(bounce, bounce_velocity)
    # The cubic's deepest place is 16.5 mm below the floor.
    assert 10 < seen(world, "hermite").overshoot_max_mm < 16.6
    assert seen(world, "linear").overshoot_max_mm < 0.01
    assert seen(world, "auto").overshoot_max_mm < 0.01


@pytest.mark.slow
def test_a_teleport_is_no_error_and_no_method_of_ours_leaves_a_streak() -> None:
    world = recording(lambda t: (0.1 * t, 0.0, 3.0 * (round(t / 0.37) % 2)), life=lambda t: round(t / 0.37))
    for method in METHODS:
        figure = seen(world, method)
        assert figure.off_path_max_mm < 30, method  # along the path: what chase lags at 0.1 m/s
        if method not in ("latest", "none", "chase"):
            assert figure.position_max_mm < 1, method


class Streaking(Linear):
    """Knows nothing of epochs."""

    def blend(self, previous: Snapshot, following: Snapshot, alpha: float, draw_time_ns: int) -> Poses:
        poses = super().blend(previous, following, alpha, draw_time_ns)
        old, new = previous.bodies["position"], following.bodies["position"]
        poses.position[:] = old + alpha * (new - old)
        return poses


def test_a_streak_would_be_seen() -> None:
    world = recording(lambda t: (0.0, 0.0, 3.0 * (round(t / 0.37) % 2)), life=lambda t: round(t / 0.37))
    replay = MotionReplay(world)
    rows = replay.rows(AHEAD_10(0, SECONDS))
    figure = motion_figures(replay.truth, replay.play(rows, Streaking()), rows)
    assert figure.off_path_max_mm > 1000


def test_bodies_that_come_later_and_stand_still_count_nowhere() -> None:
    plain = recording(lambda t: (2.0 * t, 0.0, 0.0))
    states = []
    for state in plain.states:
        more = new_bodies(1 if state.sim_time_ns < 4 * SECOND else 3)
        more[:1] = state.bodies
        states.append(Snapshot(state.sim_time_ns, more))
    figure = seen(Recording(Scene([Sphere()] * 3), states), "linear")
    alone = seen(plain, "linear")
    assert figure.position_max_mm == alone.position_max_mm
    # The two come into being during one interval: there they are cut, and from then on they count.
    assert figure.compared > alone.compared


def test_children_of_a_turning_body_are_true_to_their_parent_between_recorded_states() -> None:
    """60 turns a second: between two states the child moves on an arc of 22 degrees, not along its chord."""
    rate = 2 * math.pi * 60
    states = []
    for tick in range(round(SECONDS * HZ) + 1):
        angle, bodies = rate * tick / HZ, new_bodies(2)
        bodies["orientation"][0] = (0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))
        bodies["angular_velocity"][0] = (0.0, 0.0, rate)
        bodies["flags"] |= HAS_ANGULAR_VELOCITY
        bodies["position"][1] = (1.0, 0.0, 0.0)
        states.append(Snapshot(round(tick * 1e9 / HZ), bodies))
    world = Recording(Scene([Sphere()] * 2, parents={1: 0}), states)
    twenty = steady(20, early_ns=SECOND // 20, jitter_ns=0)
    figure = seen(world, "hermite", twenty)
    assert figure.position_max_mm < 1
    assert figure.rotation_max_deg < 0.1
    assert seen(world, "linear", twenty).position_max_mm > 1000


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.floats(-5, 5), min_size=8, max_size=8), st.integers(0, 5))
def test_a_straight_line_never_leaves_the_box_of_the_truth(knots: list[float], seed: int) -> None:
    world = recording(lambda t: (float(np.interp(t, np.linspace(0, 3.5, 8), knots)), 0.0, 0.0), seconds=3.5)
    stage = MotionReplay(world)
    rows = stage.rows(TROUBLES["net 30 Hz"].trace(seed, 3.5))
    figure = motion_figures(stage.truth, stage.show(rows, "linear", seed), rows)
    assert math.isnan(figure.overshoot_max_mm) or figure.overshoot_max_mm < 0.001


def test_a_frame_is_shown_only_what_has_come_before_it() -> None:
    stage = MotionReplay(recording(lambda t: (t, 0.0, 0.0)))
    rows = stage.rows(TROUBLES["net 30 Hz"].trace(0, SECONDS))
    arrival = {row.sim_ns: row.arrival_ns for row in rows}
    shown = stage.show(rows, "linear", 0)
    for present_ns, previous_ns, next_ns, asked_ns in zip(
        shown.present_ns.tolist(),
        shown.previous_ns.tolist(),
        shown.next_ns.tolist(),
        shown.asked_ns.tolist(),
        strict=True,
    ):
        assert arrival[previous_ns] <= present_ns
        assert previous_ns <= asked_ns
        assert next_ns == asked_ns or (arrival[next_ns] <= present_ns and asked_ns < next_ns)
    assert all(later > sooner for sooner, later in pairwise(shown.present_ns.tolist()))


def test_simulated_times_of_a_trace_become_those_of_states() -> None:
    stage = MotionReplay(recording(lambda t: (t, 0.0, 0.0), seconds=1.0))
    rows = stage.rows([Arrival(333_333_334, 1, 2), Arrival(16_666_666, 3, 4)])
    assert rows == [Arrival(round(320 * 1e9 / HZ), 1, 2), Arrival(round(16 * 1e9 / HZ), 3, 4)]


def test_an_unknown_trouble_or_method_is_refused_before_anything_is_recorded() -> None:
    with pytest.raises(TwixtError, match="--trouble must be one of: ahead 60 Hz; .*; got 'fog'"):
        size(SUBJECTS, ["fog"], [], 0, quick=True)
    with pytest.raises(TwixtError, match="interpolation must be one of"):
        size(SUBJECTS, [], ["cubist"], 0, quick=True)


def some_results() -> list[Result]:
    what = size({"circles": SUBJECTS["circles"]}, ["ahead 10 Hz"], ["linear", "hermite"], 0, quick=True)
    return list(measured(what))


def test_the_same_run_gives_the_same_figures() -> None:
    first, second = some_results(), some_results()
    assert [repr(result) for result in first] == [repr(result) for result in second]
    assert [result.method for result in first] == ["linear", "hermite"]


def test_the_page_has_a_summary_and_a_line_for_each_case_with_an_error() -> None:
    results = some_results()
    what = size({"circles": SUBJECTS["circles"]}, ["ahead 10 Hz"], ["linear", "hermite"], 0, quick=True)
    text = markdown(page(what, results))
    linear, hermite = (result.figures for result in results)
    summary = text.partition("## All cases")[0]
    assert "| method | smooth curve: position p50, mm | jerk: jump p99, mm | impact: position max, mm |" in summary
    assert f"| linear | {as_text(linear.position_p50_mm)} |" in summary
    both = [f"{as_text(each.position_p50_mm)} / {as_text(each.position_p99_mm)}" for each in (linear, hermite)]
    assert f"| circles | ahead 10 Hz | {both[0]} | {both[1]} |" in text
    assert f"| ahead 10 Hz | {as_text(linear.age_mean_ms)} | {as_text(hermite.age_mean_ms)} |" in text
    assert "### Rotation error" not in text
    assert document(what, results)["rows"][0]["figures"]["position_p50_mm"] == linear.position_p50_mm


def test_the_page_in_docs_has_every_world_and_trouble_and_its_sentences_have_the_figures_of_its_tables() -> None:
    prose, _, figures = (Path(__file__).parents[3] / "docs" / "motion.md").read_text().partition(BEGIN)
    for name in (*SUBJECTS, *TROUBLES):
        assert f"| {name} |" in prose
    found = prose.partition("## What the figures show")[2].partition("\n## ")[0]
    named = re.findall(r"(\d+(?:\.\d+)?)\s+(?:mm|ms|degrees)\b", found)
    cells = set(re.split(r" \| | / |\n", figures))
    assert len(named) > 30
    assert [name for name in named if name not in cells] == []


def test_the_page_in_docs_states_the_limits_of_the_methods() -> None:
    prose = re.sub(r"\s+", " ", (Path(__file__).parents[3] / "docs" / "motion.md").read_text())
    sharp_deg = math.degrees(2 * math.asin(ACCELERATION_CHANGE / 2))
    assert f"path turns by more than {sharp_deg:.0f} degrees" in prose
    assert prose.count(f"at most {PREDICTED_NS / 1e6:.0f} ms") == 2
    assert [name for name in METHODS if f"| `{name}`" not in prose] == []


def test_progress_is_said_and_the_trouble_is_any_trace() -> None:
    said: list[str] = []
    what = size({"circles": SUBJECTS["circles"]}, [], ["none"], 0, quick=True)
    what = what._replace(troubles={"mine": TroubleTrace("", steady(30))})
    assert len(list(measured(what, said.append))) == 1
    assert said == ["recording circles", "circles, mine, none"]


@pytest.mark.slow
def test_the_picture_shows_truth_and_drawn_dots_at_800_px(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from PIL import Image

    from bench.motion.motion_bench import DRAWN, TRUE, picture

    file = tmp_path / "motion.png"
    picture(PICTURED.record(5.6), str(file))
    with Image.open(file) as image:
        assert image.width == 800
        pixels = np.asarray(image.convert("RGB")).astype(int)
    for colour in (TRUE, DRAWN):
        wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        columns = (np.abs(pixels - wanted).max(axis=2) < 40).any(axis=0)
        for part in np.array_split(columns, 5):
            assert part.sum() > 20, f"{colour} in each method's column"
    with pytest.raises(TwixtError, match="cannot write the plot"):
        picture(PICTURED.record(5.6), str(tmp_path / "no" / "motion.png"))
