"""Cores that a viewer's threads use: given samples, no machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from twixt.render.cores.load import CoreLoad, CoreSample
from twixt.render.cores.sharing import FIRST_PAUSE_NS, MOST_THREADS, CoreChoice, Cores, words_of

MS = 1_000_000
LOOK_MS = 100
TWO, FOUR = frozenset({0, 1}), frozenset({0, 1, 2, 3})


@dataclass
class Machine:
    """A viewer beside threads of physics; `look` lets a tenth of a second pass."""

    choice: CoreChoice = field(default_factory=lambda: CoreChoice(TWO))
    now_ns: int = 10**12
    frames: float = 0.0
    cpu_ns: int = 0
    waited_ns: int = 0
    ran_ns: dict[int, int] = field(default_factory=dict)
    load: CoreLoad = field(default_factory=CoreLoad)

    def look(
        self, *cores: int, runs: float = 1.0, fps: float = 60.0, share: float = 0.3, starved: float = 0.0,
        is_cheapest: bool = True, wall_ms: int = LOOK_MS,
    ) -> Cores:  # fmt: skip
        """cores: of each thread of physics, that `runs` for this share of the time."""
        wall_ns = wall_ms * MS
        self.now_ns += wall_ns
        self.frames += fps * wall_ns / 1e9
        self.cpu_ns += round(share * wall_ns)
        self.waited_ns += round(share * wall_ns * starved / (1 - starved))
        for thread in range(len(cores)):
            self.ran_ns[thread] = self.ran_ns.get(thread, 0) + round(runs * wall_ns)
        times = {thread: (self.ran_ns[thread], 0) for thread in range(len(cores))}
        use = self.load.add(
            CoreSample(self.now_ns, round(self.frames), self.cpu_ns, self.waited_ns, times, is_cheapest)
        )
        if use is None:
            return self.choice.cores
        return self.choice.observe(self.load.uses, [cores[thread] for thread in use.never_rested])

    def pass_s(self, seconds: float, *cores: int, **how: float) -> list[Cores]:
        return [self.look(*cores, **how) for _ in range(round(seconds * 1e3 / LOOK_MS))]  # type: ignore[arg-type]


def test_the_core_of_a_loop_that_never_rests_is_left_to_it() -> None:
    seen = Machine().pass_s(1.0, 1)
    assert seen[0] == TWO
    assert set(seen[4:]) == {frozenset({0})}


def test_the_cores_follow_physics_to_another_core_at_the_next_look() -> None:
    machine = Machine()
    machine.pass_s(1.0, 1)
    assert machine.look(0) == {1}
    assert machine.choice.avoided == {0}


def test_physics_that_rests_between_its_steps_leaves_the_viewer_all_cores() -> None:
    assert set(Machine().pass_s(10.0, 1, runs=0.6)) == {TWO}


def test_all_cores_are_back_soon_after_physics_rests() -> None:
    machine = Machine()
    machine.pass_s(1.0, 1)
    assert machine.look(1, runs=0.1) == {0}, "one look is not enough"
    assert machine.pass_s(0.4, 1, runs=0.1)[-1] == TWO


def test_threads_of_physics_that_leave_no_core_are_not_dodged() -> None:
    assert set(Machine().pass_s(2.0, 0, 1)) == {TWO}
    assert set(Machine().pass_s(2.0, 0, 0)) == {TWO}, "on one core for the moment: there are as many as cores"


def test_several_threads_that_never_rest_are_dodged_where_cores_remain() -> None:
    machine = Machine(CoreChoice(FOUR))
    assert machine.pass_s(1.0, 0, 2)[-1] == {1, 3}


def test_more_threads_than_are_known_for_sure_are_not_dodged() -> None:
    many = tuple(range(MOST_THREADS + 1))
    assert set(Machine(CoreChoice(frozenset(range(8)))).pass_s(1.0, *many)) == {frozenset(range(8))}


def test_a_single_core_is_never_left() -> None:
    assert set(Machine(CoreChoice(frozenset({1}))).pass_s(2.0, 1)) == {frozenset({1})}


def test_physics_on_a_core_that_is_not_the_viewers_changes_nothing() -> None:
    assert set(Machine().pass_s(2.0, 5)) == {TWO}


def test_a_stop_between_two_looks_changes_nothing() -> None:
    machine = Machine()
    machine.pass_s(1.0, 1)
    assert machine.look(1, runs=0.0, wall_ms=2000) == {0}


def test_a_new_mask_from_outside_is_taken_up() -> None:
    machine = Machine(CoreChoice(FOUR))
    machine.pass_s(1.0, 1)
    machine.choice.allow(frozenset({1, 2}))
    assert machine.look(1) == {2}


def test_frames_that_starve_get_all_cores_back_for_ever_longer_pauses() -> None:
    machine = Machine()
    pauses = []
    for _ in range(3):
        while machine.look(1, fps=8.0, starved=0.5) != {0}:
            pass
        while machine.look(1, fps=8.0, starved=0.5) == {0}:
            pass
        began_ns = machine.now_ns
        while machine.look(1, fps=8.0, starved=0.5) == TWO:
            pass
        pauses.append((machine.now_ns - began_ns) / FIRST_PAUSE_NS)
    assert [round(pause) for pause in pauses] == [1, 2, 4]


def test_rare_frames_are_no_reason_where_they_need_no_core_or_may_still_get_cheaper() -> None:
    machine = Machine()
    machine.pass_s(1.0, 1)
    assert set(machine.pass_s(20.0, 1, fps=8.0, share=0.1)) == {frozenset({0})}
    assert set(machine.pass_s(20.0, 1, fps=8.0, starved=0.5, is_cheapest=False)) == {frozenset({0})}
    machine.pass_s(1.0, 1, is_cheapest=False)
    assert set(machine.pass_s(20.0, 1, fps=16.0, starved=0.5)) == {frozenset({0})}, "held back on purpose"


@given(
    st.frozensets(st.integers(0, 7), min_size=1),
    st.lists(
        st.tuples(st.lists(st.integers(0, 9), max_size=5), st.floats(0, 1), st.floats(0, 90), st.booleans()),
        max_size=60,
    ),
)
def test_the_cores_are_always_some_of_those_allowed(
    allowed: Cores, looks: list[tuple[list[int], float, float, bool]]
) -> None:
    machine = Machine(CoreChoice(allowed))
    for cores, runs, fps, is_cheapest in looks:
        used = machine.look(*cores, runs=runs, fps=fps, starved=0.5, is_cheapest=is_cheapest)
        assert used
        assert used <= allowed


def test_the_words_name_the_cores() -> None:
    assert words_of(frozenset()) == ""
    assert words_of(frozenset({1})) == "avoiding core 1, where physics never sleeps"
    assert words_of(frozenset({2, 0})) == "avoiding cores 0, 2, where physics never sleeps"
