"""Texts of a program over the picture: what is sent is received, and what cannot be shown is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.overlay import (
    LONGEST_TEXT,
    MOST_TEXTS,
    PLACES,
    OverlayText,
    checked_texts,
    texts_as_message,
    texts_from_message,
)
from twixt.ipc.session import messages


def test_texts_are_received_as_they_were_sent_and_long_ones_are_cut() -> None:
    texts = [OverlayText(place, f"at\n{place}", "b", 0.5 + number) for number, place in enumerate(PLACES)]
    received = json.loads(json.dumps(texts_as_message(texts)))
    assert texts_from_message(received) == tuple(texts)
    assert messages.status({"texts": received})["texts"] == tuple(texts)
    assert len(OverlayText(text="x" * 5000).text) == LONGEST_TEXT
    assert len(texts_as_message([OverlayText()] * 99)) == MOST_TEXTS


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        [["top"]] * (MOST_TEXTS + 1),
        [["middle"]],
        [[["top"]]],
        [["top", 5]],
        [["top", "a", "b", "c"]],
        [["top", "a", "b", float("nan")]],
        [["top", "a", "b", 100]],
        [["top", "a", "b", True]],
        [["top", "a", "b", 1.0, 2]],
        [5],
    ],
)
def test_what_cannot_be_shown_is_refused(value: Any) -> None:
    with pytest.raises(TwixtError):
        texts_from_message(value)
    with pytest.raises(TwixtError):
        messages.status({"texts": value})


@pytest.mark.parametrize("wrong", [5, "top", None, ["top"], [OverlayText(), None], {"top": "text"}])
def test_what_a_program_gives_in_place_of_texts_is_refused(wrong: Any) -> None:
    assert checked_texts("View.set_texts", iter([OverlayText()])) == [OverlayText()]
    with pytest.raises(TwixtError, match="View.set_texts takes a list of OverlayText, got "):
        checked_texts("View.set_texts", wrong)
