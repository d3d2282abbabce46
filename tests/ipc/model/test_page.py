"""The page is of this code: it shows its sequence, and each piece that can be removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ipc.model import event_ring, page
from tests.ipc.model.channel import FENCES, FIRST_LOOK, LOOKS, PLAN_FENCES, PLAN_LOOKS

TEXT = (Path(__file__).parents[3] / "docs" / "channel.md").read_text()


def test_the_page_shows_the_sequence_as_it_is():
    assert page.figure() in TEXT, "type what docs/channel.md says at its head"
    assert page.figure_of_events() in TEXT, "type what docs/channel.md says at its head"


@pytest.mark.parametrize(
    "name",
    [
        piece.name
        for pieces in (FENCES, LOOKS, [FIRST_LOOK], PLAN_FENCES, PLAN_LOOKS, event_ring.FENCES, event_ring.LOOKS)
        for piece in pieces
    ],
)
def test_the_page_says_what_breaks_without_each_piece(name: str):
    assert f"| {name} |" in TEXT


@pytest.mark.parametrize("story", [story for story, _, _ in (*page.STORIES, *page.EVENT_STORIES)])
def test_the_page_counts_the_states_of_each_story(story: str):
    assert f"| {story} |" in TEXT
