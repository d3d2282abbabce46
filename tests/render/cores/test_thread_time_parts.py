"""The parts of a frame, from made-up readings."""

from __future__ import annotations

from dataclasses import dataclass

from twixt.render.cores.thread_time import DRAW, NO_COSTS, OTHER, UPLOAD, USER, FrameCosts, LapRecorder, Reading

MS = 1_000_000


@dataclass
class Machine:
    """What a thread and its process went through."""

    wall_ns: int = 10**12
    cpu_ns: int = 0
    queued_ns: int = 0
    gc_ns: int = 0
    stops: int = 0
    drawers_ns: tuple[int, ...] = (0, 0)

    def read(self) -> Reading:
        return Reading(self.wall_ns, self.cpu_ns, self.queued_ns, self.gc_ns, self.stops)

    def drawers(self) -> tuple[int, ...]:
        return self.drawers_ns

    def work(self, ms: float) -> None:
        self.wall_ns += round(ms * MS)
        self.cpu_ns += round(ms * MS)

    def collect(self, ms: float) -> None:
        self.work(ms)
        self.gc_ns += round(ms * MS)

    def sleep(self, ms: float) -> None:
        self.wall_ns += round(ms * MS)

    def queue(self, ms: float) -> None:
        self.sleep(ms)
        self.queued_ns += round(ms * MS)

    def stop(self, ms: float) -> None:
        self.sleep(ms)
        self.stops += 1


def made() -> tuple[Machine, LapRecorder]:
    machine = Machine()
    return machine, LapRecorder(machine.read, machine.drawers)


def test_each_lap_belongs_to_its_part() -> None:
    machine, meter = made()
    for part, ms in ((OTHER, 1), (UPLOAD, 2), (DRAW, 3), (USER, 4), (DRAW, 5)):
        machine.work(ms)
        meter.lap(part)
    assert meter.swapped(blocks=False) == FrameCosts(draw_ns=8 * MS, upload_ns=2 * MS, user_ns=4 * MS, other_ns=MS)
    assert meter.swapped(blocks=False) == NO_COSTS, "each frame begins anew"


def test_garbage_and_a_core_given_to_others_are_set_apart_wherever_they_fall() -> None:
    machine, meter = made()
    machine.work(2)
    machine.collect(30)
    machine.queue(7)
    meter.lap(USER)
    assert meter.swapped(blocks=False) == FrameCosts(user_ns=2 * MS, gc_ns=30 * MS, stolen_ns=7 * MS)


def test_a_sleep_of_its_own_stays_in_the_part_that_slept() -> None:
    machine, meter = made()
    machine.work(1)
    machine.sleep(30)
    meter.lap(USER)
    assert meter.swapped(blocks=False) == FrameCosts(user_ns=31 * MS)


def test_a_process_that_was_stopped_lost_what_its_lap_does_not_usually_wait() -> None:
    machine, meter = made()
    for _ in range(5):
        machine.sleep(6)
        meter.finished()
        assert meter.swapped(blocks=False) == FrameCosts(draw_ns=6 * MS)
    machine.sleep(6)
    machine.stop(20)
    meter.finished()
    assert meter.swapped(blocks=False) == FrameCosts(draw_ns=6 * MS, stolen_ns=20 * MS)


def test_drawing_that_waits_for_a_drawing_thread_without_a_core_was_stolen_from() -> None:
    machine, meter = made()
    machine.sleep(6 + 9)
    machine.drawers_ns = (4 * MS, 9 * MS)
    meter.finished()
    assert meter.swapped(blocks=False) == FrameCosts(draw_ns=6 * MS, stolen_ns=9 * MS)
    machine.work(6)
    machine.drawers_ns = (40 * MS, 9 * MS)
    meter.finished()
    assert meter.swapped(blocks=False) == FrameCosts(draw_ns=6 * MS), "nobody waited for it"


def test_a_wait_costs_nothing_but_what_it_came_back_late() -> None:
    machine, meter = made()
    machine.work(3)
    meter.lap(OTHER)
    until_ns = machine.wall_ns + 5 * MS
    machine.sleep(5)
    machine.queue(8)
    meter.waited(until_ns, begins=True)
    machine.work(2)
    meter.lap(DRAW)
    until_ns = machine.wall_ns + MS
    machine.sleep(2)
    meter.waited(until_ns)
    assert meter.swapped(blocks=False) == FrameCosts(draw_ns=2 * MS, stolen_ns=9 * MS), "nor what was done before it"


def test_what_was_done_before_a_frame_that_had_nothing_to_wait_for_is_the_frames() -> None:
    machine, meter = made()
    machine.collect(40)
    meter.lap(OTHER)
    meter.waited(machine.wall_ns - 10 * MS, begins=True)
    machine.work(2)
    meter.lap(DRAW)
    assert meter.swapped(blocks=False) == FrameCosts(draw_ns=2 * MS, gc_ns=40 * MS)


def test_what_was_stolen_in_the_swap_delays_this_frame_or_where_the_display_waits_the_next() -> None:
    machine, meter = made()
    machine.queue(5)
    assert meter.swapped(blocks=False) == FrameCosts(stolen_ns=5 * MS)
    machine.sleep(30)
    assert meter.swapped(blocks=False) == NO_COSTS, "a swap that waits is the display's doing"
    machine.queue(5)
    assert meter.swapped(blocks=True) == NO_COSTS
    assert meter.swapped(blocks=True) == FrameCosts(stolen_ns=5 * MS)
    assert meter.swapped(blocks=True) == NO_COSTS


def test_work_in_the_wait_of_a_swap_costs_nothing_or_where_it_ends_late_the_next_frame() -> None:
    machine, meter = made()
    machine.work(3)
    meter.lap(DRAW)
    machine.work(4)
    meter.lap_in_wait(UPLOAD, machine.wall_ns + 1, in_swap=True)
    machine.sleep(5)
    assert meter.swapped(blocks=True) == FrameCosts(draw_ns=3 * MS)
    machine.work(3)
    meter.lap(DRAW)
    until_ns = machine.wall_ns + MS
    machine.work(2)
    machine.queue(5)
    meter.lap_in_wait(UPLOAD, until_ns, in_swap=True)
    assert meter.swapped(blocks=True) == FrameCosts(draw_ns=3 * MS)
    assert meter.swapped(blocks=True) == FrameCosts(upload_ns=2 * MS, stolen_ns=5 * MS)
    assert meter.swapped(blocks=True) == NO_COSTS


def test_a_frame_that_waits_for_its_start_lost_nothing_to_late_work_before_it() -> None:
    machine, meter = made()
    machine.work(2)
    meter.lap_in_wait(UPLOAD, machine.wall_ns - MS, in_swap=True)
    assert meter.swapped(blocks=True) == NO_COSTS
    until_ns = machine.wall_ns + 4 * MS
    machine.sleep(4)
    meter.waited(until_ns, begins=True)
    assert meter.swapped(blocks=True) == NO_COSTS


def test_work_between_frames_counts_where_it_postponed_the_start_of_the_next_frame() -> None:
    for late_ms, cost in ((-1, NO_COSTS), (1, FrameCosts(user_ns=50 * MS))):
        machine, meter = made()
        assert meter.swapped(blocks=True) == NO_COSTS
        start_ns = machine.wall_ns + (50 - late_ms) * MS
        machine.work(50)
        meter.lap_between_frames(USER, start_ns)
        until_ns = machine.wall_ns + 4 * MS
        machine.sleep(4)
        meter.waited(until_ns, begins=True)
        assert meter.user_before_ns == cost.user_ns, "it is no part of the frame's own work"
        assert meter.swapped(blocks=True) == cost
        machine.sleep(4)
        meter.waited(machine.wall_ns, begins=True)
        assert meter.swapped(blocks=True) == NO_COSTS, "once"


def test_a_rest_is_no_frames_doing() -> None:
    machine, meter = made()
    machine.work(500)
    meter.restart()
    assert meter.swapped(blocks=False) == NO_COSTS


def test_threads_that_have_ended_take_nothing_back() -> None:
    machine, meter = made()
    machine.drawers_ns = (4 * MS, 9 * MS)
    machine.sleep(10)
    meter.finished()
    meter.swapped(blocks=False)
    machine.drawers_ns = (0, 0)
    machine.sleep(10)
    meter.finished()
    assert meter.swapped(blocks=False) == FrameCosts(draw_ns=10 * MS)


def test_what_is_done_for_the_next_frame_is_no_part_of_this_one_while_it_waits() -> None:
    machine, meter = made()
    machine.work(3)
    meter.lap(DRAW)
    machine.work(2)
    machine.queue(4)
    meter.lap_in_wait(UPLOAD, machine.wall_ns + 1)
    machine.work(1)
    meter.lap(OTHER)
    assert meter.swapped(blocks=False) == FrameCosts(draw_ns=3 * MS, other_ns=MS)


def test_what_is_done_for_the_next_frame_and_makes_this_one_late_is_a_part_of_it() -> None:
    machine, meter = made()
    until_ns = machine.wall_ns + 5 * MS
    machine.work(30)
    meter.lap_in_wait(UPLOAD, until_ns)
    assert meter.swapped(blocks=False) == FrameCosts(upload_ns=30 * MS)
