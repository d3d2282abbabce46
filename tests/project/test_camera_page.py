"""docs/camera.md states the rule of the automatic camera with the numbers of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from twixt.render.scene import automatic_camera, body_bounds, followed_view

PAGE = (Path(__file__).parents[2] / "docs" / "camera.md").read_text()
TEXT = re.sub(r"\s+", " ", PAGE)


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        (r"within (\S+) % of the picture, the camera does not move", (100 * automatic_camera.REST_SHARE,)),
        (
            r"At the goal, the bodies take (\S+) % of the picture, and their bounds take at most (\S+) %",
            (100 * automatic_camera.FILLED_SHARE, 100 * automatic_camera.AHEAD_SHARE),
        ),
        (r"three equal poles at (\S+) per second", (automatic_camera.RATE_PER_S,)),
        (r"within (\S+) px of its goal", (automatic_camera.REST_PX,)),
        (r"In the first (\S+) s of a view", (automatic_camera.START_S,)),
        (
            r"the bodies in the last (\S+) s take less than (\S+) % of the picture",
            (automatic_camera.KEPT_S, 100 * automatic_camera.SHRINK_SHARE),
        ),
        (
            r"differ by at most (\S+) % of the width of the bounds in the last (\S+) s",
            (100 * automatic_camera.RETURN_SHARE, automatic_camera.KEPT_S),
        ),
        (
            r"the places of the last (\S+) s would take less than (\S+) % of the picture",
            (automatic_camera.SEEN_S, 100 * automatic_camera.CYCLE_SHARE),
        ),
        (r"by at most (\S+) times their growth", (automatic_camera.GROWTH,)),
        (r"the limit is (\S+) times the mean speed", (automatic_camera.GROWTH,)),
        (r"the bodies still take (\S+) % of", (100 * automatic_camera.LEAST_SHARE,)),
        (
            r"for (\S+) s, the present goal shows the bodies in less than (\S+) % of the picture",
            (automatic_camera.FAR_S, 100 * automatic_camera.LEAST_SHARE),
        ),
        (
            r"(\S+) times as large as the other bodies need. After (\S+) s",
            (body_bounds.FLOWN_FACTOR, body_bounds.FLOWN_OFF_S),
        ),
        (r"goal is more than (\S+) times too far", (1 / automatic_camera.FAR_SHARE,)),
        (
            r"at most (\S+) times a second. With more than (\S+) bodies .* Only the first (\S+) readings",
            (followed_view.SAMPLES_PER_S, followed_view.OFTEN_BODIES, followed_view.FIRST_SAMPLES),
        ),
        (r"If there are more than (\S+) bodies", (followed_view.MOST_BODIES,)),
    ],
)
def test_the_page_states_the_numbers_of_the_code(sentence: str, values: tuple[float, ...]) -> None:
    found = re.search(sentence, TEXT)
    assert found is not None, sentence
    assert [float(number.replace(",", "")) for number in found.groups()] == pytest.approx(list(values))


def test_the_page_states_in_words_the_numbers_of_the_code() -> None:
    words = {
        "to half a second later": body_bounds.AHEAD_S == 0.5,
        "their growth of the last half second": automatic_camera.NEWEST_S == 0.5,
        "within a minute": body_bounds.MEMORY_S == 60,
        "the limit of growth is half as large": automatic_camera.CYCLE_GROWTH == 0.5,
        "one and a half such cycles": automatic_camera.CYCLES == 1.5,
        "takes a third of the picture at most": pytest.approx(1 / 3) == automatic_camera.ALONE_SHARE,
        "At most a tenth of the bodies": pytest.approx(0.1) == body_bounds.FLOWN_SHARE,
        "of 3 to 19 bodies, one": body_bounds.LEAST_OTHERS == 3 - 1,
    }
    assert words == dict.fromkeys(words, True)
    assert [sentence for sentence in words if sentence not in TEXT] == []
