"""The report: its keys, what is null and why."""

import json

import pytest

from tests.render.measure.runs import FRAME_NS, MS, START_NS, even
from twixt.ipc.config.flags import Config
from twixt.render.measure import report
from twixt.render.measure.frame_log import FrameLog, read_log
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.measure.report_keys import START_PHASES, check

SPREAD = {"mean", "p50", "p90", "p99", "max"}
# As they were agreed, by hand: a key that goes missing or changes its name breaks other people's readers.
KEYS = {
    "display": "backend renderer refresh_reported_hz refresh_measured_hz swap_blocks present_source",
    "frames": "count seconds mean_fps interval_ms{} deviation_ms{} missed_refreshes hitch_ms_per_s low_1_percent_fps "
    "cpu_ms{} gpu_ms{}",
    "motion": "distinct_share held_share extrapolated_share reversals left_out animation_error_ms{} judder{} sample_age_ms{} group_age_ms{} offset_ms{}",
    "physics": "steps published dropped late rate{} step_ms{} publish_ms{} lead_ms{}",
    "channel": "pairs_read retries pairs_failed skipped bytes_per_snapshot",
    "latency": "first_frame_ms first_frame_parts_ms sim_to_present_ms{} input_to_present_ms{}",
    "pacer": "policy quality interval_ms{} widened narrowed wake_error_us{}",
    "causes": "physics_late render_late display_late render_late_parts",
    "events": "emitted dropped delivered lost reset pending late_ms{}",
}
PHYSICS = {
    "physics": {"steps": 100, "published": 99, "dropped": 1, "late": 0, "rate": dict.fromkeys(SPREAD, 1.0),
                "world": "balls"},
    "channel": {"pairs_read": 5, "retries": 0, "pairs_failed": 0, "skipped": 0, "bytes_per_snapshot": 640},
}  # fmt: skip
DISPLAY = {"backend": "x11", "renderer": "llvmpipe", "refresh_reported_hz": None, "refresh_measured_hz": None,
           "swap_blocks": False}  # fmt: skip


def built(rows=None, physics=PHYSICS, **other):
    config = Config(command="twixt measure", pacing="timer")
    return report.build(
        report.FinishedRun(even(120) if rows is None else rows, physics, DISPLAY, config, ["two free cores"], **other)
    )


@pytest.mark.parametrize(
    "rows", [[], even(1), even(120), [FrameRow()] * 3], ids=["none", "one", "many", "nothing drawn"]
)
def test_every_key_is_always_there(rows):
    made = built(rows)
    assert list(made) == ["schema", "version", "command", "machine", "conditions", *KEYS]
    for section, names in KEYS.items():
        for name in names.split():
            value = made[section][name.removesuffix("{}")]
            assert not name.endswith("{}") or set(value) == SPREAD, name
    assert len(made["frames"]["low_1_percent_fps"]) >= 3


def test_the_figures_are_those_of_the_run():
    made = built(first_frame_ms=321.0)
    assert made["frames"]["count"] == 120
    assert made["frames"]["mean_fps"] == pytest.approx(60, rel=1e-4)
    assert made["frames"]["seconds"] == pytest.approx(119 / 60, rel=1e-4)
    assert made["frames"]["cpu_ms"]["p99"] == pytest.approx(4.0)
    assert made["frames"]["missed_refreshes"] == 0
    assert made["motion"]["distinct_share"] == 1.0
    assert made["motion"]["held_share"] == 0.0
    assert made["motion"]["reversals"] == 0
    assert made["motion"]["animation_error_ms"]["max"] == pytest.approx(0, abs=1e-3)
    assert made["motion"]["sample_age_ms"]["p50"] == 0.0
    assert made["latency"]["sim_to_present_ms"]["p50"] == pytest.approx(8.0)
    assert made["latency"]["first_frame_ms"] == 321.0
    assert made["pacer"]["policy"] == "timer"
    assert made["pacer"]["wake_error_us"]["p50"] == pytest.approx(2.0)
    assert made["physics"]["steps"] == 100
    assert made["channel"]["bytes_per_snapshot"] == 640
    assert "two free cores" in made["conditions"]


def test_the_parts_of_the_start_are_those_of_both_processes():
    viewers = {"viewer_spawn": 30.0, "viewer_first_frame": 291.0}
    parts = built(
        physics=PHYSICS | {"start": {"physics_world": 12.0}}, first_frame_ms=321.0, first_frame_parts_ms=viewers
    )["latency"]["first_frame_parts_ms"]
    assert list(parts) == list(START_PHASES)
    assert {part: ms for part, ms in parts.items() if ms is not None} == viewers | {"physics_world": 12.0}


def test_mean_fps_is_of_the_time_and_not_of_the_fps():
    rows = [row._replace(present_ns=START_NS + at * MS) for row, at in zip(even(3), (0, 10, 40), strict=True)]
    assert built(rows)["frames"]["mean_fps"] == pytest.approx(2 / 0.040)


def test_shares_are_of_the_frames_in_which_the_world_ran():
    rows = even(101)
    for i in range(41, 61):
        rows[i] = rows[i]._replace(draw_time_ns=rows[40].draw_time_ns, mode="held")
    motion = built(rows)["motion"]
    assert motion["held_share"] == pytest.approx(0.20)
    assert motion["distinct_share"] == pytest.approx(0.80)


def test_the_age_of_what_stood_through_a_pause_is_no_age():
    rows = [row._replace(plan_rate=0.0 if 90 <= row.frame < 150 else 1.0) for row in even(240)]
    rows[90:160] = [row._replace(draw_due_ns=rows[89].draw_due_ns) for row in rows[90:160]]
    assert built(rows)["motion"]["sample_age_ms"]["max"] == 0.0


def test_the_latency_of_input_is_from_the_users_act_to_the_frame_that_shows_it():
    rows = even(60)
    rows[30] = rows[30]._replace(input_acted_ns=rows[30].present_ns - 25 * MS)
    made = built(rows)
    assert made["latency"]["input_to_present_ms"]["max"] == pytest.approx(25.0)
    assert built()["latency"]["input_to_present_ms"]["max"] is None


def test_widenings_and_narrowings_of_the_pacer_are_counted_but_not_its_drift():
    lengths = [FRAME_NS] * 20 + [FRAME_NS + 50_000] * 20 + [24 * MS] * 20 + [20 * MS] * 10 + [FRAME_NS] * 10
    rows = [row._replace(pacer_interval_ns=length) for row, length in zip(even(80), lengths, strict=True)]
    assert (built(rows)["pacer"]["widened"], built(rows)["pacer"]["narrowed"]) == (1, 2)


@pytest.mark.parametrize("rows", [[], even(120), [FrameRow()] * 3], ids=["none", "many", "nothing drawn"])
def test_whatever_is_null_is_named_in_the_conditions(rows):
    made = built(rows, physics=None)
    said = " ".join(made["conditions"])
    for section in KEYS:
        for key, value in made[section].items():
            if value is None or (isinstance(value, dict) and set(value.values()) == {None}):
                assert f"{section}.{key}" in said or f" {section}" in said, f"{section}.{key}"


def test_without_physics_answer_its_rate_is_the_one_seen():
    made = built(physics=None)
    assert made["physics"]["rate"]["p50"] == 1.0
    assert made["physics"]["steps"] is None
    assert any("physics did not send its figures" in line for line in made["conditions"])


def test_figures_beyond_the_agreed_ones_stay():
    assert built()["physics"]["world"] == "balls"


def test_what_this_viewer_counted_stands_before_what_physics_says():
    assert built(channel={"pairs_read": 77})["channel"]["pairs_read"] == 77


def test_a_blocking_display_is_reported_with_the_refresh_of_the_whole_run():
    display = DISPLAY | {"swap_blocks": True, "refresh_measured_hz": 61.0}
    rows = even(240, planned_refreshes=1)
    made = report.build(report.FinishedRun(rows, PHYSICS, display, Config()))
    assert made["display"]["refresh_measured_hz"] == pytest.approx(60, rel=1e-3)


def test_a_log_alone_gives_the_same_motion_and_says_what_it_cannot_know(tmp_path, capsys):
    path, out = tmp_path / "run.csv", tmp_path / "report.json"
    log = FrameLog(str(path))
    for row in even(120):
        log.add(row)
    log.close()
    assert report.report_log(str(path), str(out), str(tmp_path / "plot.png")) == 0
    made = json.loads(out.read_text())
    direct = json.loads(json.dumps(built()))
    assert made["frames"] == direct["frames"]
    assert made["motion"] == direct["motion"]
    assert made["causes"] == direct["causes"]
    assert made["physics"]["steps"] is None
    assert "from a frame log alone" in made["conditions"][0]
    assert (tmp_path / "plot.png").stat().st_size > 1000
    printed = capsys.readouterr().out
    assert "60.0 fps" in printed
    assert printed.startswith("Even: 99 % of frames within")
    assert "motion.animation_error_ms" not in printed
    report.report_log(str(path), full=True)
    assert "motion.animation_error_ms" in capsys.readouterr().out


def test_the_printed_report_says_what_was_bad(capsys):
    rows = even(90)
    rows[50] = rows[50]._replace(draw_time_ns=rows[49].draw_time_ns, mode="held")
    report.show(built(rows))
    assert "Uneven: 2 of 90 frames; physics was late in 2 of them." in capsys.readouterr().out.replace("\n", " ")


def test_a_run_that_showed_nothing_is_printed_all_the_same(capsys):
    report.show(built([], physics=None))
    assert "Nothing was measured" in capsys.readouterr().out


def test_a_refresh_that_the_frames_contradict_is_the_probes_and_said():
    rows = [row._replace(planned_refreshes=1) for row in even(200, interval_ns=10 * MS)]
    display = DISPLAY | {"swap_blocks": True, "refresh_measured_hz": 86.0}
    made = report.build(report.FinishedRun(rows, PHYSICS, display, Config()))
    assert made["display"]["refresh_measured_hz"] == 86.0
    assert any("shows late frames at once" in said for said in made["conditions"])
    agreeing = report.build(report.FinishedRun(rows, PHYSICS, display | {"refresh_measured_hz": 99.0}, Config()))
    assert agreeing["display"]["refresh_measured_hz"] == pytest.approx(100.0, rel=1e-3)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("display", "is the time that the display reported"),
        ("fence", "the end of its fence"),
        ("swap", "the present time of a frame is the return of its swap (for motion"),
        ("timer", "does not wait for the display"),
    ],
)
def test_the_source_of_presents_is_a_figure_and_its_meaning_a_condition(source, says):
    rows = even(90, present_source=source, planned_refreshes=int(source != "timer"))
    made = report.build(report.FinishedRun(rows, PHYSICS, {}, Config()))
    assert made["display"]["present_source"] == source
    assert any(says in line for line in made["conditions"])
    assert not any("of an older version" in line for line in made["conditions"])


def test_the_source_of_presents_is_what_most_rows_say_whatever_the_window_says_at_the_end():
    rows = [row._replace(present_source="swap" if row.frame % 3 else "fence") for row in even(90, planned_refreshes=1)]
    rows[0] = rows[0]._replace(probe=True, present_source="timer")
    assert (
        report.build(report.FinishedRun(rows, PHYSICS, {"present_source": "display"}, Config()))["display"][
            "present_source"
        ]
        == "swap"
    )


def test_it_is_said_how_far_the_swaps_return_was_off_where_the_display_spoke():
    rows = [
        row._replace(swap_end_ns=row.present_ns + 3 * MS, display_present_ns=row.present_ns, present_source="display")
        for row in even(90)
    ]
    said = " ".join(built(rows)["conditions"])
    assert "the display reported the present times of 90 of 90 frames" in said
    assert "the median swap returned 3.00 ms after its frame was shown" in said


def test_the_report_names_the_quality_levels_over_time_if_there_were_several():
    rows = even(180)
    levels = ["full"] * 60 + ["plain"] * 90 + ["no shadows"] * 30
    said = built([row._replace(quality=level) for row, level in zip(rows, levels, strict=True)])["conditions"]
    assert (
        "the quality level changed during the run: full for 1.0 s, then plain for 1.5 s, then no shadows for 0.5 s"
        in said
    )

    one = [row._replace(quality="full") for row in rows]
    assert not any("quality level" in line for line in built(one)["conditions"])

    many = [row._replace(quality="full" if row.frame % 2 else "plain") for row in rows]
    assert any(line.endswith(", and 172 more") for line in built(many)["conditions"])


def test_an_older_log_is_read_and_said_to_be_one():
    said = built()["conditions"]
    assert any("the log is of an older version" in line for line in said)
    assert any("causes.render_late_parts" in line for line in said)
    assert any("ms of display time" in line for line in said)


def test_the_quality_is_the_one_most_used():
    rows = [row._replace(quality="low" if row.frame < 30 else "high") for row in even(90)]
    assert built(rows)["pacer"]["quality"] == "high"
    assert built()["pacer"]["quality"] is None


def test_the_printed_report_has_judder_and_what_frames_were_late_by(capsys):
    rows = [row._replace(draw_ns=4 * MS) for row in even(90)]
    for late in (40, 60):
        start_ns = rows[late].present_ns - 20 * MS
        rows[late] = rows[late]._replace(
            start_ns=start_ns,
            work_end_ns=start_ns + 30 * MS,
            present_ns=rows[late].present_ns + 12 * MS,
            user_ns=28 * MS,
        )
    report.show(built(rows), full=True)
    printed = capsys.readouterr().out
    assert "motion.judder" in printed
    assert "your draw or on_event function took too long in 4 of them" in printed.replace("\n", " ")
    assert "render_late by cost: 4 user" in printed


def test_the_short_report_names_the_flag_for_all_figures_and_the_full_one_has_them(capsys):
    made = built(physics={"physics": {"publish_interval_ms": dict.fromkeys(SPREAD, 2.0)}})
    report.show(made)
    short = capsys.readouterr().out
    assert "--full" in short
    assert len(short.splitlines()) <= 16
    report.show(made, full=True)
    full = capsys.readouterr().out
    assert "physics.publish_interval_ms" in full
    assert all(f"- {line}" in full for line in made["conditions"])
    assert not any(f"- {line}" in short for line in made["conditions"])


def test_events_are_counted_by_both_processes_and_their_lateness_is_that_of_frames():
    rows = [row._replace(events=3, event_late_ns=row.frame * MS) if row.frame % 2 else row for row in even(100)]
    counts = {"emitted": 160, "dropped": 4}
    made = built(rows, PHYSICS | {"events": counts}, events={"delivered": 150, "lost": 5, "reset": 0, "pending": 5})[
        "events"
    ]
    assert {key: value for key, value in made.items() if key != "late_ms"} == counts | {
        "delivered": 150, "lost": 5, "reset": 0, "pending": 5,
    }  # fmt: skip
    assert (made["late_ms"]["max"], made["late_ms"]["p50"]) == (99.0, 50.0)
    assert built(rows, physics=PHYSICS)["events"] | {"late_ms": None} == {
        "emitted": None, "dropped": None, "delivered": 150, "lost": None, "reset": None, "pending": None,
        "late_ms": None,
    }, "what a log has"  # fmt: skip


def test_a_log_has_its_events_and_an_older_log_none(tmp_path):
    rows = [row._replace(events=2, event_late_ns=7 * MS) for row in even(10)]
    log = FrameLog(str(tmp_path / "new.csv"))
    for row in rows:
        log.add(row)
    log.close()
    made = report.of_log(read_log(str(tmp_path / "new.csv")), "twixt report")["events"]
    assert (made["delivered"], made["late_ms"]["p99"]) == (20, 7.0)
    lines = (tmp_path / "new.csv").read_text().splitlines()
    keep = [i for i, name in enumerate(lines[0].split(",")) if name not in ("events", "event_late_ns")]
    older = "\n".join(",".join(line.split(",")[i] for i in keep) for line in lines) + "\n"
    (tmp_path / "older.csv").write_text(older)
    made = report.of_log(read_log(str(tmp_path / "older.csv")), "twixt report")
    assert made["events"]["delivered"] is None
    assert "no frame showed an event of the program, so there is no events.late_ms" in made["conditions"]


@pytest.mark.parametrize("full", [False, True])
def test_a_run_without_events_does_not_show_any(capsys, full):
    none = {"emitted": 0, "dropped": 0}
    report.show(built(physics=PHYSICS | {"events": none}, events={"delivered": 0, "lost": 0, "reset": 0}), full=full)
    lines = capsys.readouterr().out.splitlines()
    assert not [line for line in lines if line.lstrip().startswith("events")]
    rows = [row._replace(events=1, event_late_ns=MS) for row in even(120)]
    report.show(built(rows, events={"delivered": 120, "lost": 3, "reset": 0}), full=full)
    line = next(
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("events") and "." not in line.split()[0]
    )
    assert "delivered" in line
    assert "lost" in line


def test_limits_on_events_hold_or_break():
    rows = [row._replace(events=1, event_late_ns=25 * MS) for row in even(120)]
    made = built(rows, events={"delivered": 120, "lost": 0, "reset": 0})
    assert check(made, ["events.lost>0", "events.late_ms.p99>30"]) == []
    assert check(made, ["events.late_ms.p99>20"]) == ["events.late_ms.p99>20: events.late_ms.p99 is 25"]
