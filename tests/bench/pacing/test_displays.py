"""Model displays: lists of instants in, presents and returns out."""

from __future__ import annotations

from bench.pacing.displays import (
    ALWAYS,
    COPY_NS,
    TRIED,
    Blocking,
    DisplayReport,
    Fenced,
    Queue,
    QueueOfThree,
    ReturnsAtOnce,
    Timer,
    Variable,
    changing,
    steady,
)

MS = 1_000_000
HUNDRED_HZ = steady(100)  # refreshes at 10, 20, 30 ... ms


def in_ms(*instants_ns: int) -> list[int]:
    return [instant_ns // MS for instant_ns in instants_ns]


def test_a_timer_shows_at_once_and_waits_for_nothing() -> None:
    display = Timer(steady(60))
    assert display.swap(3 * MS) == display.visible_ns[0] == 3 * MS + COPY_NS
    assert display.first_call(4 * MS) == 4 * MS


def test_a_blocking_swap_returns_when_its_own_frame_is_shown() -> None:
    display = Blocking(HUNDRED_HZ)
    returns = [display.swap(at * MS) for at in (3, 12, 21)]
    assert in_ms(*display.visible_ns) == [10, 20, 30]
    assert in_ms(*returns) == [10, 20, 30]
    assert all(after > shown for after, shown in zip(returns, display.visible_ns, strict=True))


def test_a_frame_handed_over_just_before_a_refresh_is_shown_at_the_next() -> None:
    display = Blocking(HUNDRED_HZ, ahead_ns=2 * MS)
    display.swap(9 * MS)
    assert in_ms(*display.visible_ns) == [20]


def test_where_swap_returns_at_once_the_next_call_waits_for_the_refresh() -> None:
    display = ReturnsAtOnce(HUNDRED_HZ)
    assert display.first_call(1 * MS) == 1 * MS
    assert in_ms(display.swap(3 * MS)) == [3]
    assert in_ms(display.first_call(4 * MS)) == [10]
    assert display.first_call(15 * MS) == 15 * MS


def test_a_queue_of_two_takes_a_second_frame_and_waits_with_the_third() -> None:
    display = Queue(HUNDRED_HZ)
    assert in_ms(*(display.swap(at * MS) for at in (1, 2))) == [1, 10]
    assert in_ms(display.swap(11 * MS)) == [20]
    assert in_ms(*display.visible_ns) == [10, 20, 30]


def test_a_queue_of_three_takes_one_more() -> None:
    display = QueueOfThree(HUNDRED_HZ)
    assert in_ms(*(display.swap(at * MS) for at in (1, 2, 3))) == [1, 2, 10]
    assert in_ms(*display.visible_ns) == [10, 20, 30]


def test_a_fence_returns_when_the_last_frame_is_shown() -> None:
    display = QueueOfThree(HUNDRED_HZ, fence_mode=ALWAYS)
    display.swap(1 * MS)
    fenced = display.fence(2 * MS)
    assert in_ms(fenced.return_ns) == [10]
    assert fenced.presented_ns == fenced.return_ns
    assert display.fence(15 * MS).presented_ns is None  # waited for nothing
    assert QueueOfThree(HUNDRED_HZ).fence(2 * MS) == Fenced(2 * MS)


def test_a_fence_is_tried_as_the_window_tries_it_and_trusted_once_it_waited() -> None:
    display = ReturnsAtOnce(HUNDRED_HZ, fence_mode=TRIED)
    told = []
    for frame in range(40):
        handed_ns = display.swap((10 * frame + 3) * MS)
        told.append(display.fence(handed_ns).presented_ns)
    assert told[:9] == [None] * 9
    assert in_ms(*(at_ns for at_ns in told[-5:] if at_ns)) == [360, 370, 380, 390, 400]


def test_the_displays_word_comes_two_frames_later() -> None:
    display = Blocking(HUNDRED_HZ, sends_reports=True)
    heard = []
    for at in (1, 11, 21, 31):
        display.swap(at * MS)
        heard.append(display.reports())
    assert heard == [[], [], [DisplayReport(10 * MS, 10 * MS)], [DisplayReport(20 * MS, 10 * MS)]]
    assert Blocking(HUNDRED_HZ).reports() == []


def test_a_variable_rate_follows_frames_within_its_bounds() -> None:
    display = Variable(steady(144))
    for at_ms in (10, 12, 30):
        display.swap(at_ms * MS)
    assert in_ms(*display.visible_ns) == [10, 16, 30]
    display.swap(30 * MS + 25 * MS)  # the last frame was shown again at 50.8: the panel is busy until 57.8
    assert in_ms(display.visible_ns[-1]) == [57]


def test_a_seamless_change_keeps_the_grid_and_another_leaves_a_gap() -> None:
    display = Blocking(changing(100, 200, 35 * MS))
    assert in_ms(*(display.refresh_after(at * MS) for at in (30, 39, 40, 45))) == [40, 40, 45, 50]
    display = Blocking(changing(100, 200, 35 * MS, gap_ns=100 * MS))
    assert in_ms(*(display.refresh_after(at * MS) for at in (30, 39, 140))) == [140, 140, 145]


def test_refreshes_are_counted_over_a_change() -> None:
    display = Blocking(changing(100, 200, 40 * MS))
    assert display.refreshes_between(20 * MS, 60 * MS) == 2 + 4
