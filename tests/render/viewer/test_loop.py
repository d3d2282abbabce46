"""Whole runs of the frame loop in virtual time: waits, swaps, presents, missed refreshes, idle time, screenshots."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from tests.render.viewer.virtual_viewer import MS, READ_NS, START_NS, STEP_NS, SWAP_NS, VirtualViewer
from twixt.ipc.session.link import Link
from twixt.render.display.input import Key
from twixt.render.draw.flat.rectangles import Rectangle
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.measure.run_figures import measure
from twixt.render.overlay.panel_state import PanelFacts
from twixt.render.pacing.grid import PROBE_EVERY_NS
from twixt.render.viewer.idle import HIDDEN_INTAKE_NS, PAUSED_NS, SILENT_NS, SLEEP_S
from twixt.render.viewer.screenshots import Screenshots

Viewers = Callable[..., VirtualViewer]
# Frames in which a pacer has learned what work takes.
LEARNING = 60


@pytest.fixture
def viewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewers]:
    folder = tmp_path / "run"
    folder.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setattr(Link, "physics_pid", None)  # nobody's real threads are judged by virtual time
    made: list[VirtualViewer] = []

    def make(**settings: object) -> VirtualViewer:
        made.append(VirtualViewer(f"virtual-{os.getpid()}-{len(made)}", **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


def intervals(rows: list[FrameRow]) -> list[int]:
    return [later.present_ns - earlier.present_ns for earlier, later in pairwise(rows)]


@pytest.mark.parametrize("hz", [50.0, 60.0, 144.0])
def test_frames_are_shown_one_a_refresh_and_drawn_for_the_instant_at_which_they_are_seen(viewer: Viewers, hz: float):
    made = viewer(hz=hz)
    rows = made.frames(300)[LEARNING:]
    assert set(intervals(rows)) == {made.refresh_ns}
    assert [row.present_ns - READ_NS for row in rows] == made.display.presents_ns[LEARNING:]
    assert max(abs(row.predicted_present_ns - row.present_ns) for row in rows) < 0.1 * made.refresh_ns
    assert max(abs(row.draw_time_ns - (row.predicted_present_ns - START_NS)) for row in rows) < 0.01 * MS
    assert {row.mode for row in rows} == {"interpolated"}
    assert min(row.wake_error_ns for row in rows) >= 0


def test_the_state_is_read_as_late_as_the_drawing_allows(viewer: Viewers):
    made = viewer(hz=50.0)
    rows = made.frames(300)[LEARNING:]
    work_ns = max(row.work_end_ns - row.start_ns for row in rows)
    is_late = [row.present_ns - row.latch_ns < 2.5 * (work_ns + SWAP_NS) < made.refresh_ns / 2 for row in rows]
    at_once = is_late.count(False)
    assert at_once <= 1 + made.refresh_ns * len(rows) / PROBE_EVERY_NS, "but for frames that measure the refresh"


def test_snapshots_are_uploaded_while_a_frame_would_wait(viewer: Viewers):
    rows = viewer(hz=50.0).frames(200)[LEARNING:]
    assert sum(row.ahead_ns > 0 for row in rows) > 0.9 * len(rows)
    assert sum(row.steps for row in rows) == 2 * len(rows), "each step is counted once, ahead or within"


def test_one_long_frame_misses_its_refreshes_and_the_next_is_on_the_grid_again(viewer: Viewers):
    made = viewer()
    made.load_ms = lambda frame: 40.0 if frame == 200 else 2.0
    rows = made.frames(300)
    steps = [round(each / made.refresh_ns) for each in intervals(rows)]
    assert steps[199] == 4, "it started 4.5 ms before its refresh, and ended before the third after that"
    assert set(steps[LEARNING:199] + steps[200:]) == {1}
    assert measure(made.loop.record.log.rows).sections["frames"]["missed_refreshes"] == 3
    draws = [row.draw_time_ns for row in rows]
    assert draws == sorted(draws)


def test_a_load_that_stays_widens_the_interval_and_narrows_it_again_when_it_ends(viewer: Viewers):
    made = viewer()
    made.load_ms = lambda frame: 20.0 if 100 <= frame < 200 else 2.0
    rows = made.frames(500)
    planned = [row.planned_refreshes for row in rows]
    assert set(planned[:100]) == {1}
    assert set(planned[106:200]) == {2}, "within five frames"
    assert set(intervals(rows)[107:199]) == {2 * made.refresh_ns}
    narrowed = next(row for row in rows[200:] if row.planned_refreshes == 1)
    assert narrowed.present_ns - rows[199].present_ns < 3000 * MS
    assert set(planned[-100:]) == {1}


def test_frames_are_drawn_for_the_presents_that_the_display_reports(viewer: Viewers):
    made = viewer(lag_ns=9 * MS)
    rows = made.frames(300)[LEARNING:-4]
    assert {row.present_source for row in rows} == {"display"}
    assert [row.present_ns for row in rows] == made.display.presents_ns[LEARNING:-4]
    assert max(abs(row.draw_time_ns - (row.present_ns - START_NS)) for row in rows) < 0.1 * made.refresh_ns


def redraws_of(made: VirtualViewer, monkeypatch: pytest.MonkeyPatch, step_ms: float = 0.0) -> list[str]:
    """Where in the loop each later step of a redraw is done. step_ms: duration of a step."""
    from twixt.render.overlay.overlay import Overlay

    steps, inside = [], ["frame"]

    def within(owner: object, name: str, place: str) -> None:
        inner = getattr(owner, name)

        def outer(*given: object) -> object:
            inside.append(place)
            try:
                return inner(*given)
            finally:
                inside.pop()

        monkeypatch.setattr(owner, name, outer)

    def counted(name: str) -> None:
        step = getattr(Overlay, name)

        def outer(*given: object) -> None:
            steps.append(inside[-1])
            made.time.sleep(step_ms / 1e3)
            step(*given)

        monkeypatch.setattr(Overlay, name, outer)

    within(made.loop.spare, "before_start", "before the start")
    within(made.loop.spare, "before_swap", "before the swap")
    within(made.loop.spare, "in_swap", "in the swap")
    made.loop.over.make_panels(made.display.framebuffer_size, 1.0)
    made.frames(LEARNING)
    assert made.loop.over.panels is not None
    counted("_lay_out")
    counted("_draw_sheet")
    return steps


def test_panels_are_redrawn_ten_times_a_second_of_the_loops_own_clock(viewer: Viewers, monkeypatch: pytest.MonkeyPatch):
    made = viewer(overlay=True)
    steps = redraws_of(made, monkeypatch)
    made.frames(300)
    assert 90 <= len(steps) <= 110, "in five seconds"
    assert set(steps) == {"before the start"}


@pytest.mark.parametrize("kind", [{"is_called": True}, {"blocks": False}])
def test_panels_are_redrawn_while_a_drawn_frame_waits(viewer: Viewers, monkeypatch: pytest.MonkeyPatch, kind: dict):
    made = viewer(overlay=True, **kind)
    steps = redraws_of(made, monkeypatch, step_ms=1.0)
    made.load_ms = lambda frame: 9.0 if frame % 4 else 12.5  # frames start at once
    rows = made.frames(300)[LEARNING:]
    assert 80 <= len(steps) <= 110, "in five seconds"
    assert {step for step in steps} <= {"in the swap", "before the swap"}
    assert set(intervals(rows)) == {made.refresh_ns}


def test_without_time_to_spare_frames_redraw_the_panels_a_step_at_a_time(
    viewer: Viewers, monkeypatch: pytest.MonkeyPatch
):
    made = viewer(overlay=True, is_called=True)
    steps = redraws_of(made, monkeypatch, step_ms=1.0)
    made.load_ms = lambda _frame: 14.5
    made.frames(LEARNING)
    steps.clear()
    rows = made.frames(300)
    assert set(steps) == {"frame"}
    assert 30 <= len(steps) <= 50, "in five seconds: figures change three to five times in each"
    assert set(intervals(rows)) == {made.refresh_ns}, "one of 2 ms more would be late"


@pytest.mark.parametrize("has_panels", [True, False])
def test_the_renderer_is_told_what_is_drawn_over_its_pictures(viewer: Viewers, has_panels: bool):
    made = viewer(overlay=has_panels, size_px=(320, 240))
    if has_panels:
        made.loop.over.make_panels(made.display.framebuffer_size, 1.0)
    made.frames(LEARNING)
    told: list[Sequence[Rectangle] | None] = []
    made.loop.stage.renderer.mark_covered = told.append  # type: ignore[method-assign]
    made.frames(3)
    assert [len(each or ()) > 0 for each in told] == [has_panels] * 3
    assert None not in told


def test_snapshots_are_taken_in_while_the_swap_waits_for_the_display(viewer: Viewers):
    made = viewer(is_called=True)
    made.load_ms = lambda _frame: 10.0
    rows = made.frames(200)[LEARNING:]
    taken_in_wait = [row.ahead_ns > 0 for row in rows]
    assert sum(taken_in_wait) > 0.9 * len(rows)
    assert set(intervals(rows)) == {made.refresh_ns}


def test_a_display_that_becomes_faster_is_noticed_though_work_is_done_until_its_call(viewer: Viewers):
    made = viewer(is_called=True)
    made.frames(200)
    made.display._refresh_ns = made.refresh_ns // 2
    rows = made.frames(600)[-100:]
    assert set(intervals(rows)) == {made.refresh_ns // 2}


def test_where_no_swap_waits_frames_are_placed_by_the_timer(viewer: Viewers):
    made = viewer(blocks=False, pacing="timer", fps=100.0)
    rows = made.frames(300)[LEARNING:]
    assert max(abs(each - 10 * MS) for each in intervals(rows)) < 0.2 * MS
    assert rows[-1].present_ns - rows[0].present_ns == pytest.approx(10 * MS * (len(rows) - 1), abs=0.2 * MS)


def test_a_paused_picture_lets_the_viewer_sleep_until_physics_goes_on(viewer: Viewers):
    made = viewer()
    made.frames(100)
    made.stop_physics()
    made.plan(0.0)
    paused_ns = made.time.at_ns
    made.run(5.0)
    still_ns = made.loop.record.last.present_ns - paused_ns
    assert PAUSED_NS <= still_ns < PAUSED_NS + 100 * MS
    assert made.slept == pytest.approx(4.7 / SLEEP_S, abs=2)
    assert set(made.display.waits_s) == {SLEEP_S}
    count, frame_ns = made.loop.record.log.count, made.time.at_ns + 20 * MS
    made.time.at(frame_ns, lambda: made.plan(1.0))
    made.run(0.5)
    row = made.loop.record.log.rows.row(count)
    assert row.start_ns - frame_ns < made.refresh_ns, "the thread that waits for physics woke it, not the time"
    assert row.rested_ns == pytest.approx(4700 * MS, abs=100 * MS)
    assert made.loop.record.log.rows.row(count + 1).rested_ns == 0
    assert measure(made.loop.record.log.rows).sections["frames"]["missed_refreshes"] == 0


def test_physics_that_falls_silent_lets_the_viewer_sleep_later(viewer: Viewers):
    made = viewer()
    made.frames(100)
    made.stop_physics()
    made.run(4.0)
    rows = list(made.loop.record.log.rows)
    changed = next(row for row in rows if row.draw_time_ns == rows[-1].draw_time_ns)
    assert SILENT_NS <= rows[-1].present_ns - changed.present_ns + made.refresh_ns < SILENT_NS + 100 * MS
    assert made.slept > 0


def test_a_viewer_sleeps_as_soon_as_its_camera_has_come_to_the_last_state(viewer: Viewers):
    made = viewer(camera="auto")
    made.frames(100)
    made.stop_physics()
    made.plan(0.0)
    paused_ns = made.time.at_ns
    made.run(20.0)
    assert not made.loop.stage.view.is_moving
    assert made.slept > 0
    last, orbit = made.loop.record.last, made.loop.stage.view.orbit
    assert last.present_ns - paused_ns > PAUSED_NS + 100 * MS, "the camera was on its way"
    assert orbit is not None
    assert abs(orbit.target[0] - last.draw_time_ns / STEP_NS) < orbit.distance_m / 4, "the ball is in the picture"


def test_the_hint_about_bodies_outside_comes_though_nothing_moves_and_then_the_viewer_sleeps(viewer: Viewers):
    made = viewer(overlay=True, camera="still")
    made.loop.over.make_panels(made.display.framebuffer_size, 1.0)
    shown, facts = [""], made.loop.over._facts

    def read() -> PanelFacts:
        shown.append(facts().outside)
        return facts()

    made.loop.over._facts = read
    made.frames(LEARNING // 2)
    made.stop_physics()
    made.plan(0.0)
    assert made.loop.over.panels is not None
    assert set(shown) == {""}
    made.run(4.0)
    assert shown[-1] == "the body is outside the picture: F frames all"
    assert not made.loop.over.panels._is_laid_out, "what was laid out is drawn"
    slept, count = made.slept, made.loop.record.log.count
    assert slept > 0
    made.run(4.0)
    assert made.slept - slept == pytest.approx(4.0 / SLEEP_S, abs=2)
    assert made.loop.record.log.count == count

    acted_ns = made.time.at_ns
    made.time.at(acted_ns, lambda: made.display.input.append(Key("F", acted_ns)))
    made.run(4.0)
    assert shown[-1] == ""


def test_hidden_panels_cost_no_samples(viewer: Viewers, monkeypatch: pytest.MonkeyPatch):
    sampled = []
    monkeypatch.setattr(Link, "sampled_bodies", lambda _link, most: sampled.append(most))
    viewer(camera="still").frames(120)
    assert not sampled
    viewer(camera="still", overlay=True).frames(120)
    assert sampled


def test_a_key_wakes_the_viewer_and_its_first_frame_obeys_it(viewer: Viewers):
    made = viewer()
    made.frames(100)
    made.stop_physics()
    made.plan(0.0)
    made.run(2.0)
    count, acted_ns = made.loop.record.log.count, made.time.at_ns + 30 * MS
    made.time.at(acted_ns, lambda: made.display.input.append(Key("I", acted_ns)))
    before = made.loop.input.settings.interpolation
    made.run(0.2)
    row = made.loop.record.log.rows.row(count)
    assert (row.input_acted_ns, row.method) == (acted_ns, made.loop.input.settings.interpolation)
    assert row.method != before
    assert row.start_ns - acted_ns < made.refresh_ns


def test_a_hidden_window_makes_no_frames_and_takes_a_snapshot_now_and_then(viewer: Viewers):
    made = viewer()
    made.frames(100)
    made.stop_physics()
    made.display.is_hidden = True
    taken = []
    take = made.loop.intake.receive
    made.loop.intake.receive = lambda: taken.append(made.time.at_ns) or take()  # type: ignore[method-assign, func-returns-value]
    made.run(5.0)
    assert made.loop.record.log.count == 100
    assert len(taken) in (5, 6)
    assert min(later - earlier for earlier, later in pairwise(taken)) >= HIDDEN_INTAKE_NS
    made.display.is_hidden = False
    row = made.loop.frame()
    assert row.rested_ns == pytest.approx(5000 * MS, abs=50 * MS)


def test_the_screenshot_is_of_the_first_frame_after_its_instant(viewer: Viewers, tmp_path: Path):
    path = tmp_path / "picture.png"
    screenshots = Screenshots(str(path), at_s=1.0)
    made = viewer(screenshots=screenshots)
    reads, read = [], made.loop.stage.renderer.read_pixels
    made.loop.stage.renderer.read_pixels = lambda: reads.append(made.loop.record.log.count) or read()  # type: ignore[method-assign, func-returns-value]
    rows = made.frames(120)
    assert len(reads) == 1
    first_ns = rows[0].present_ns
    assert rows[reads[0] - 1].work_end_ns - first_ns < 1000 * MS <= rows[reads[0]].work_end_ns - first_ns
    screenshots.close()
    assert Image.open(path).size == (64, 48)
