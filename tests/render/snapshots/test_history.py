"""Which pair is drawn, and what gives way when the ring is full."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.snapshot import Head, new_bodies
from twixt.render.playback import PlaybackClock
from twixt.render.snapshots.history import History

MS = 1_000_000
T = 987_654_321_000


def held(times_ns, slots: int = 8, world_epoch: int = 0) -> History:
    history = History(slots)
    for time_ns in times_ns:
        add(history, time_ns, world_epoch)
    return history


def add(history: History, time_ns: int, world_epoch: int = 0) -> bool:
    head = Head(sim_time_ns=time_ns, world_epoch=world_epoch)
    slot = history.slot_for(head)
    if slot is None:
        return False
    history.commit(slot, head)
    return True


def times(history: History) -> list[int]:
    return [entry.head.sim_time_ns for entry in history.entries]


@pytest.mark.parametrize(
    ("at_ms", "older_ms", "newer_ms", "alpha"), [(16, 15, 20, 0.2), (32, 30, 35, 0.4), (48, 45, 50, 0.6)]
)
def test_steps_of_5_ms_and_frames_of_16_give_the_article_s_timeline(at_ms, older_ms, newer_ms, alpha):
    """The clock `ahead`, physics one step ahead: frame k shows the world at the instant it is seen."""
    clock, history = PlaybackClock("ahead"), History(4)
    published = 0
    for present_ms in (0, 16, 32, 48):
        while published <= present_ms + 5:
            clock.observe(published * MS, T + published * MS, T + (published - 5) * MS)
            add(history, published * MS)
            published += 5
        pair = history.pair(clock.draw_time_ns(T + present_ms * MS))
        if present_ms == at_ms:
            break
    assert (pair.previous.head.sim_time_ns, pair.next.head.sim_time_ns) == (older_ms * MS, newer_ms * MS)
    assert pair.alpha == pytest.approx(alpha)


@pytest.mark.parametrize("mode", ["auto", "ahead", "newest-two"])
def test_before_the_first_interval_ends_a_viewer_that_knows_one_state_shows_the_world_at_time_0(mode):
    clock, history = PlaybackClock(mode), held([0])
    clock.observe(0, T, T)
    for present_ns in (T - 3 * MS, T, T + 4 * MS):
        pair = history.pair(clock.draw_time_ns(present_ns))
        assert (pair.previous.head.sim_time_ns, pair.next, pair.alpha) == (0, None, 0.0)


def test_nothing_held_gives_no_pair():
    assert History(4).pair(0) is None
    assert History(4).newest is None


def test_a_newer_state_of_an_instant_replaces_the_one_that_is_held_also_in_a_pair_in_use():
    history = held([0, 10, 20])
    history.pair(15)
    for time_ns, tick in ((20, 7), (10, 8), (0, 9)):
        head = Head(sim_time_ns=time_ns, tick=tick)
        slot = history.slot_for(head)
        assert slot is None if time_ns < 10 else slot not in {entry.slot for entry in history.entries}
        if slot is not None:
            history.commit(slot, head)
    assert times(history) == [0, 10, 20]
    assert [entry.head.tick for entry in history.entries] == [0, 8, 7]
    assert (history._in_use[""].previous, history._in_use[""].next) == history.entries[1:]
    assert history.pair(15).previous.head.tick == 8
    for tick in (8, 3):
        assert history.slot_for(Head(sim_time_ns=10, tick=tick)) is None
    assert sorted(history._free + [entry.slot for entry in history.entries]) == list(range(8))


@pytest.mark.parametrize("drawn_ns", [5, 15, 20])
def test_in_the_smallest_ring_a_state_edited_while_time_stands_still_finds_a_slot(drawn_ns):
    history = held([0, 10, 20], slots=3)
    for tick in range(1, 9):
        history.pair(drawn_ns)
        head = Head(sim_time_ns=20, tick=tick)
        slot = history.slot_for(head)
        if slot is None:
            assert drawn_ns == 15, "both in use, and what is older is gone: nothing else can give way"
            continue
        history.commit(slot, head)
        assert history.newest.head.tick == tick


def test_draw_time_past_the_newest_holds_it_still():
    pair = held([0, 10]).pair(25)
    assert (pair.previous.head.sim_time_ns, pair.next, pair.alpha, pair.draw_time_ns) == (10, None, 0.0, 10)


def test_draw_time_before_the_oldest_shows_the_oldest_still():
    pair = held([10, 20]).pair(5)
    assert (pair.previous.head.sim_time_ns, pair.next, pair.draw_time_ns) == (10, None, 10)


def test_draw_time_on_a_snapshot_starts_the_pair_that_follows():
    pair = held([0, 10, 20]).pair(10)
    assert (pair.previous.head.sim_time_ns, pair.next.head.sim_time_ns, pair.alpha) == (10, 20, 0.0)


def test_full_ring_gives_up_what_is_behind_the_pair_first():
    history = held([0, 10, 20, 30], slots=4)
    history.pair(25)
    add(history, 40)
    assert times(history) == [10, 20, 30, 40]
    assert history.thinned == 0


def test_full_ring_of_undrawn_snapshots_is_thinned_where_they_are_densest():
    history = held([0, 10, 20, 22, 40], slots=5)
    history.pair(5)
    add(history, 50)
    assert times(history) == [0, 10, 22, 40, 50]
    assert history.thinned == 1


def test_a_pair_knows_what_came_before_it_while_that_is_held():
    history = held([0, 10, 20])
    assert history.pair(5).before is None
    assert history.pair(15).before.head.sim_time_ns == 0
    assert history.pair(30).before.head.sim_time_ns == 10


def test_several_users_keep_a_pair_each_until_they_let_it_go():
    history = held([0, 10, 20, 30, 40], slots=5)
    history.pair(35, "right")
    history.pair(5, "left")
    add(history, 50)
    assert times(history) == [0, 10, 30, 40, 50], "both pairs stay; what lies between is thinned"
    history.release("left")
    add(history, 60)
    assert times(history) == [10, 30, 40, 50, 60]


def test_before_the_first_frame_the_oldest_gives_way():
    assert times(held(range(0, 100, 10), slots=4)) == [60, 70, 80, 90]


def test_three_slots_keep_the_pair_and_follow_the_newest():
    history = held([0, 10, 20], slots=3)
    history.pair(5)
    add(history, 30)
    assert times(history) == [0, 10, 30]


def test_three_slots_full_take_in_a_new_world_and_refuse_a_late_snapshot():
    history = held([0, 10, 20], slots=3)
    history.pair(5)
    assert not add(history, 15)
    assert add(history, 0, world_epoch=1)


def test_what_is_drawn_is_kept_when_a_late_snapshot_comes_between():
    history = held([0, 10, 20], slots=4)
    drawn = history.pair(5)
    add(history, 7)
    add(history, 30)
    assert drawn.next in history.entries
    assert times(history) == [0, 10, 20, 30]


def test_torn_upload_leaves_no_entry_and_its_slot_is_used_again():
    history = held([0, 10], slots=3)
    slot = history.slot_for(Head(sim_time_ns=20))
    history.discard(slot)
    assert times(history) == [0, 10]
    assert history.slot_for(Head(sim_time_ns=20)) == slot


def test_duplicate_and_what_lies_behind_the_pair_need_no_slot():
    history = held([0, 10, 20])
    history.pair(15)
    assert not add(history, 20)
    assert not add(history, 5)
    assert add(history, 12), "late, but it will still be drawn"
    assert times(history) == [0, 10, 12, 20]


def test_first_snapshot_of_a_newer_world_replaces_all_and_an_older_one_is_refused():
    history = held([0, 10, 20], slots=4)
    history.pair(15)
    assert add(history, 0, world_epoch=1)
    assert times(history) == [0]
    assert not add(history, 30, world_epoch=0)
    assert history.pair(15).previous.head.world_epoch == 1


def test_too_few_slots_are_refused():
    with pytest.raises(TwixtError, match="at least 3 slots"):
        History(2)


@settings(max_examples=300, deadline=None)
@given(
    st.integers(3, 9),
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(0, 60), st.integers(0, 1)),
            st.tuples(st.just("torn"), st.integers(0, 60), st.integers(0, 1)),
            st.tuples(st.just("draw"), st.integers(-5, 70), st.none()),
        ),
        max_size=80,
    ),
)
def test_a_pair_always_surrounds_its_draw_time_and_never_loses_its_slots(slots, steps):
    history, pair, newest = History(slots), None, None
    for verb, value, epoch in steps:
        if verb == "draw":
            pair = history.pair(value)
            if pair is not None:
                start = pair.previous.head.sim_time_ns
                assert start <= pair.draw_time_ns
                assert pair.next is None or pair.draw_time_ns < pair.next.head.sim_time_ns
                assert 0 <= pair.alpha < 1
            continue
        head = Head(sim_time_ns=value, world_epoch=epoch)
        slot = history.slot_for(head)
        if slot is None:
            continue
        if pair is not None:
            assert slot != pair.previous.slot
            assert pair.next is None or slot != pair.next.slot
        if verb == "torn":
            history.discard(slot)
            continue
        history.commit(slot, head)
        if newest is None or (epoch, value) > newest:
            if newest is not None and epoch > newest[0]:
                pair = None
            newest = (epoch, value)
        assert (history.newest.head.world_epoch, history.newest.head.sim_time_ns) == newest
        assert times(history) == sorted(set(times(history)))
        assert len({entry.slot for entry in history.entries}) == len(history) <= slots


def test_snapshots_may_be_drawn_again_from_the_one_before_the_oldest_pair_in_use_on():
    history = held([0, 10, 20, 30, 40])
    slots = [entry.slot for entry in history.entries]
    assert history.drawable == set(slots)
    history.pair(35, "late")
    history.pair(25, "later")
    assert history.drawable == set(slots[1:])
    history.release("later")
    assert history.drawable == set(slots[2:])
    history.pair(5, "first")
    assert history.drawable == set(slots)


def test_copies_are_made_of_the_snapshots_that_may_be_drawn_again():
    history = held([0, 10, 20, 30, 40])
    history.pair(25)
    slots = []

    def read(slot: int):
        slots.append(slot)
        return new_bodies(1), {}

    assert [copy.sim_time_ns for copy in history.drawable_copies(read)] == [10, 20, 30, 40]
    assert len(slots) == 5
    history.drawable_copies(read)
    assert len(slots) == 5
