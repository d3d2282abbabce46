"""Numbers of contacts that hold while a contact lasts.

MuJoCo numbers contacts by their place in a list, which changes whenever one comes or goes. Here a contact is known by
its pair of geoms, and among those of one pair by where it is: each takes the number of the nearest contact of the call
before, nearest pairs first, each number once.

Always: two contacts of one call have different numbers; a contact farther than `reach` from all those before is new,
and no number comes back for 2**32 contacts. Reads neither clock nor model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NUMBER_MASK = 0xFFFF_FFFF


class ContactKeys:
    """Numbers of the contacts of one call after the other."""

    def __init__(self) -> None:
        self._pairs = np.zeros(0, np.int64)  # of the call before, sorted
        self._positions = np.zeros((0, 3))
        self._numbers = np.zeros(0, np.int64)
        self._next = 0

    def numbers(
        self, pairs: NDArray[np.int64], positions: NDArray[np.float64], reach: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Numbers of n contacts, (n,), whole and from 0 to 2**32 - 1.

        pairs: (n,), equal where both geoms are. positions: (n, 3), metres. reach: (n,), metres that a contact may have
        moved since the call before.
        """
        order = np.argsort(pairs, kind="stable")
        now, there = pairs[order], positions[order]
        first, end = np.searchsorted(self._pairs, now), np.searchsorted(self._pairs, now, side="right")
        many = end - first
        # Each contact beside each of its pair in the call before.
        news = np.repeat(np.arange(len(now)), many)
        olds = np.arange(len(news)) - np.repeat(np.cumsum(many) - many - first, many)
        way = there[news] - self._positions[olds]
        squares = np.einsum("ij,ij->i", way, way)
        nearest_first = np.argsort(squares, kind="stable")
        nearest_first = nearest_first[(squares <= reach[order][news] ** 2)[nearest_first]]
        found = np.full(len(now), -1, np.int64)
        for new, old in _mutual(news[nearest_first], olds[nearest_first], len(now), len(self._pairs)):
            found[new] = self._numbers[old]
        is_new = found < 0
        count = int(np.count_nonzero(is_new))
        found[is_new] = (self._next + np.arange(count)) & NUMBER_MASK
        self._next += count
        self._pairs, self._positions, self._numbers = now, there, found
        numbers = np.empty_like(found)
        numbers[order] = found
        return numbers


def _mutual(
    news: NDArray[np.intp], olds: NDArray[np.intp], new_count: int, old_count: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Matches, each new and each old one once, from candidates sorted by distance: in each round those that are nearest
    to each other, so that as many rounds are needed as contacts of one pair compete for each other."""
    matches = []
    while len(news):
        place = np.arange(len(news))
        nearest_of_new, nearest_of_old = np.zeros(new_count, np.intp), np.zeros(old_count, np.intp)
        # Of repeated indices the last assignment counts: the nearest candidate.
        nearest_of_new[news[::-1]] = place[::-1]
        nearest_of_old[olds[::-1]] = place[::-1]
        is_match = (nearest_of_new[news] == place) & (nearest_of_old[olds] == place)
        matches.append((news[is_match], olds[is_match]))
        is_taken_new, is_taken_old = np.zeros(new_count, bool), np.zeros(old_count, bool)
        is_taken_new[news[is_match]] = is_taken_old[olds[is_match]] = True
        is_left = ~(is_taken_new[news] | is_taken_old[olds])
        news, olds = news[is_left], olds[is_left]
    return matches
