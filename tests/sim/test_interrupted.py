"""Publishes interrupted by Ctrl-C at any place, in a program that goes on: the next publish is complete and correct."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.ipc.ring.segment_checks import check_segment
from tests.sim.interrupts import Interrupt, on_its_own_thread
from twixt.ipc.scene import Scene, Sphere
from twixt.sim.show.show import show
from twixt.sim.show.view import View
from twixt.sim.world.columns import Column

pytestmark = pytest.mark.slow

COLUMNS = {"heat": Column("f4"), "spot": Column("f8", 2)}
Publish = Callable[[View, int], None]


def position(count: int, x: int, kind: Any = np.float32) -> np.ndarray:
    return np.full((count, 3), x, kind)


def repeated(view: View, x: int) -> None:
    view.publish(position=position(6, x), velocity=position(6, x, np.float64), columns={"heat": x})


def other_fields(view: View, x: int) -> None:
    fields = {"orientation": [[0, 0, 0, 1]] * 6} if x % 3 else {"scale": x % 7, "velocity": position(6, x)}
    view.publish(**fields, columns={"spot": [x, 0]})


def ids(view: View, x: int) -> None:
    some = np.random.default_rng(x).permutation(12)[: 1 + x % 9]
    view.publish(position=position(len(some), x), ids=some, columns={"heat": some})


def counts(view: View, x: int) -> None:
    view.publish(position=position(x % 8, x), color=np.uint8([x % 256, 0, 0]))


def larger(view: View, x: int) -> None:
    view.publish(position=position(x, x), columns={"heat": x})


def larger_slots(view: View, x: int) -> None:
    with view.slot(x, columns={"heat": x} if x % 2 else {}) as records:
        records["position"] = position(len(records), x)


def visible(view: View, x: int) -> None:
    view.publish(position=position(6, x), visible=np.arange(6) % 3 != x % 3)


def slots(view: View, x: int) -> None:
    with view.slot(3 + x % 4, columns={"heat": x} if x % 2 else {}) as records:
        records["position"] = position(len(records), x)
        records["epoch"] = x


def back(view: View, x: int) -> None:
    view.publish(position=position(6, x), sim_time=(-x % 3) / 10)


@pytest.fixture
def open_view() -> Iterator[Callable[[], View]]:
    views: list[View] = []

    def make() -> View:
        views.append(show(Scene([Sphere()] * 6), dt=0.01, columns=COLUMNS, viewer=False))
        return views[-1]

    yield make
    for view in views:
        view.close()


def taken(view: View) -> int:
    """Number of completed publishes: visible, replaced by newer ones, or waiting for memory."""
    host = view._host
    segments = host.ring
    with segments.writing:
        latest = segments.writer.latest
        return latest + segments.waiting.dropped + (segments.waiting.newer_than(latest) is not None)


def newest(view: View) -> Any:
    found = view._host.ring.newest()
    assert found is not None
    head = found.head._replace(due_ns=0, published_ns=0, rate=0, world_epoch=0, plan_number=0)
    return head, found.bodies.tobytes(), {name: rows.tobytes() for name, rows in found.columns.items()}


def assert_whole(view: View) -> None:
    segments = view._host.ring
    assert not segments.writing._is_owned(), "whoever publishes holds its lock no longer"  # type: ignore[attr-defined]
    with segments.writing:  # the service thread moves on to another segment meanwhile
        check_segment(segments.writer.memory)
    found, plan = view._host.ring.newest(), view._publisher.plan
    assert found is not None
    assert (found.head.plan_number, found.head.world_epoch) == (plan.number, plan.world_epoch)


@pytest.mark.parametrize("publish", [repeated, other_fields, ids, counts, larger, larger_slots, visible, slots, back])
@on_its_own_thread
def test_wherever_a_publish_is_interrupted_the_next_is_as_if_it_had_come_to_its_end_or_never_been(
    open_view: Callable[[], View], publish: Publish
) -> None:
    view, twin = open_view(), open_view()
    for x in range(20):  # every slot is written
        publish(view, x)
        publish(twin, x)
    came, place, x = True, 0, 20  # x is odd in interrupted publishes
    while came:
        place, x = place + 1, x + 1
        before = taken(view)
        interrupt = Interrupt(place)
        interrupt.during(lambda x=x: publish(view, x))  # type: ignore[misc]
        came = interrupt.came
        if taken(view) > before:
            publish(twin, x)
            assert newest(view) == newest(twin), f"after place {place}"
        for _ in range(1 + 2 * (place % 2)):
            x += 1
            publish(view, x)
            publish(twin, x)
            assert newest(view) == newest(twin), f"after place {place}"
        assert_whole(view)
    assert place > 100, "it was interrupted in earnest"
    print(f"{publish.__name__}: interrupted at {place - 1} places")


@pytest.mark.parametrize("ids", [None, [4, 1, 3, 0, 5, 2]])
@on_its_own_thread
def test_what_an_interrupted_publish_marked_as_cut_is_cut_in_the_next_one(
    open_view: Callable[[], View], ids: list[int] | None
) -> None:
    view, twin = open_view(), open_view()
    for both in (view, twin):
        both.publish(position=position(6, 0), ids=ids)
    came, place = True, 0
    while came:
        place += 1
        before = taken(view)
        interrupt = Interrupt(place)
        interrupt.during(lambda: view.publish(position=position(6, place), ids=ids, cut=[1, 2]))  # noqa: B023
        came, was_seen, was_begun = interrupt.came, taken(view) > before, view._now.cut_keys.size > 0
        if was_seen:
            twin.publish(position=position(6, place), ids=ids, cut=[1, 2])
            assert newest(view) == newest(twin)
        # A publish that was interrupted before it recorded its cuts has no effect on the next.
        cut = [3] if was_seen or not was_begun else [1, 2, 3]
        view.publish(position=position(6, place), ids=ids, cut=[3])
        twin.publish(position=position(6, place), ids=ids, cut=cut)
        assert newest(view) == newest(twin), f"after place {place}"
    assert place > 100


SIGNALLED = """
import itertools, os, signal, sys, threading
import numpy as np
from twixt.ipc.scene import Scene, Sphere
from twixt.sim.show.show import show

view = show(Scene([Sphere()] * 64), viewer=False)
count, caught, over, is_publishing = itertools.count(1), 0, threading.Event(), False

def interrupt(number, frame):
    global is_publishing
    if is_publishing:
        is_publishing = False
        raise KeyboardInterrupt

def press():
    while not over.wait(0.003):
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, interrupt)
presser = threading.Thread(target=press)
presser.start()
while caught < 100:
    try:
        is_publishing = True
        x = next(count)
        view.publish(position=np.full((64, 3), x, np.float32), cut=[x % 64] if x % 5 == 0 else None)
        if x % 3 == 0:
            view.publish(velocity=np.zeros((64, 3)), visible=np.ones(64, bool))
        is_publishing = False
    except KeyboardInterrupt:
        caught += 1
over.set()
presser.join()
view.publish(position=np.full((64, 3), -1, np.float32), velocity=np.zeros((64, 3)))
newest = view._host.ring.newest()
assert (newest.bodies["position"] == -1).all()
assert len(set(newest.bodies["flags"])) == 1
view.close()
print("caught", caught, flush=True)
"""


def test_a_hundred_real_signals_end_no_view() -> None:
    done = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "caught 100\n"), done.stderr
