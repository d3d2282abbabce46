"""docs/conventions.md states the numbers of the code."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from twixt.ipc.snapshot import CORRECTION_TAU_NS
from twixt.sim.show.real_time import LEAST_MADE_GOOD, LONGEST_LATENESS_NS
from twixt.sim.world.body_fields import HALF_MAX, HALF_ZERO
from twixt.sim.world.state_checks import CHECKS_OF_A_SAMPLE, FARTHEST, LOOK_INTERVAL_S, MOST_WATCHED, SMALLEST_M

PAGE = (Path(__file__).parents[2] / "docs" / "conventions.md").read_text()
TEXT = re.sub(r"\s+", " ", PAGE)
METRES = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3}
SPACING = re.compile(r"^\| ([\d,]+) (k?m)[^|]*\| (\S+) (mm|cm|m) \|$", re.MULTILINE)


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        (r"at most (\S+)\. The resolution", (HALF_MAX,)),
        (r"coarser below\. A scale below (\S+) becomes 0", (HALF_ZERO,)),
        (r"Shapes may be from (\S+) to (\S+) units", (SMALLEST_M, FARTHEST)),
        (r"a time constant of (\S+) s of simulated time", (CORRECTION_TAU_NS / 1e9,)),
        (r"So (\S+) % of the offset is left after 0.1 s, and (\S+) % after 0.3 s", (100 / math.e, 100 / math.e**3)),
        (r"with more than (\S+) bodies, a sample has (\S+) bodies", (MOST_WATCHED, MOST_WATCHED)),
        (r"chooses a new sample every (\S+) s", (CHECKS_OF_A_SAMPLE * LOOK_INTERVAL_S,)),
        (
            r"late by more than (\S+) s \(or (\S+) `dt`",
            (LONGEST_LATENESS_NS / 1e9, LEAST_MADE_GOOD),
        ),
    ],
)
def test_the_page_states_the_numbers_of_the_code(sentence: str, values: tuple[float, ...]) -> None:
    found = re.search(sentence, TEXT)
    assert found is not None, sentence
    assert [float(number.replace(",", "")) for number in found.groups()] == pytest.approx(list(values), rel=0.02)


def test_the_page_states_the_spacing_of_float32() -> None:
    rows = SPACING.findall(PAGE)
    assert len(rows) == 6
    for far, far_unit, spacing, unit in rows:
        far_m, spacing_m = float(far.replace(",", "")) * METRES[far_unit], float(spacing) * METRES[unit]
        assert spacing_m == pytest.approx(np.spacing(np.float32(far_m)), rel=0.2), far
