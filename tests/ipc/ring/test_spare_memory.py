"""What is free is given again, what anybody still sees is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from twixt.ipc.ring.mapped_segment import LARGEST_BYTES, MOST_KEPT, SpareArrays
from twixt.ipc.snapshot import BODY


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_what_nobody_has_is_given_again() -> None:
    spare = SpareArrays()
    first = spare.allocate(100)
    where = address(first)
    del first
    assert address(spare.allocate(100)) == where


SIGHTS: dict[str, Callable[[np.ndarray], object]] = {
    "itself": lambda array: array,
    "a slice": lambda array: array[5:],
    "a field": lambda array: array["position"],
    "a row": lambda array: array[3],
    "a buffer": lambda array: array.data,
}


@pytest.mark.parametrize("sight", SIGHTS)
def test_what_is_seen_in_any_way_is_not_given_again_until_it_is_not(sight: str) -> None:
    spare = SpareArrays()
    seen = SIGHTS[sight](spare.allocate(100))
    (where,) = map(address, spare._arrays)
    assert address(spare.allocate(100)) != where
    del seen
    assert address(spare.allocate(100)) == where


def test_few_are_kept_and_no_large_ones() -> None:
    spare = SpareArrays()
    taken = [spare.allocate(10) for _ in range(3 * MOST_KEPT)]
    assert len({address(array) for array in taken}) == 3 * MOST_KEPT
    assert len(spare._arrays) == MOST_KEPT
    spare.allocate(LARGEST_BYTES // BODY.itemsize + 1)
    assert all(len(array) == 10 for array in spare._arrays)
