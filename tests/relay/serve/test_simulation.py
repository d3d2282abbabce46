"""The server's side of the simulation: what one page finds, the others are told."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

from twixt.relay.serve.simulation import Simulation


class Pages:
    is_hungry, lead_ns, told = True, 0, 0

    def on_news(self) -> None:
        self.told += 1


class Link:
    """A link with unread snapshots of these numbers."""

    scene_version, ended, received = 1, None, SimpleNamespace(screenshots=[])
    asked = 0

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    @property
    def has_unread(self) -> bool:
        return bool(self.numbers)

    def unread(self, _byte_budget: int) -> list[Any]:
        number = self.numbers.pop()
        head = SimpleNamespace(scene_version=1, world_epoch=0, published_ns=number)
        return [SimpleNamespace(number=number, head=head)]

    def wait(self, _timeout_s: float) -> bool:
        return False

    def report_lead(self, _lead_ns: int) -> None:
        pass

    def plan(self) -> None:
        return None

    def wake_when_newer(self) -> None:
        self.asked += 1


def test_a_snapshot_that_one_page_finds_without_a_wake_is_told_to_all() -> None:
    simulation, pages, link = Simulation("lab", 0), Pages(), Link([1])
    simulation.link, simulation._server = link, pages  # type: ignore[assignment]
    assert [simulation.newest_number for _ in range(3)] == [1, 1, 1]
    assert pages.told == 1
    link.numbers.append(2)
    assert simulation.newest_number == 2
    assert pages.told == 2


def test_pages_share_an_encoded_snapshot_for_a_while_though_newer_ones_are_published() -> None:
    simulation, link = Simulation("lab", 0), Link([1])
    simulation.link, simulation._server = link, Pages()  # type: ignore[assignment]
    assert simulation.newest_number == 1
    link.numbers.append(2)
    simulation._encoded, simulation._encoded_s = SimpleNamespace(number=1), time.monotonic() + 60  # type: ignore[assignment]
    assert simulation.newest_number == 1
    simulation._encoded_s -= 120
    assert simulation.newest_number == 2


def test_a_simulation_that_has_published_meanwhile_is_asked_for_no_wake() -> None:
    async def requested(*numbers: int) -> tuple[Simulation, Link]:
        simulation, link = Simulation("lab", 0), Link([*numbers])
        simulation.link, simulation._server = link, Pages()  # type: ignore[assignment]
        simulation._request()
        assert (simulation._timer is None) == (not numbers)  # it looks again, or it waits for the wake
        return simulation, link

    simulation, link = asyncio.run(requested(1))
    assert (simulation.newest_number, link.asked) == (1, 0)
    _, link = asyncio.run(requested())
    assert link.asked == 1
