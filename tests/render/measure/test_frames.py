"""Rows and tables."""

from hypothesis import given
from hypothesis import strategies as st

from twixt.render.measure.frames import KIND_OF, MAX_WORDS, FrameRow, FrameTable, Words

KINDS = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    str: st.text(max_size=30),
    bool: st.booleans(),
    int | None: st.none() | st.integers(0, 2**62),
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


def test_texts_without_end_do_not_grow_the_memory_without_end():
    words = Words()
    for i in range(MAX_WORDS + 10):
        words.number(f"reason {i}")
    assert len(words.texts) == MAX_WORDS
    assert words.texts[words.number("one more")] == "..."
    assert words.texts[words.number("reason 5")] == "reason 5"
