"""Interruptions at chosen places: under every Python they arrive at the same places, from the first call on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.sim.interrupts import Interrupt, on_its_own_thread

noted: list[str] = []


def leaf(name: str) -> None:
    noted.append(name)


def loop() -> None:
    for number in range(3):
        leaf(f"loop {number}")
    noted.append("loop ends")


@contextmanager
def block() -> Iterator[None]:
    leaf("enters")
    yield
    leaf("leaves")


def with_block() -> None:
    with block():
        leaf("inside")


def reached(do: Callable[[], None]) -> list[tuple[str, ...]]:
    """What was noted before each interruption, in their order; last: without one."""
    found: list[tuple[str, ...]] = []
    came = True
    while came:
        noted.clear()
        interrupt = Interrupt(len(found) + 1)
        interrupt.during(do)
        came = interrupt.came
        found.append(tuple(noted))
    return found


@pytest.mark.parametrize(
    ("do", "notes"),
    [
        (loop, ["loop 0", "loop 1", "loop 2", "loop ends"]),
        (with_block, ["enters", "inside", "leaves"]),
    ],
)
@on_its_own_thread
def test_a_function_that_was_never_traced_is_interrupted_between_each_two_of_its_notes(
    do: Callable[[], None], notes: list[str]
) -> None:
    found = reached(do)
    assert found[-1] == tuple(notes)
    assert set(found) == {tuple(notes[:count]) for count in range(len(notes) + 1)}


@on_its_own_thread
def test_the_places_of_a_loop_are_counted_alike_by_every_python() -> None:
    beginnings, calls, iterations = 1 + 3, 1 + 3 + 4, 3
    assert len(reached(loop)) - 1 == beginnings + calls + iterations
