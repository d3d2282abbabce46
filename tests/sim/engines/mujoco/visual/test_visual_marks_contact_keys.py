"""Numbers of contacts over calls in which they move, come and go."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.sim.engines.mujoco.visual.visual_marks import ContactKeys

FAR = 10.0


def numbers(keys: ContactKeys, *contacts: tuple[int, float], reach: float = FAR) -> list[int]:
    """Of contacts (pair, place along x)."""
    pairs = np.array([pair for pair, _ in contacts], np.int64)
    positions = np.zeros((len(contacts), 3))
    positions[:, 0] = [place for _, place in contacts]
    return keys.numbers(pairs, positions, np.full(len(contacts), reach)).tolist()


def test_a_contact_keeps_its_number_wherever_it_stands_in_the_list() -> None:
    keys = ContactKeys()
    first = numbers(keys, (7, 0.0), (7, 1.0), (3, 0.5))
    assert len(set(first)) == 3
    assert numbers(keys, (3, 0.6), (7, 1.1), (7, 0.1)) == [first[2], first[1], first[0]]


def test_what_comes_gets_a_number_that_nothing_had_and_what_stays_keeps_its_own() -> None:
    keys = ContactKeys()
    a, b = numbers(keys, (1, 0.0), (1, 1.0))
    assert numbers(keys, (1, 1.0)) == [b]
    c, again = numbers(keys, (1, 0.0), (1, 1.0))
    assert again == b
    assert c not in (a, b)


def test_of_contacts_that_compete_the_nearest_pairs_are_matched_first() -> None:
    keys = ContactKeys()
    a, b, c = numbers(keys, (1, 0.0), (1, 1.0), (1, 2.0))
    # All have moved by 0.6: each is nearer to the next one's old place than to its own, but the last one.
    assert numbers(keys, (1, 0.6), (1, 1.6), (1, 2.6)) == [b, c, a]
    assert numbers(keys, (1, 0.65), (1, 1.65), (1, 2.65)) == [b, c, a]


def test_a_contact_beyond_its_reach_is_another_one() -> None:
    keys = ContactKeys()
    (a,) = numbers(keys, (1, 0.0), reach=0.5)
    assert numbers(keys, (1, 0.4), reach=0.5) == [a]
    assert numbers(keys, (1, 1.0), reach=0.5) != [a]


def test_pairs_do_not_mix_and_none_is_no_fault() -> None:
    keys = ContactKeys()
    assert numbers(keys) == []
    (a,) = numbers(keys, (1, 0.0))
    (b,) = numbers(keys, (2, 0.0))
    assert a != b
    assert numbers(keys) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12), max_size=5))
def test_numbers_of_one_call_always_differ(calls: list[list[tuple[int, int]]]) -> None:
    keys = ContactKeys()
    for contacts in calls:
        found = numbers(keys, *((pair, float(place)) for pair, place in contacts))
        assert len(set(found)) == len(contacts)
