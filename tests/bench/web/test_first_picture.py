"""`python -m bench first-picture`: its rows from given turns, and the link in the output of a program."""

from __future__ import annotations

import pytest

from bench.processes import process
from bench.web.first_picture import COLUMNS, STAGES, Case, Run, _links


def test_a_row_has_the_median_of_each_stage_and_the_worst_picture() -> None:
    run = Run(Case("80+-20 ms"), [[0.1 * turn + stage for stage in range(len(STAGES))] for turn in (1, 2, 6)])
    assert run.stages_s == pytest.approx([0.2, 1.2, 2.2, 3.2, 4.2])
    assert run.worst_s == pytest.approx(4.6)
    assert [column.text_of(run) for column in COLUMNS] == [
        "80+-20 ms",
        "-",
        "-",
        "0.20",
        "1.20",
        "2.20",
        "3.20",
        "4.20",
        "4.60",
    ]
    assert Run(Case("loopback", True), failure="no page").to_json()["case"] == "from nothing, a humanoid"


def test_the_link_of_a_program_is_found_in_what_it_says() -> None:
    with process(["sh", "-c", "echo 'twixt: browser view: http://127.0.0.1:8123/#token' >&2"]) as said:
        said.wait()
        assert _links(said) == ["http://127.0.0.1:8123/#token"]
