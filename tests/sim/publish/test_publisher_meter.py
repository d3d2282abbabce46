from __future__ import annotations

from twixt.sim.publish.publisher import KEPT_SAMPLES, LATE_NS, Meter, Samples


def test_what_was_not_measured_is_null_and_never_0() -> None:
    report = Meter().report()
    for block in ("rate", "step_ms", "publish_ms", "lead_ms"):
        assert set(report[block].values()) == {None}


def test_the_block_has_the_keys_of_the_report() -> None:
    keys = {"steps", "published", "dropped", "late", "rate", "step_ms", "publish_ms", "lead_ms"}
    assert keys <= Meter().report().keys()


def test_counts_and_samples_come_out_as_they_went_in() -> None:
    meter = Meter()
    for cost_ms in (1, 2, 3):
        meter.stepped(cost_ms * 1_000_000)
    meter.published_at(due_ns=10**9, published_ns=10**9 - 5_000_000, cost_ns=20_000, rate=1.0)
    meter.published_at(due_ns=10**9, published_ns=10**9 + LATE_NS, cost_ns=20_000, rate=0.5)
    meter.published_at(due_ns=10**9, published_ns=10**9 + LATE_NS + 1, cost_ns=20_000, rate=0.0)
    meter.gave_up(1_500_000_000, steps=90)
    report = meter.report()
    assert (report["steps"], report["published"], report["late"], report["dropped"]) == (3, 3, 1, 90)
    assert report["step_ms"]["mean"] == 2
    assert report["lead_ms"]["max"] == 5
    assert report["rate"]["mean"] == 0.75
    assert report["given_up_ms"] == 1500


def test_the_latest_samples_are_kept_and_no_more() -> None:
    samples = Samples()
    for value in range(KEPT_SAMPLES + 10):
        samples.add(value)
    kept = list(samples.column())
    assert len(kept) == KEPT_SAMPLES
    assert min(kept) == 10
    assert max(kept) == KEPT_SAMPLES + 9


def test_a_loop_reports_its_publish_intervals_and_nothing_that_twixt_does_not_know() -> None:
    meter = Meter()
    assert set(meter.loop_report()["publish_interval_ms"].values()) == {None}
    for published_ns in (5 * 10**9, 5 * 10**9 + 2_000_000, 5 * 10**9 + 6_000_000):
        meter.published_at(due_ns=published_ns, published_ns=published_ns, cost_ns=20_000, rate=1.0)
    report = meter.loop_report()
    assert report["published"] == 3
    assert (report["publish_interval_ms"]["mean"], report["publish_interval_ms"]["max"]) == (3.0, 4.0)
    assert not {"steps", "step_ms", "lead_ms", "late"} & report.keys()
