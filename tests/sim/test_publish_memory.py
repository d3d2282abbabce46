"""What a publish takes of memory and gives back: some objects of the interpreter, however many bodies there are."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.sim.lab import MakeHost
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene, Sphere
from twixt.sim.bodies import Bodies
from twixt.sim.publisher import InPlace, Publisher
from twixt.sim.show import View, show

# Of any kind of publish, of which 10,000 bodies are 640 kB; a look at 8192 of them takes a bool for each.
MOST_BYTES = 16_000
COUNT = 10_000
PUBLISHES = 100

Publish = Callable[[], object]


def publisher(make_host: MakeHost) -> Publisher:
    return Publisher(make_host(COUNT), Plan(1, 0, 0, 0, 1.0), 1e6)


@pytest.fixture
def view() -> Iterator[View]:
    with show(Scene([Sphere()]), count=COUNT, viewer=False) as view:
        yield view


def assert_takes_little(publish: Publish) -> None:
    for _ in range(40):  # every slot has been written, in all the ways there are
        publish()
    gc.collect()
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
    # What the meter notes grows by 8 bytes a sample; arrays grow by steps.
    assert kept < MOST_BYTES
    assert gc.collect() == 0  # nothing is left for the collector to find


def test_a_publish_of_bodies(make_host: MakeHost) -> None:
    bodies, publishing = Bodies(COUNT), publisher(make_host)
    assert_takes_little(lambda: publishing.publish(bodies.records, tick=0, sim_time_ns=0, dt_ns=1, columns={}))


def test_a_publish_in_place(make_host: MakeHost) -> None:
    publishing = publisher(make_host)
    bodies = InPlace(COUNT, lambda records: records.view(np.uint8).fill(3))
    assert_takes_little(lambda: publishing.publish(bodies, tick=0, sim_time_ns=0, dt_ns=1))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_publish_of_fields(view: View, kind: type) -> None:
    position, orientation = np.zeros((COUNT, 3), kind), np.zeros((COUNT, 4), kind)
    orientation[:, 3] = 1
    assert_takes_little(lambda: view.publish(position=position, orientation=orientation))


def test_a_slot(view: View) -> None:
    position = np.zeros((COUNT, 3), np.float32)

    def publish() -> None:
        with view.slot(COUNT) as records:
            records["position"] = position

    assert_takes_little(publish)
