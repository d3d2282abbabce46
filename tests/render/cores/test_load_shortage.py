"""Shortage of cores, and the frames a second that are then drawn at most: given samples, no machine."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.render.cores.load import LEAST_FPS, CoreLoad, CoreSample, CoreShortage

MS = 1_000_000
LOOK_MS = 100


@dataclass
class Machine:
    """A viewer beside a simulation; `run` lets time pass and looks ten times a second."""

    shortage: CoreShortage = field(default_factory=CoreShortage)
    load: CoreLoad = field(default_factory=CoreLoad)
    fps: float = 60.0  # that the display shows
    frame_ms: float = 8.0  # of a core
    now_ns: int = 10**12
    frames: float = 0.0
    cpu_ns: float = 0.0
    waited_ns: float = 0.0
    is_cheapest: bool = True
    ran_ns: float = 0.0
    queued_ns: float = 0.0
    bounds: list[float | None] = field(default_factory=list)

    def run(self, seconds: float, runs: float = 1.0, waits: float = 0.0, starved: float = 0.0) -> CoreShortage:
        """runs, waits: shares of the time in which physics runs, and waits for a core. starved: of this process."""
        for _ in range(round(seconds * 1e3 / LOOK_MS)):
            self.look(runs, waits, starved)
        return self.shortage

    def look(self, runs: float, waits: float, starved: float = 0.0, wall_ms: float = LOOK_MS) -> None:
        fps = min(self.fps, self.shortage.most_fps or self.fps)
        made = fps * wall_ms / 1e3
        self.now_ns += round(wall_ms * MS)
        self.frames += made
        self.cpu_ns += made * self.frame_ms * MS
        self.waited_ns += made * self.frame_ms * MS * starved / (1 - starved)
        self.ran_ns += runs * wall_ms * MS
        self.queued_ns += waits * wall_ms * MS
        physics = {7: (round(self.ran_ns), round(self.queued_ns)), 8: (5, 5)}
        self.load.add(
            CoreSample(
                self.now_ns, int(self.frames), round(self.cpu_ns), round(self.waited_ns), physics, self.is_cheapest
            )
        )
        self.shortage.observe(self.load.uses)
        self.bounds.append(self.shortage.most_fps)


def test_on_free_cores_nothing_is_given_up() -> None:
    shortage = Machine().run(60, runs=0.99, waits=0.005)
    assert (shortage.is_short, shortage.most_fps) == (False, None)


def test_physics_that_never_rests_and_waits_gets_its_core_back_within_two_seconds() -> None:
    machine = Machine()
    machine.run(5, runs=0.99)
    shortage = machine.run(2.5, runs=0.75, waits=0.25)
    assert shortage.is_short
    assert shortage.most_fps is not None
    assert LEAST_FPS <= shortage.most_fps < LEAST_FPS + 1


def test_physics_that_rests_between_its_steps_is_no_reason_to_give_up_a_frame_however_busy_the_machine() -> None:
    machine = Machine()
    shortage = machine.run(30, runs=0.2, waits=0.4, starved=0.6)
    assert shortage.is_short, "drawing may get cheaper: that helps the picture, too"
    assert machine.bounds == [None] * 300


def test_drawing_gets_cheaper_before_frames_get_fewer() -> None:
    machine = Machine(is_cheapest=False)
    shortage = machine.run(10, runs=0.75, waits=0.25)
    assert (shortage.is_short, shortage.most_fps) == (True, None)
    machine.is_cheapest = True
    shortage = machine.run(0.4, runs=0.75, waits=0.25)
    assert shortage.most_fps is not None


def test_a_simulation_that_is_not_known_is_taken_for_one_that_rests() -> None:
    shortage, load = CoreShortage(), CoreLoad()
    for i in range(100):
        load.add(CoreSample(i * LOOK_MS * MS, 6 * i, 50 * i * MS, 0, {}))
        shortage.observe(load.uses)
    assert (shortage.is_short, shortage.most_fps) == (False, None)


@pytest.mark.parametrize("bad_looks", [1, 2])
def test_a_spike_changes_nothing(bad_looks: int) -> None:
    machine = Machine()
    for _ in range(20):
        machine.run(0.1 * bad_looks, runs=0.3, waits=0.7, starved=0.9)
        machine.run(0.5, runs=0.99)
    assert not machine.shortage.is_short
    assert set(machine.bounds) == {None}


def test_frames_come_back_slowly_and_stay() -> None:
    machine = Machine()
    machine.run(5, runs=0.7, waits=0.3)
    machine.run(2.0, runs=1.0, waits=0.0)
    assert machine.shortage.most_fps is not None
    assert machine.shortage.most_fps < 30
    assert machine.shortage.is_short
    machine.run(2.0, runs=1.0, waits=0.0)
    assert not machine.shortage.is_short
    machine.run(20.0, runs=1.0, waits=0.0)
    assert machine.shortage.most_fps is None


def test_between_too_much_and_little_enough_the_bound_stays() -> None:
    machine = Machine()
    machine.run(1.4, runs=0.9, waits=0.1)
    bound = machine.shortage.most_fps
    machine.run(0.6, runs=0.97, waits=0.03)
    machine.bounds.clear()
    machine.run(30, runs=0.97, waits=0.03)
    assert bound is not None
    assert len(set(machine.bounds)) == 1


def test_the_bound_settles_where_physics_waits_little_instead_of_swinging() -> None:
    machine = Machine(frame_ms=4.0)
    noise = random.Random(1)
    for _ in range(600):  # it waits for half of what the viewer takes above a tenth of a core
        fps = min(60.0, machine.shortage.most_fps or 60.0)
        waits = max(0.0, (fps * 4e-3 - 0.1) / 2 + noise.gauss(0, 0.003))
        machine.look(1 - waits, waits)
    settled = [bound or 60.0 for bound in machine.bounds[200:]]
    assert min(settled) > 25
    assert max(settled) < 55


def test_on_a_display_of_whole_refreshes_the_rate_does_not_swing() -> None:
    machine = Machine()
    shown = []
    for _ in range(400):  # physics waits where more than 35 frames a second are drawn
        refreshes = math.ceil(60 / min(60.0, machine.shortage.most_fps or 60.0) - 0.03)
        machine.fps = 60 / refreshes
        shown.append(refreshes)
        machine.look(0.9, 0.1 if machine.fps > 35 else 0.0)
    changes = sum(a != b for a, b in pairwise(shown[100:]))
    assert changes <= 2 * 30 / 5, "from 60 to 30 and back, every 5 s at most"
    assert shown[100:].count(2) >= 0.85 * 300


def test_frames_that_were_too_many_are_drawn_again_soon_after_the_other_program_has_gone() -> None:
    machine = Machine()
    for _ in range(400):
        machine.look(0.9, 0.1 if (machine.shortage.most_fps or 60.0) > 35 else 0.0)
    machine.run(15, runs=1.0, waits=0.0)
    assert (machine.shortage.most_fps or 60.0) >= 60.0


def test_a_viewer_that_takes_hardly_anything_keeps_its_frames() -> None:
    machine = Machine(frame_ms=1.2)
    shortage = machine.run(20, runs=0.6, waits=0.4)
    assert shortage.is_short
    assert shortage.most_fps is None


def test_expensive_frames_are_never_fewer_than_the_least() -> None:
    machine = Machine(frame_ms=60.0, fps=16.0)
    machine.run(30, runs=0.5, waits=0.5)
    assert min(bound for bound in machine.bounds if bound) == LEAST_FPS


def test_a_slower_display_than_the_least_is_not_bound_at_all() -> None:
    machine = Machine(fps=12.0, frame_ms=60.0)
    machine.run(30, runs=0.5, waits=0.5)
    assert set(machine.bounds) == {None}


def test_a_stop_says_nothing_and_what_was_decided_stays() -> None:
    machine = Machine()
    machine.run(5, runs=0.7, waits=0.3)
    before = (machine.shortage.is_short, machine.shortage.most_fps)
    machine.look(runs=1.0, waits=0.0, wall_ms=30_000)
    assert (machine.shortage.is_short, machine.shortage.most_fps) == before


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            CoreSample, st.integers(-(10**12), 10**12), st.integers(-(10**6), 10**6), st.integers(-(10**12), 10**12),
            st.integers(-(10**12), 10**12),
            st.dictionaries(st.integers(1, 3), st.tuples(st.integers(-(10**12), 10**12), st.integers(0, 10**12))),
        ),
        max_size=60,
    )
)  # fmt: skip
def test_whatever_is_seen_the_bound_is_none_or_at_least_the_least(samples: list[CoreSample]) -> None:
    shortage, load = CoreShortage(), CoreLoad()
    for sample in samples:
        load.add(sample)
        shortage.observe(load.uses)
        assert shortage.most_fps is None or shortage.most_fps >= LEAST_FPS
