"""Figures of the page's frame log, held to those of `render/measure` on the same frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.web.in_node import run_in_node
from twixt.render.measure.frame_rows import FrameRow, FrameTable
from twixt.render.measure.run_figures import measure

REFRESH_MS = 1000 / 60
# The page's clock has another origin than the server's.
ORIGIN_NS = 7_000_000_000
SCRIPT = """
const {FrameLog, RefreshInterval} = await import(WEB + "frame_log.js");
const {runs, stamps} = given;
const figures = runs.map((rows) => {
  const log = new FrameLog(7200);
  for (const {rested, ...row} of rows) log.add(row, rested);
  return log.figures();
});
const small = new FrameLog(100);
for (let i = 0; i < 250; i++) small.add({timestampMs: 10 * i, mode: i % 2 ? "held" : "interpolated", reason: "r" + i});
const refreshes = stamps.map((list) => {
  const refresh = new RefreshInterval();
  return list.map((stamp) => { refresh.observe(stamp); return refresh.ms; });
});
const timed = new FrameLog(100);
for (let i = 0; i < 60; i++) {
  const arrivalNs = 5e9 + 1e6 + (i % 20 ? 0 : 40e6);
  timed.add({timestampMs: 16 * i, refreshMs: 16, latenessMs: 2, newestPublishedNs: 5e9, newestArrivalNs: arrivalNs});
}
answer({
  figures, refreshes, leads: [small.leadNs(), timed.leadNs()],
  kept: [small.count, small.rows().length, small.rows()[0], small.rows(0.05).map((row) => row.mode)],
});
"""


def run(seed: int, frames: int = 900, hz: float = 60.0) -> list[dict[str, Any]]:
    """Frames of a simulation that is paused, slowed and reset on its way, some of them late, some after a rest."""
    rng = np.random.default_rng(seed)
    period_ns = 1e9 / hz
    refreshes = np.cumsum(rng.choice([1, 1, 1, 1, 2, 3], frames))
    refreshes[frames // 3 :] += 400
    stamps_ms = np.round(refreshes * REFRESH_MS, 1)
    rows: list[dict[str, Any]] = []
    for i in range(frames):
        present_ns = float(round(stamps_ms[i] * 1e6) + ORIGIN_NS)
        epoch = int(i > 650)
        plan_rate = 0.0 if 200 < i < 230 else 0.5 if i > 420 else 1.0
        tick = int((present_ns - ORIGIN_NS) // period_ns)
        newest_due_ns, newest_sim_ns = round(tick * period_ns) + ORIGIN_NS, round(tick * period_ns * (plan_rate or 1.0))
        is_held = i > 5 and rng.random() < 0.1
        draw_ns = rows[-1]["drawNs"] if is_held else round(newest_sim_ns - 12e6 + rng.normal(0, 1e6))
        rows.append(
            {
                "timestampMs": float(stamps_ms[i]), "presentNs": present_ns, "drawNs": draw_ns, "share": 0.5,
                "mode": "none" if i < 5 else "held" if is_held else "interpolated",
                "rate": 0.9, "offsetNs": int(rng.integers(-5_000_000, 30_000_000)),
                "drawDueNs": newest_due_ns - 12_000_000, "usedPublishedNs": newest_due_ns - 1_000_000,
                "newestTick": tick, "newestSimNs": newest_sim_ns, "newestDueNs": newest_due_ns,
                "worldEpoch": epoch, "planNumber": 1, "planRate": plan_rate, "refreshMs": REFRESH_MS,
                "workMs": float(rng.gamma(2)), "rested": i == frames // 3,
            }
        )  # fmt: skip
    return rows


def native_figures(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    table = FrameTable.of(
        FrameRow(
            frame=i, present_ns=round(row["presentNs"]), start_ns=0, work_end_ns=round(row["workMs"] * 1e6),
            draw_time_ns=row["drawNs"], mode=row["mode"], rate=row["rate"], offset_ns=row["offsetNs"],
            draw_due_ns=row["drawDueNs"], used_published_ns=row["usedPublishedNs"], newest_tick=row["newestTick"],
            newest_sim_time_ns=row["newestSimNs"], newest_due_ns=row["newestDueNs"], world_epoch=row["worldEpoch"],
            plan_rate=row["planRate"], pacer_interval_ns=round(REFRESH_MS * 1e6), rested_ns=int(row["rested"]),
        )
        for i, row in enumerate(rows)
    )  # fmt: skip
    return measure(table, swap_blocks=False).sections


RUNS = [run(1), run(2, hz=20), run(3, hz=5), run(4, frames=40), run(5, frames=6)]
STAMPS = {
    "60 Hz, a third of the frames missing": np.cumsum(np.tile([1, 1, 2, 1, 3], 60)) * REFRESH_MS,
    "144 Hz": np.arange(400) * 1000 / 144,
    "half of the refreshes": np.arange(400) * 2 * REFRESH_MS,
}


@pytest.fixture(scope="module")
def answers() -> Any:
    stamps = [np.round(list_ms, 1).tolist() for list_ms in STAMPS.values()]
    return run_in_node(SCRIPT, {"runs": RUNS, "stamps": stamps})


@pytest.mark.parametrize("case", range(len(RUNS)))
def test_figures_are_those_of_the_native_report(answers: Any, case: int) -> None:
    mine, native = answers["figures"][case], native_figures(RUNS[case])
    frames, motion, latency = native["frames"], native["motion"], native["latency"]
    expected = {
        "count": frames["count"], "seconds": frames["seconds"], "meanFps": frames["mean_fps"],
        "intervalMs": frames["interval_ms"], "deviationMs": frames["deviation_ms"],
        "missedRefreshes": frames["missed_refreshes"], "distinctShare": motion["distinct_share"],
        "heldShare": motion["held_share"], "reversals": motion["reversals"], "leftOut": motion["left_out"],
        "animationErrorMs": motion["animation_error_ms"], "sampleAgeMs": motion["sample_age_ms"],
        "simToPresentMs": latency["sim_to_present_ms"], "offsetMs": motion["offset_ms"],
    }  # fmt: skip
    for name, value in expected.items():
        is_missing = value is None or (isinstance(value, dict) and None in value.values())
        assert mine[name] == (value if is_missing else pytest.approx(value, rel=1e-6, abs=1e-6)), name


def test_some_runs_have_an_animation_error_and_short_ones_have_none(answers: Any) -> None:
    errors = [figures["animationErrorMs"]["p99"] for figures in answers["figures"]]
    assert errors[-1] is None
    assert min(errors[:2]) > 0


def test_the_log_keeps_its_last_frames(answers: Any) -> None:
    count, rows, first, modes = answers["kept"]
    assert (count, rows, first["frame"], first["timestampMs"], first["reason"]) == (250, 100, 150, 1500, "r150")
    assert modes == ["interpolated", "held"] * 3


def test_the_refresh_interval_is_found_with_missing_frames_and_steps_of_a_tenth_of_a_ms(answers: Any) -> None:
    for (name, stamps), found in zip(STAMPS.items(), answers["refreshes"], strict=True):
        single = np.median(np.diff(stamps)) if "third" not in name else REFRESH_MS
        assert found[-1] == pytest.approx(single, rel=2e-3), name
        assert max(abs(np.diff(found[-100:]))) < 0.02, name


def test_the_lead_is_the_way_of_a_snapshot_and_the_rest_of_the_frame(answers: dict[str, Any]) -> None:
    assert answers["leads"] == [0, 1_000_000 + 14_000_000]  # a snapshot in twenty is late
