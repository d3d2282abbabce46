"""The function that viewers call: one record a call."""

from __future__ import annotations

import io

import numpy as np
import pytest

from bench.events import recorder
from bench.events.event_world import emission
from bench.events.recorder import DELIVERED, record
from twixt.ipc.ring.events import Event


@pytest.mark.parametrize("is_many", [False, True])
def test_each_call_is_a_record_that_says_whether_the_event_is_intact(
    is_many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = io.BytesIO()
    monkeypatch.setattr(recorder, "_files", [file])
    name, body, strength, text = emission(8, is_many)
    values = (8.0, float(is_many))
    record(Event(name, 1.5, body, None, strength, values, text, 12.5))
    record(Event(name, 1.5, body, None, strength, values, "another text", 12.5))
    rows = np.frombuffer(file.getvalue(), DELIVERED)
    assert rows["number"].tolist() == [8, 8]
    assert rows["sim_time_ns"].tolist() == [1_500_000_000] * 2
    assert rows["late_ms"].tolist() == [12.5] * 2
    assert rows["is_intact"].tolist() == [True, False]
