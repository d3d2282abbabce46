from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.newest import newest, newest_two
from twixt.ipc.plan import Plan
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.session import attach
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import new_bodies
from twixt.sim.publish.publisher import Publisher

MS = 1_000_000
MakeHost = Callable[..., Host]


def publish(publisher: Publisher, bodies: np.ndarray, **head: Any) -> int | None:
    slot = publisher.begin(len(bodies))
    slot.write(bodies)
    return publisher.publish(slot, **head)


def test_a_head_tells_its_plan_scene_and_due_instant(make_host: MakeHost) -> None:
    host = make_host()
    publisher = Publisher(host, Plan(3, 2, 0, 0, 1.0), publish_hz=120)
    publisher.write_scene(Scene([Sphere(0.1)]))
    published_ns = publish(
        publisher, new_bodies(2), tick=7, sim_time_ns=70, dt_ns=10, due_ns=12345, rate=0.5, step_cost_ns=99
    )
    link = attach("lab")
    (view,) = link.unread(1 << 20)
    head = view.head
    del view
    assert link.plan() == publisher.plan == Plan(3, 2, 0, 0, 1.0)
    link.close()
    assert (head.tick, head.sim_time_ns, head.dt_ns, head.due_ns) == (7, 70, 10, 12345)
    assert (head.rate, head.step_cost_ns, head.count) == (0.5, 99, 2)
    assert (head.plan_number, head.world_epoch, head.scene_version) == (3, 2, 2)
    assert head.published_ns == published_ns


def test_without_a_due_instant_a_snapshot_is_due_now_at_the_rate_that_is_held(make_host: MakeHost) -> None:
    host = make_host()
    instants = iter(range(0, 10**12, 5 * MS))  # two looks at the clock for each snapshot
    publisher = Publisher(host, Plan(1, 0, 0, 0, 1.0), publish_hz=120, now_ns=lambda: next(instants))
    for tick in range(20):
        publish(publisher, new_bodies(1), tick=tick, sim_time_ns=tick * 4 * MS, dt_ns=4 * MS)
    link = attach("lab")
    older, newer = newest_two(link)
    link.close()
    assert (older.due_ns, newer.due_ns) == (180 * MS, 190 * MS)
    assert newer.rate == pytest.approx(0.4)


def test_the_meter_counts_what_was_published_and_what_came_late(make_host: MakeHost) -> None:
    publisher = Publisher(make_host(), Plan(1, 0, 0, 0, 1.0), publish_hz=120)
    now_ns = time.perf_counter_ns()
    publish(publisher, new_bodies(1), tick=1, sim_time_ns=1, dt_ns=1, due_ns=now_ns + 10**12)
    publish(publisher, new_bodies(1), tick=2, sim_time_ns=2, dt_ns=1, due_ns=now_ns - 10**9)
    report = publisher.meter.report()
    assert report["published"] == 2
    assert report["late"] == 1
    assert report["lead_ms"]["max"] == pytest.approx(1e6, rel=0.01)
    assert report["publish_ms"]["mean"] > 0
    assert report["step_ms"]["mean"] is None


def test_more_bodies_than_there_was_room_for_are_published(make_host: MakeHost) -> None:
    host = make_host(capacity=1)
    publisher = Publisher(host, Plan(1, 0, 0, 0, 1.0), publish_hz=120)
    for tick, count in enumerate((1, 5000), start=1):
        publish(publisher, new_bodies(count), tick=tick, sim_time_ns=tick, dt_ns=1)
    assert host.ring.await_room(30)
    link = attach("lab")
    assert len(newest(link).bodies) == 5000
    link.close()
