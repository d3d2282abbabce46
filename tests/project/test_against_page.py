"""docs/against.md states the limits of `twixt measure --against` with the numbers of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from twixt.cli import differences, run_tables, runs_in_turns

TEXT = re.sub(r"\s+", " ", (Path(__file__).parents[2] / "docs" / "against.md").read_text())


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        (
            r"makes (\S+) runs of each side \(`--repeat`, at least (\S+)\)",
            (runs_in_turns.REPEAT, differences.FEWEST_RUNS),
        ),
        (r"of (\S+) s each", (runs_in_turns.SECONDS,)),
        (r"up to (\S+) figures", (len(run_tables.FIGURES),)),
        (r"at most (\S+) % of \*whole tables\*", (100 * differences.FALSE_ALARMS,)),
        (
            r"other programs used more than (\S+) % of the cores, or the host of a virtual machine used more than (\S+) %",
            (100 * differences.MOST_TAKEN, 100 * differences.MOST_STOLEN),
        ),
        (r"no verdict if fewer than (\S+) % of a side", (100 * runs_in_turns.LEAST_COUNTING,)),
        (r"more than (\S+) % of its median apart", (100 * differences.MOST_SPREAD,)),
    ],
)
def test_the_page_states_the_numbers_of_the_code(sentence: str, values: tuple[float, ...]) -> None:
    found = re.search(sentence, TEXT)
    assert found is not None, sentence
    assert [float(number.replace(",", "")) for number in found.groups()] == pytest.approx(list(values))


def test_the_page_names_the_figure_that_shows_the_noise() -> None:
    assert f"`{differences.STEADY_FIGURE}` are more than" in TEXT
    assert runs_in_turns.MOST_DISTURBED == 0.5
