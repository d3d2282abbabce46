"""Times from publishing to the page, from given rows of its frame log."""

from __future__ import annotations

import pytest

from bench.web.publish_delay import publish_delays


def test_a_snapshot_counts_once_from_its_publishing_to_its_arrival_and_its_first_frame() -> None:
    ms = 1e6
    columns = {
        "presentNs": [117 * ms, 133 * ms, 150 * ms, 167 * ms], "refreshMs": [16] * 4, "latenessMs": [1] * 4, "workMs": [2] * 4,
        "newestPublishedNs": [90 * ms, 110 * ms, 110 * ms, 140 * ms], "newestArrivalNs": [91 * ms, 112 * ms, 112 * ms, 145 * ms],
        "usedPublishedNs": [80 * ms, 90 * ms, 110 * ms, 110 * ms],
    }  # fmt: skip
    found = publish_delays(columns)
    assert found["arrival"] == pytest.approx({"p50": 3.5, "p99": 4.97, "max": 5})  # 112 - 110 and 145 - 140
    assert found["drawn"]["max"] == pytest.approx(133 - 16 + 1 + 2 - 90)
    assert found["present"]["max"] == pytest.approx(133 - 90)
    assert publish_delays({name: values[:1] for name, values in columns.items()})["drawn"] == {}
