"""Parents of the latest scenes: what is kept, sent and received."""

from __future__ import annotations

import json

import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene.groups import (
    MOST_CHILDREN,
    MOST_ENTRIES,
    ParentEntry,
    appended,
    from_field,
    from_version,
    merged,
    to_field,
)

LOG = (ParentEntry(1, {}), ParentEntry(3, {1: 0}), ParentEntry(4, {1: 2, 5: 1}), ParentEntry(9, {}))


def test_a_scene_with_the_same_parents_adds_nothing() -> None:
    assert appended(LOG, 10, {}) is LOG
    assert appended(LOG, 10, {1: 0})[-1] == (10, {1: 0})


def test_the_oldest_entries_go() -> None:
    log = ()
    for version in range(2 * MOST_ENTRIES):
        log = appended(log, version, {1: 0} if version % 2 else {})
    assert [entry.version for entry in log] == list(range(MOST_ENTRIES, 2 * MOST_ENTRIES))


def test_what_is_sent_with_a_scene_comes_back_as_all_but_its_own() -> None:
    assert from_field(json.loads(json.dumps(to_field(LOG)))) == LOG[:-1]
    assert to_field(LOG[:1]) == []


def test_children_that_are_too_many_are_left_out_oldest_first() -> None:
    many = {child: 0 for child in range(1, MOST_CHILDREN // 2 + 2)}
    log = (ParentEntry(1, many), ParentEntry(2, {1: 2}), ParentEntry(3, many), ParentEntry(4, {}))
    assert [fields[0] for fields in to_field(log)] == [2, 3]


def test_scenes_that_were_not_received_are_known_by_the_message_of_a_later_one() -> None:
    received = LOG[:1]
    assert merged(received, (*LOG[1:3], ParentEntry(9, {}))) == LOG
    assert merged(received, [ParentEntry(2, {}), ParentEntry(3, {1: 0})]) == LOG[:2]


def test_entries_from_a_version_on_begin_with_the_one_that_holds_for_it() -> None:
    assert from_version(LOG, 3) == LOG[1:]
    assert from_version(LOG, 8) == LOG[2:]
    assert from_version(LOG, 0) == LOG
    assert from_version((), 4) == ()


@pytest.mark.parametrize(
    "field", [None, {}, [3], [[]], [["1"]], [[1, 2]], [[1, 2.5, 0]], [[1, -1, 0]], [[1, 1, 2, 2, 1]], [[1]] * 99]
)
def test_a_damaged_log_is_refused_in_one_line(field: object) -> None:
    with pytest.raises(TwixtError):
        from_field(field)
