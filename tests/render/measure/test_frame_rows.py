"""Rows and tables."""

from hypothesis import given
from hypothesis import strategies as st

from twixt.render.measure.frame_rows import KIND_OF, FrameRow, FrameTable, RowTexts

KINDS = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    str: st.text(max_size=30),
    bool: st.booleans(),
    int | None: st.none() | st.integers(0, 2**60),
}
any_row = st.builds(FrameRow, **{name: KINDS[kind] for name, kind in KIND_OF.items()})


@given(st.lists(any_row, max_size=5))
def test_a_table_gives_back_exactly_the_rows_it_was_made_from(rows):
    assert list(FrameTable.of(rows)) == rows


def test_a_column_is_an_array_and_a_text_is_a_mask():
    table = FrameTable.of([FrameRow(frame=3, mode="held"), FrameRow(frame=4, mode="none")])
    assert table["frame"].tolist() == [3, 4]
    assert table.is_text("mode", "held").tolist() == [True, False]
    assert table.is_text("mode", "never seen").tolist() == [False, False]


def test_a_text_is_kept_for_as_long_as_a_row_uses_it():
    words = RowTexts()
    held, first = words.acquire("held"), words.acquire("reason 0")
    for i in range(1, 100):
        assert words.acquire(f"reason {i}") != held
        words.release([words.number_of[f"reason {i - 1}"]])
    assert words.texts[held] == "held"
    assert len(words.texts) <= 4, "numbers are given anew"
    assert words.number_of.get("reason 0") is None
    assert first in (words.acquire("one more"), words.acquire("another"))


def test_after_any_number_of_different_reasons_no_text_is_lost():
    reasons = [FrameRow(clock_reason=f"late by {i} us", pacer_reason=f"as {i}", mode="none") for i in range(40_000)]
    table = FrameTable.of([*reasons, FrameRow(mode="held", clock_reason="the last one")])
    assert table.is_text("mode", "held").sum() == 1
    assert table.row(40_000).clock_reason == "the last one"
    assert table.row(39_999) == reasons[-1]
