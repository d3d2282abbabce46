"""Half a minute of the soak in every run of the suite (`make soak` takes an hour), and its judgement on made figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.displays.rigs import Display
from tests.long.soak.flatness import MIB, Sample, Window, findings_of, pace_of, slope_mib_per_h, windows
from tests.long.soak.soak import soak, table

SECONDS = 25.0


@pytest.mark.display
def test_whoever_comes_and_goes_physics_and_a_viewer_keep_their_descriptors_threads_and_memory(
    xvfb_screen: Display, tmp_path: Path
) -> None:
    made, (*findings, present_s) = soak(xvfb_screen, tmp_path, SECONDS, 3, print)
    print(table(made, findings, SECONDS))
    assert len(present_s) > 2
    assert len(made.visits) > 2
    assert [one for one in findings if not one.is_flat and "interval" not in one.what] == []


def steady(held_mib: float = 100.0) -> list[Sample]:
    return [Sample(float(s), round(held_mib * MIB), 10, 3) for s in range(0, 3600, 5)]


def test_of_an_hour_the_first_ten_minutes_after_the_first_stand_beside_the_last_ten() -> None:
    first, last = windows(3600.0)
    assert first == Window(60.0, 660.0)
    assert last.begin_s == 3000.0


def test_what_stays_as_it_was_is_flat_though_visitors_come() -> None:
    samples = [s._replace(descriptors=13) if n % 3 else s for n, s in enumerate(steady())]
    assert [one.is_flat for one in findings_of("it", samples, 3600.0)] == [True, True, True]
    assert slope_mib_per_h(samples, 3600.0) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("field", ["descriptors", "threads"])
def test_one_descriptor_or_thread_more_is_not_flat(field: str) -> None:
    samples = [s._replace(**{field: getattr(s, field) + (s.at_s > 2000)}) for s in steady()]
    assert [one.what for one in findings_of("it", samples, 3600.0) if not one.is_flat] == [f"it: {field}"]


def test_memory_that_grows_is_not_flat_unless_it_is_kept_on_purpose() -> None:
    grows = [s._replace(held_bytes=s.held_bytes + round(s.at_s / 3600 * 10 * MIB)) for s in steady()]
    assert [one.is_flat for one in findings_of("it", grows, 3600.0)] == [False, True, True]
    assert slope_mib_per_h(grows, 3600.0) == pytest.approx(10, rel=1e-3)
    kept = [s._replace(kept_bytes=round(s.at_s / 3600 * 10 * MIB)) for s in grows]
    assert findings_of("it", kept, 3600.0)[0].is_flat


def test_frames_that_come_later_in_the_end_are_not_flat() -> None:
    even = np.arange(0, 3600, 1 / 60)
    assert pace_of(even, 3600.0).is_flat
    slower = np.concatenate((np.arange(0, 3000, 1 / 60), np.arange(3000, 3600, 1 / 40)))
    assert not pace_of(slower, 3600.0).is_flat


def test_a_soak_without_samples_of_its_end_says_so() -> None:
    with pytest.raises(ValueError, match="no samples of it"):
        findings_of("it", steady()[:10], 3600.0)
