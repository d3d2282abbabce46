"""docs/drawing.md states the quality levels with the names and numbers of the code."""

from __future__ import annotations

import math
import re
from itertools import accumulate
from pathlib import Path

import pytest

from twixt.ipc.scene.material import MOST_SIDE_PX
from twixt.ipc.scene.scene import LOOKS, MOST_BRIGHTNESS
from twixt.render.draw import quality
from twixt.render.draw.shapes.shadows import MOST_SHADOWS

PAGE = (Path(__file__).parents[2] / "docs" / "drawing.md").read_text()
TEXT = re.sub(r"\s+", " ", PAGE)


def test_the_page_has_all_levels_in_order() -> None:
    names = re.findall(r"^\| `([a-z ]+)` \| [^|]*\|", PAGE, re.MULTILINE)
    levels = [level.name for level in (*quality.LIT_LEVELS, *quality.LEVELS)]
    start = names.index(levels[0])
    assert names[start : start + len(levels)] == levels


def test_the_page_has_the_times_of_the_levels() -> None:
    times = [round(100 * share) for share in accumulate((level.share for level in quality.LEVELS), lambda a, b: a * b)]
    for level, time in zip(quality.LEVELS, times, strict=True):
        assert re.search(rf"^\| `{level.name}` \|.*\| {time} %", PAGE, re.MULTILINE), level.name


def test_the_page_has_all_looks() -> None:
    assert re.findall(r'^\| `"(\w+)"`', PAGE, re.MULTILINE) == list(LOOKS)


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        (r"from 0 to (\S+) \|", (MOST_BRIGHTNESS,)),
        (r"at most (\S+) pixels a side", (MOST_SIDE_PX,)),
        (r"more than (\S+) bodies has no round shadows", (MOST_SHADOWS,)),
        (
            r"after (\S+) to (\S+) frames that take longer .* a cheaper level after (\S+) frames",
            (quality.AT_ONCE, quality.JUDGED, quality.BLOCK * quality.BLOCKS),
        ),
        (
            r"below (\S+) % of the display's interval for (\S+) s, or below (\S+) % for (\S+) s",
            (
                100 * quality.FITS_EASILY,
                quality.SHORT_WAIT_NS / 1e9,
                100 * quality.FITS_FINER,
                quality.FIRST_WAIT_NS / 1e9,
            ),
        ),
    ],
)
def test_the_page_states_the_numbers_of_the_code(sentence: str, values: tuple[float, ...]) -> None:
    found = re.search(sentence, TEXT)
    assert found is not None, sentence
    assert [float(number.replace(",", "")) for number in found.groups()] == pytest.approx(list(values))


def test_the_page_names_the_coarsest_level_of_a_shortage_of_cores() -> None:
    assert quality.LEVELS[quality.SPARING].name == "plain"
    assert quality.CHEAPEST.name == "flat"
    assert math.isclose(quality.LONGEST_WAIT_NS, 600e9)  # "up to ten minutes"
