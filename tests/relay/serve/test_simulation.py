"""The server's side of the simulation: what one page finds, the others are told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twixt.relay.serve.simulation import Simulation


class Pages:
    is_hungry, lead_ns, told = True, 0, 0

    def on_news(self) -> None:
        self.told += 1


class Link:
    """A link with unread snapshots of these numbers."""

    scene_version = 1

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    @property
    def has_unread(self) -> bool:
        return bool(self.numbers)

    def unread(self, _byte_budget: int) -> list[Any]:
        number = self.numbers.pop()
        head = SimpleNamespace(scene_version=1, world_epoch=0, published_ns=number)
        return [SimpleNamespace(number=number, head=head)]


def test_a_snapshot_that_one_page_finds_without_a_wake_is_told_to_all() -> None:
    simulation, pages, link = Simulation("lab", 0), Pages(), Link([1])
    simulation.link, simulation._server = link, pages  # type: ignore[assignment]
    assert [simulation.newest_number for _ in range(3)] == [1, 1, 1]
    assert pages.told == 1
    link.numbers.append(2)
    assert simulation.newest_number == 2
    assert pages.told == 2
