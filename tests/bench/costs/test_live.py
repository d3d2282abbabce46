"""Snapshots that a benchmark draws: read until there are two."""

from __future__ import annotations

from typing import Any

import pytest

from bench.costs import live
from bench.costs.live import newest_two
from twixt.ipc.errors import TwixtError


class Overtaken:
    """A link whose reads come out with these pairs, one after another, then with the last of them again."""

    def __init__(self, *pairs: tuple[str, ...]) -> None:
        self.pairs = list(pairs)

    def poll(self) -> None:
        pass

    def latest_pair(self) -> tuple[str, ...]:
        return self.pairs.pop(0) if len(self.pairs) > 1 else self.pairs[0]


def test_two_snapshots_are_read_although_the_writer_overtook_earlier_reads() -> None:
    link: Any = Overtaken((), ("first",), (), ("first", "second"))
    assert newest_two(link) == ("first", "second")


def test_a_simulation_that_publishes_no_two_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "PATIENCE_NS", 1)
    link: Any = Overtaken(("first",))
    with pytest.raises(TwixtError, match="no two snapshots"):
        newest_two(link)
