"""The display's word on frames already shown, brought to their rows and to the pacer."""

from __future__ import annotations

from tests.render.measure.runs import MS, even
from twixt.render.display.presentation import DISCARDED, Presented
from twixt.render.measure.log import FrameLog
from twixt.render.presents import LONGEST_AWAITED_NS, MOST_AWAITED, Presents


class Window:
    """Counts from 100 on, as one whose first swaps were the probe's."""

    def __init__(self) -> None:
        self.swap_number = 100
        self.said: list[Presented] = []

    def take_presents(self) -> list[Presented]:
        said, self.said = self.said, []
        return said


class Pacer:
    """Notes what it is told."""

    blocks = True

    def __init__(self) -> None:
        self.told: list[tuple[int, int | None]] = []

    def display_said(self, presented_ns: int, refresh_ns: int | None) -> None:
        self.told.append((presented_ns, refresh_ns))


def shown(count: int = 10):  # type: ignore[no-untyped-def]
    window, log, pacer, rows = Window(), FrameLog(), Pacer(), even(count)
    presents = Presents(window, log, pacer)  # type: ignore[arg-type]
    for row in rows:
        window.swap_number += 1
        log.add(row)
        presents.shown(row.frame, row.present_ns)
    return window, log, pacer, rows, presents


def test_a_word_finds_the_row_of_its_swap_and_the_pacer():
    window, log, pacer, rows, presents = shown()
    window.said = [Presented(109, rows[8].present_ns + 9 * MS, 16 * MS, "vsync")]
    presents.take()
    spoken = log.rows.row(8)
    assert (spoken.present_ns, spoken.present_flags, spoken.present_source) == (
        rows[8].present_ns + 9 * MS, "vsync", "display"
    )  # fmt: skip
    assert [log.rows.row(i) for i in (7, 9)] == [rows[7], rows[9]]
    assert pacer.told == [(rows[8].present_ns + 9 * MS, 16 * MS)]


def test_a_frame_that_was_discarded_is_marked_and_no_present():
    window, log, pacer, rows, presents = shown()
    window.said = [Presented(110, 0, None, DISCARDED)]
    presents.take()
    assert log.rows.row(9) == rows[9]._replace(present_flags=DISCARDED)
    assert pacer.told == []


def test_a_word_that_comes_too_late_changes_nothing():
    window, log, pacer, rows, presents = shown()
    old = 110 - MOST_AWAITED
    window.said = [
        Presented(old, rows[9 - MOST_AWAITED].present_ns, None, ""),
        Presented(110, rows[9].present_ns + LONGEST_AWAITED_NS, None, ""),
        Presented(7, rows[9].present_ns, None, ""),
    ]
    presents.take()
    assert list(log.rows) == rows
    assert pacer.told == []


def test_at_its_swap_a_frames_present_is_a_fences_or_a_swaps_or_a_timers():
    _, _, pacer, _, presents = shown(1)
    assert presents.source(12) == "fence"
    assert presents.source(None) == "swap"
    pacer.blocks = False
    assert presents.source(None) == "timer"
