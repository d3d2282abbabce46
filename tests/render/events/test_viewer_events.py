"""Delivery in whole runs of the frame loop, in virtual time: each event once, in order, in the first frame whose draw
time has reached its instant, and its lateness."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from tests.render.events.emitting_physics import PARTS, EmittingPhysics
from tests.render.viewer.virtual_viewer import MS, STEP_NS, VirtualViewer
from twixt.ipc.ring.events import LATEST, SLOTS, Event
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import open_listener
from twixt.ipc.session.host import Host
from twixt.ipc.session.link import Link, attach
from twixt.render.events import event_queue
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.viewer.idle import HIDDEN_INTAKE_NS

ON_EVENT = "events_of_this_run:on_event"


class Received(NamedTuple):
    """An event that the user's function received: its number, and the number of the frame after which it came."""

    number: int
    frame: int
    event: Event


class Run:
    """A viewer in virtual time with physics that emits, and what its function receives. act: what the function does
    besides."""

    def __init__(self, name: str, module: ModuleType, every: int = 1, **settings: Any) -> None:
        self.received: list[Received] = []
        self.act: Callable[[Event], object] = lambda _event: None
        self.drawn: list[tuple[int, int]] = []  # world epoch and draw time of the left picture, by frame
        module.on_event = self._on_event  # type: ignore[attr-defined]
        self.made = VirtualViewer(name, on_event=ON_EVENT, **settings)
        self.physics = EmittingPhysics(self.made, every=every)

    def frames(self, count: int) -> list[FrameRow]:
        rows = []
        for _ in range(count):
            events = self.made.loop.events
            before, take = events, events.draw

            def draw(draw_time_ns: int, world_epoch: int, rate: float, take: Any = take) -> None:
                self.drawn.append((world_epoch, draw_time_ns))
                take(draw_time_ns, world_epoch, rate)

            events.draw = draw  # type: ignore[method-assign]
            rows += self.made.frames(1)
            del before.draw
        return rows

    def choose(self, **settings: Any) -> None:
        """As keys do."""
        self.made.loop.input.settings = replace(self.made.loop.input.settings, **settings)

    @property
    def numbers(self) -> list[int]:
        return [one.number for one in self.received]

    def check(self, worlds: range = range(1)) -> None:
        """Each event of the drawn worlds once, in order, in the first frame that reached it."""
        assert self.numbers == sorted(set(self.numbers)), "each once, in order"
        assert len(self.received) > 50
        for number, frame, _ in self.received:
            one = self.physics.emitted[number]
            instant = one.world_epoch, one.instant_ns
            assert self.drawn[frame] >= instant, "none before its instant"
            assert not frame or self.drawn[frame - 1] < instant, "in the first frame that reached it"
        last = {world_epoch: draw_time_ns for world_epoch, draw_time_ns in self.drawn}
        due = [
            one.number
            for one in self.physics.emitted
            if one.world_epoch in worlds and one.instant_ns <= last.get(one.world_epoch, -1)
        ]
        assert self.numbers == due, "none is missing"

    def _on_event(self, event: Event) -> None:
        self.received.append(Received(int(event.values[0]), self.made.loop.record.log.count, event))
        self.act(event)


Runs = Callable[..., Run]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    folder = tmp_path / "run"
    folder.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setattr(Link, "physics_pid", None)  # nobody's real threads are judged by virtual time
    module = ModuleType(ON_EVENT.partition(":")[0])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    runs: list[Run] = []

    def make(**settings: Any) -> Run:
        runs.append(Run(f"events-{os.getpid()}-{len(runs)}", module, **settings))
        return runs[-1]

    yield make
    for each in runs:
        each.made.close()


def intervals(rows: list[FrameRow]) -> list[int]:
    return [later.present_ns - earlier.present_ns for earlier, later in pairwise(rows)]


@pytest.mark.parametrize("clock", ["ahead", "auto", "newest-two", "buffered"])
def test_each_event_comes_once_within_one_frame_of_its_instant(run: Runs, clock: str) -> None:
    made = run(clock=clock)
    rows = made.frames(200)
    made.check()
    assert [row.events for row in rows] == [sum(one.frame == i for one in made.received) for i in range(len(rows))]
    for one in made.received:
        instant_ns = made.physics.emitted[one.number].instant_ns
        assert one.event.late_ms == pytest.approx((made.drawn[one.frame][1] - instant_ns) / MS)
    late_ns = [
        max([round(one.event.late_ms * MS) for one in made.received if one.frame == i] or [0]) for i in range(200)
    ]
    assert [row.event_late_ns for row in rows] == late_ns
    steps_ns = [later.draw_time_ns - earlier.draw_time_ns for earlier, later in pairwise(rows[99:])]
    assert 0 < max(row.event_late_ns for row in rows[100:]) < max(steps_ns)
    if clock != "newest-two":  # this clock moves in uneven steps
        assert max(steps_ns) < made.made.refresh_ns + MS
    pending = len(made.physics.emitted) - len(made.received)
    made.made.loop.events.close()  # reads the last events
    counts = {"delivered": len(made.received), "lost": 0, "reset": 0, "pending": pending}
    assert made.made.loop.events.counts == counts


@pytest.mark.parametrize("every", [2, 7])
def test_skipped_snapshots_take_no_event_with_them(run: Runs, every: int) -> None:
    made = run(every=every, clock="auto")
    made.frames(200)
    made.check()


@pytest.mark.parametrize("method", ["none", "latest", "linear", "extrapolate", "chase", "hermite"])
def test_events_follow_what_the_method_draws(run: Runs, method: str) -> None:
    made = run(interpolation=method, clock="auto", every=4)
    rows = made.frames(200)
    made.check()
    if method in ("none", "latest"):
        assert {draw_time_ns % (4 * STEP_NS) for _, draw_time_ns in made.drawn[50:]} == {0}, "states as published"
    assert [row.draw_time_ns for row in rows] == [draw_time_ns for _, draw_time_ns in made.drawn]


def test_changes_of_method_clock_and_split_repeat_and_lose_nothing(run: Runs) -> None:
    made = run(clock="buffered", every=3)
    for settings in (
        {"interpolation": "latest"}, {"split": True}, {"interpolation": "linear"}, {"clock": "ahead"},
        {"split": False}, {"interpolation": "none"}, {"clock": "newest-two", "interpolation": "extrapolate"},
        {"split": True}, {"clock": "auto"}, {"split": False}, {"interpolation": "chase"},
    ):  # fmt: skip
        made.frames(25)
        made.choose(**settings)
    made.frames(50)
    assert len(made.numbers) > 50
    assert made.numbers == list(range(len(made.numbers)))
    for number, frame, _ in made.received:
        assert made.drawn[frame][1] >= made.physics.emitted[number].instant_ns


def test_in_a_split_view_the_left_picture_decides(run: Runs) -> None:
    made = run(interpolation="linear", split=(("none", ""), ("linear", "")), every=5)
    rows = made.frames(150)
    made.check()
    behind = [row.draw_time_ns - draw_time_ns for row, (_, draw_time_ns) in zip(rows, made.drawn, strict=True)]
    assert max(behind) > 3 * STEP_NS


def test_none_comes_in_a_pause_and_none_is_missing_after_it(run: Runs) -> None:
    made = run()
    made.frames(60)
    made.physics.set_rate(0.0)
    made.frames(3)
    before = len(made.received)
    made.frames(30)
    assert len(made.received) == before
    made.physics.set_rate(1.0)
    made.frames(60)
    made.check()


def test_in_slow_motion_lateness_is_in_display_time(run: Runs) -> None:
    made = run()
    made.frames(60)
    made.physics.set_rate(0.1)
    rows = made.frames(240)[20:]
    made.check()
    frame_sim_ns = round(made.made.refresh_ns * 0.1)
    late_ns = [row.event_late_ns for row in rows if row.events]
    assert 0.5 * made.made.refresh_ns < max(late_ns) <= made.made.refresh_ns + 10
    late_sim_ns = [
        made.drawn[one.frame][1] - made.physics.emitted[one.number].instant_ns
        for one in made.received
        if one.frame > 80
    ]
    assert max(late_sim_ns) <= frame_sim_ns + 1, "simulated time goes ten times slower"


def test_single_steps_bring_their_events_as_they_are_drawn(run: Runs) -> None:
    made = run()
    made.frames(60)
    made.physics.set_rate(0.0)
    made.frames(10)
    made.physics.single_step()  # to the end of what physics had published before the pause
    made.frames(20)
    for _ in range(5):
        made.physics.single_step()
        before = len(made.received)
        rows = made.frames(10)
        assert len(made.received) == before + len(PARTS)
        assert max(row.event_late_ns for row in rows) <= made.made.refresh_ns + 10, "at the rate before the pause"
    made.check()


def test_events_of_a_stall_come_with_the_frames_after_it_and_are_as_late_as_they_are(run: Runs) -> None:
    made = run(clock="auto")
    made.frames(60)
    made.physics.stall(400)
    made.frames(60)
    made.check()
    frame = made.made.loop.record.log.count
    made.made.load_ms = lambda count: 300.0 if count == frame + 5 else 2.0
    rows = made.frames(30)
    made.check()
    assert max(row.event_late_ns for row in rows) > 250 * MS
    assert max(row.events for row in rows) > 25 * len(PARTS)


def test_a_viewer_that_was_stopped_for_ten_seconds_gets_all_in_order(run: Runs) -> None:
    made = run()
    made.frames(60)
    made.made.time.advance_to(made.made.time.at_ns + 10_000 * MS)
    rows = made.frames(30)
    made.check()
    assert max(row.events for row in rows) > 950 * len(PARTS)
    assert max(row.event_late_ns for row in rows) > 9_900 * MS
    assert made.made.loop.events.counts["lost"] == 0


def test_what_was_overwritten_is_counted_and_said_once(run: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    made = run()
    made.frames(60)
    step_ns = made.physics.tick * STEP_NS
    for _ in range(5):
        made.physics.emit(*[step_ns] * 10_000)
    made.frames(60)
    lost = made.made.loop.events.counts["lost"]
    assert lost >= 50_000 - SLOTS
    assert made.numbers == sorted(set(made.numbers))
    assert len(made.numbers) + lost == made.numbers[-1] + 1, "each is delivered or counted"
    text = f"{lost:,} events were lost, because this viewer could not read or store them in time"
    assert capsys.readouterr().err == f"twixt: {text}\n"
    assert made.made.loop.events.messages == (text,)


def test_a_reset_drops_what_was_not_drawn(run: Runs) -> None:
    made = run(clock="buffered", buffer_ms=100.0)
    made.frames(100)
    made.physics.reset()
    made.frames(100)
    made.physics.reset()
    made.frames(100)
    made.check(range(3))
    counts = made.made.loop.events.counts
    assert counts["reset"] > 0
    assert counts["delivered"] == len(made.received)
    assert sum(counts.values()) == len(made.physics.emitted)


def test_a_restarted_simulation_goes_on_with_the_same_function(run: Runs) -> None:
    made = run()
    made.frames(100)
    first, emitted = made.received.copy(), len(made.physics.emitted)
    made.physics._turn += 1  # the first simulation ends
    listener = open_listener(f"again-{os.getpid()}")
    host = Host(listener, Scene([Sphere(0.5)]), 1)
    again = EmittingPhysics(made.made, host)
    link = attach(listener.name)
    made.received.clear()
    made.made.loop.follow(link)
    made.frames(100)
    assert made.numbers == list(range(len(made.numbers)))
    assert len(made.numbers) > 100
    assert all(again.emitted[n].instant_ns <= made.drawn[one.frame][1] for n, one in enumerate(made.received))
    counts = made.made.loop.events.counts
    assert counts["delivered"] == len(first) + len(made.received)
    assert counts["reset"] == emitted - len(first), "what the first simulation emitted and nobody has seen"
    made.made.loop.follow(made.made.link)  # so that the fixture closes what it made
    link.close()
    host.end()


def test_a_viewer_that_attaches_late_gets_none_of_the_past(run: Runs) -> None:
    made = run()
    made.frames(100)
    events = made.made.loop.events
    late = attach(made.made.host.name)
    made.received.clear()
    drawn_ns = made.drawn[-1][1]
    made.made.loop.follow(late)
    made.frames(100)
    assert made.made.loop.events is not events
    instants_ns = [made.physics.emitted[number].instant_ns for number in made.numbers]
    assert made.numbers == list(range(made.numbers[0], made.numbers[-1] + 1))
    assert instants_ns[0] > drawn_ns
    assert made.made.loop.events.counts["lost"] == 0
    made.made.loop.follow(made.made.link)
    late.close()


def test_a_hidden_window_delivers_by_the_clock_and_nothing_is_lost(run: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_queue, "MOST_HELD", 1000)  # of far more events than are held
    made = run()
    made.frames(60)
    before, since_ns = len(made.received), made.made.time.at_ns
    made.made.display.is_hidden = True
    made.physics.time.at(since_ns + 3_000 * MS, lambda: made.made.display._is_woken.set())
    while made.made.time.at_ns < since_ns + 10_000 * MS:
        made.made.display._is_woken.set()
        made.made.loop.idle.begin(made.made.time.at_ns)
        made.made.time.advance_to(made.made.time.at_ns + 100 * MS)
        if made.made.loop.idle.is_hidden_intake_due(made.made.time.at_ns):
            made.made.loop.idle._intake_ns = made.made.time.at_ns - HIDDEN_INTAKE_NS
        monkeypatch.setattr(made.made.display, "wait_events", lambda _timeout_s: [])
        made.made.loop.sleep_while_hidden()
        for one in made.received[before:]:
            instant_ns = made.physics.emitted[one.number].instant_ns
            assert instant_ns <= made.physics.sim_time_ns
    assert len(made.received) - before > 800 * len(PARTS)
    made.made.display.is_hidden = False
    made.frames(60)
    assert made.numbers == list(range(len(made.numbers)))
    counts = made.made.loop.events.counts
    assert (counts["delivered"], counts["lost"], counts["reset"]) == (len(made.numbers), 0, 0)


def test_an_event_wakes_a_viewer_that_rests(run: Runs) -> None:
    made = run()
    made.frames(60)
    made.physics.set_rate(0.0)
    made.physics.single_step()
    made.frames(20)
    made.made.time._due.clear()
    made.made.run(2.0)
    assert made.made.loop.is_idle
    before = len(made.received)
    made.physics.emit(made.made.loop.record.last.draw_time_ns)
    made.made.loop.sleep()
    assert not made.made.loop.is_idle
    made.frames(1)
    assert len(made.received) == before + 1


def test_the_time_of_a_slow_function_is_the_users(run: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    made = run(overlay=False)
    made.frames(60)
    made.act = lambda _event: made.made.time.advance_to(made.made.time.at_ns + 50 * MS)
    rows = made.frames(40)
    late = [row for row in rows[1:] if row.pacer_interval_ns < 2 * made.made.refresh_ns]
    assert len(late) > 10
    assert all(row.user_ns >= 50 * MS for row in late), "the function made these frames late, and not drawing"
    assert all(row.draw_ns + row.upload_ns + row.other_ns + row.stolen_ns < 5 * MS for row in rows)
    assert rows[-1].pacer_interval_ns == 4 * made.made.refresh_ns, "the pacer plans with it"
    assert max(intervals(rows)) < 100 * MS, "the window still answers"
    assert made.numbers == list(range(len(made.numbers)))
    assert capsys.readouterr().err.count("took 50 ms in one frame") == 1
    assert any("took 50 ms" in message for message in made.made.loop.events.messages)
    made.act = lambda _event: None
    rows = made.frames(200)
    assert made.made.loop.events.counts["delivered"] == len(made.received), "it catches up"
    assert set(intervals(rows[-30:])) == {made.made.refresh_ns}, "the pacer is back at one frame a refresh"


def test_damaged_memory_ends_the_events_and_not_the_viewer(run: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    made = run()
    made.frames(60)
    made.made.host._events._words[LATEST] = 1
    made.made.time._due.clear()
    made.frames(20)
    printed = capsys.readouterr().err
    assert printed.count("the ring buffer of events is damaged") == 1
    assert "the viewer continues without events" in printed
