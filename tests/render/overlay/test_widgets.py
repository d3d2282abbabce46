"""Choice of parts, line breaks and shortened text that fit into a panel."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twixt.render.overlay.widgets import PanelItem, breaks, captions, fitting, publish_captions, shortened

lengths = st.integers(0, 50)


def nothing() -> None:
    pass


def test_the_highest_rank_is_left_out_first_and_of_one_rank_the_last():
    parts = [PanelItem(rank, 10, nothing) for rank in (0, 2, 1, 2)]
    assert fitting(parts, 40) == parts
    assert fitting(parts, 39) == parts[:3]
    assert fitting(parts, 29) == [parts[0], parts[2]]
    assert fitting(parts, 9) == []


@given(st.lists(st.tuples(lengths, lengths)), lengths)
def test_what_is_kept_always_fits(given, room):
    kept = fitting([PanelItem(rank, height, nothing) for rank, height in given], room)
    assert sum(part.height for part in kept) <= room


@given(st.lists(lengths), lengths, lengths)
def test_no_line_of_several_words_is_too_long(widths, gap, room):
    line = 0
    for width, begins in zip(widths, breaks(widths, gap, room), strict=True):
        line = width if begins else line + gap + width
        assert begins or line <= room


@given(st.text(), lengths)
def test_a_shortened_text_always_fits_and_is_whole_where_it_can_be(text, room):
    short = shortened(text, room, len)
    assert len(short) <= max(room, 2)
    assert short == text or len(text) > room


def test_the_captions_of_the_curves_have_units_that_fit_the_figure() -> None:
    day_ms = 86_400_000.0
    long = captions("physics step", np.float32([3.0, 0.02]), "budget", day_ms)
    assert long == ["physics step 20.0 µs, budget 24.0 h", "physics step 20.0 µs", "20.0 µs"]
    assert captions("physics step", np.zeros(0, np.float32), "budget", None) == ["physics step -", "-"]
    publishes = np.float32([2.0] * 90 + [20.0] * 10)
    assert publish_captions(publishes)[0] == "publish interval 3.80 ms, p99 20.0 ms"
    assert publish_captions(publishes[:0])[0] == "fewer than two publishes"
