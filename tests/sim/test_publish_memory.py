"""Memory that a publish allocates and frees: some objects of the interpreter, however many bodies there are."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.sim.lab import MakeHost
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene, Sphere
from twixt.sim.publish.publisher import Publisher
from twixt.sim.show.show import show
from twixt.sim.show.view import View
from twixt.sim.world.bodies import Bodies

# Limit of any kind of publish. 10,000 bodies are 640 kB; a check of 8192 of them allocates one bool for each.
MOST_BYTES = 16_000
COUNT = 10_000
PUBLISHES, TRIES = 100, 5

Publish = Callable[[], object]


def publisher(make_host: MakeHost) -> Publisher:
    return Publisher(make_host(COUNT), Plan(1, 0, 0, 0, 1.0), 1e6)


@pytest.fixture
def view() -> Iterator[View]:
    with show(Scene([Sphere()]), capacity=COUNT, viewer=False) as view:
        yield view


def assert_takes_little(publish: Publish) -> None:
    for _ in range(40):  # every slot is written, with all variants
        publish()
    gc.disable()
    tracemalloc.start()
    try:
        taken = []
        for _ in range(PUBLISHES):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            publish()
            taken.append(tracemalloc.get_traced_memory()[1] - before)
        begin = tracemalloc.get_traced_memory()[0]
        for _ in range(PUBLISHES):
            publish()
        kept = tracemalloc.get_traced_memory()[0] - begin
    finally:
        tracemalloc.stop()
        gc.enable()
    assert max(taken) < MOST_BYTES
    # The meter's samples grow by 8 bytes each; their arrays grow in blocks.
    assert kept < MOST_BYTES
    assert_leaves_no_garbage(publish)


def assert_leaves_no_garbage(publish: Publish) -> None:
    """Asserts that one of several tries leaves no garbage for the collector.

    Garbage of a publish would appear in every try; that of another thread does not.
    """
    found = []
    for _ in range(TRIES):
        gc.collect()
        gc.disable()
        try:
            for _ in range(PUBLISHES):
                publish()
            found.append(gc.collect())
        finally:
            gc.enable()
        if not found[-1]:
            return
    pytest.fail(f"{found} objects are left for the collector to find")


def test_a_publish_of_bodies(make_host: MakeHost) -> None:
    bodies, publishing = Bodies(COUNT), publisher(make_host)

    def publish() -> None:
        slot = publishing.begin(COUNT)
        slot.write(bodies.records)
        publishing.publish(slot, tick=0, sim_time_ns=0, dt_ns=1)

    assert_takes_little(publish)


def test_a_publish_in_place(make_host: MakeHost) -> None:
    publishing = publisher(make_host)

    def publish() -> None:
        slot = publishing.begin(COUNT)
        slot.records.view(np.uint8).fill(3)
        publishing.publish(slot, tick=0, sim_time_ns=0, dt_ns=1)

    assert_takes_little(publish)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_publish_of_fields(view: View, kind: type) -> None:
    position, orientation = np.zeros((COUNT, 3), kind), np.zeros((COUNT, 4), kind)
    orientation[:, 3] = 1
    assert_takes_little(lambda: view.publish(position=position, orientation=orientation))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_publish_of_bodies_far_away_which_are_looked_at(view: View, kind: type) -> None:
    position = np.full((COUNT, 3), 1000, kind)
    assert_takes_little(lambda: view.publish(position=position, velocity=position))


def test_a_slot(view: View) -> None:
    position = np.zeros((COUNT, 3), np.float32)

    def publish() -> None:
        with view.slot(COUNT) as records:
            records["position"] = position

    assert_takes_little(publish)
