"""`python -m bench pull`: its rows from given times."""

from __future__ import annotations

import numpy as np
import pytest

from bench.web.pull_bench import COLUMNS, DRAG, KINDS, STAGES, Run, rows_of


def test_each_kind_of_act_has_a_row_and_counts_as_in_time_within_a_step_and_a_frame() -> None:
    times_ms = np.full((2 * len(DRAG), len(STAGES)), 5.0)
    times_ms[[1, 5], 3] = 10.0, 5.9  # moves: of four, one takes 25 ms
    rows = rows_of([Run(240, times_ms), Run(60, failure="no page")])
    assert [(row.kind, len(row.stages_ms)) for row in rows] == [("press", 2), ("move", 4), ("release", 2)]
    assert [row.kind for row in rows] == list(KINDS)
    assert rows[1].target_ms == pytest.approx(1000 / 240 + 1000 / 60)
    assert rows[1].within == 0.5
    assert rows[1].to_json()["act to step"] == pytest.approx({"p50": 20.45, "p99": 24.8, "max": 25.0}, abs=0.1)
    assert [column.text_of(rows[0]) for column in COLUMNS][:4] == ["240", "press", "2", "5.0 / 5.0"]
