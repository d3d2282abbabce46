"""What the channel's benchmark is asked for. Its rows themselves are tried with the whole benchmark."""

from __future__ import annotations

import pytest

from bench.costs.channel import PAIRS, PAIRS_VARIABLE, pairs_wanted
from twixt.ipc.errors import TwixtError


def test_so_many_pairs_are_read_as_are_asked_for_else_a_share() -> None:
    assert pairs_wanted("10000", share=0.01) == 10_000
    assert pairs_wanted("", share=0.5) == PAIRS // 2


@pytest.mark.parametrize("asked", ["0", "-5", "many", "1.5"])
def test_a_number_of_pairs_that_is_none_is_refused_in_words(asked: str) -> None:
    with pytest.raises(TwixtError, match=f"{PAIRS_VARIABLE} must be a whole number of reads >= 3, got '{asked}'"):
        pairs_wanted(asked, share=1.0)
