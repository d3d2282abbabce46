"""Every key does what the overlay says of it: pressed in the real window, seen in physics' own words, in the pixels
of the screen, and in the frame log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.displays.rigs import Display
from tests.end_to_end.observer import open_screen
from tests.end_to_end.processes import Run, Starter, focus, memories, until, xdotool
from tests.newest import newest
from twixt.ipc.config.flags import CLOCKS, INTERPOLATIONS, PREFERENCES
from twixt.ipc.plan import Plan
from twixt.ipc.session import attach
from twixt.ipc.session.link import Link
from twixt.render.input.keys import KEYS
from twixt.render.measure.frame_log import read_log
from twixt.render.measure.frame_rows import FrameTable

pytestmark = pytest.mark.display

STEP_NS = round(1e9 / 60)
SIZE_PX = (800, 600)
# Steps that physics is ahead of the picture, at most: frames, an interval, and steps of up to 50 ms.
MOST_AHEAD = 8
# In which a rate is measured.
RATE_PICTURES = 15
# Keys whose effect is a rate or an instant; the effect of all others is awaited.
TIMED_KEYS = {"Space", ".", "[", "]", "S"}
NAMES = {"Space": "space", ".": "period", "[": "bracketleft", "]": "bracketright", "Esc": "Escape"}


class Session:
    """A run of `metronome` with its log, its keyboard, and a link of the test's own to look at physics."""

    def __init__(self, start: Starter, screen_file: Path) -> None:
        self.pressed: set[str] = set()
        self.log = start.folder / "keys.csv"
        self._display = start.display
        chosen = ("--interpolation", INTERPOLATIONS[0], "--clock", CLOCKS[0], "--slow-physics", "30-50")
        self.run: Run = start(
            "run", "metronome", "--name", "keys", "--log", str(self.log), "--size", "800x600", *chosen
        )
        self.run.viewer()
        self.link: Link = attach("keys")
        focus(self.run, start.display)
        self._screen = open_screen(str(screen_file))

    def press(self, key: str) -> None:
        self.pressed.add(key)
        xdotool(self._display, "key", NAMES.get(key, key if key.startswith("F") else key.lower()))

    def plan(self, condition: Callable[[Plan], object], what: str) -> Plan:
        """The first plan seen for which it holds."""

        def seen() -> Plan | None:
            self.link.poll()
            plan = self.link.plan()
            return plan if condition(plan) else None

        found = until(seen, what)
        assert found is not None
        return found

    def status(self, condition: Callable[[dict[str, object]], object], what: str) -> dict[str, object]:
        def seen() -> dict[str, object] | None:
            self.link.poll()
            return self.link.status if self.link.status and condition(self.link.status) else None

        found = until(seen, what)
        assert found is not None
        return found

    def sim_time_ns(self) -> int:
        return newest(self.link).sim_time_ns

    def pass_time(self, steps: int = 12, pictures: int = 4) -> None:
        """Physics goes on for so many steps, and so many pictures of the body follow each other on the screen: frames
        enough to be found in the log, however slow they are."""
        end_ns = self.sim_time_ns() + steps * STEP_NS
        for _ in range(pictures):
            before = self.band()
            until(lambda: not np.array_equal(self.band(), before), "the picture changes")  # noqa: B023
        until(lambda: self.sim_time_ns() >= end_ns, "physics goes on")

    def band(self) -> np.ndarray:
        """The rows in which the body moves, as they are on the screen."""
        return self._screen[SIZE_PX[1] // 2 - 20 : SIZE_PX[1] // 2 + 20, : SIZE_PX[0], :3].copy()

    def bodies_seen(self) -> list[bool]:
        """Whether something bright is in the left half, and in the right one."""
        bright = self.band().max(axis=(0, 2)) > 200
        return [bool(bright[: SIZE_PX[0] // 2].any()), bool(bright[SIZE_PX[0] // 2 :].any())]

    def lit_px(self) -> int:
        """How far the body, and what dots it leaves, reach from left to right."""
        return int((self.band().max(axis=(0, 2)) > 60).sum())

    def pass_frames(self) -> None:
        """Frames go by while physics stands: one without the overlay, and one with it."""
        self.press("H")
        until(lambda: not self.overlay_is_shown(), "the overlay goes")
        self.press("H")
        until(self.overlay_is_shown, "the overlay comes back")

    def overlay_is_shown(self) -> bool:
        """Whether anything but the body and the black background is on the screen."""
        rows = self._screen[: SIZE_PX[1], : SIZE_PX[0]]
        middle = SIZE_PX[1] // 2
        outside = np.concatenate([rows[: middle - 30], rows[middle + 30 :]])
        return bool(outside[:, :, :3].any())


@pytest.fixture
def session(start: Starter, shared_screen: Display, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    assert shared_screen.screen_file is not None
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(start.runtime_folder))
    opened = Session(start, shared_screen.screen_file)
    yield opened
    opened.link.close()


@pytest.mark.starvable
def test_keys_of_time_do_what_the_overlay_says(session: Session) -> None:
    plans: dict[str, int] = {}
    until(session.overlay_is_shown, "the overlay appears")
    session.status(lambda status: status["slow_physics_ms"] == [30, 50], "physics is as slow as its flag says")
    session.press("S")
    session.status(lambda status: status["slow_physics_ms"] is None, "S takes that away")
    session.pass_time()

    session.press("Space")
    plans["paused"] = session.plan(lambda plan: plan.rate == 0, "physics pauses").number
    session.status(lambda status: status["paused"], "physics says so")
    session.pass_frames()
    stood_ns = [session.plan(lambda plan: True, "").sim_time_ns]
    for _ in range(MOST_AHEAD + 2):
        session.press(".")
        stepped = session.plan(lambda plan: plan.sim_time_ns > stood_ns[-1], "one step is made")
        stood_ns.append(stepped.sim_time_ns)
        assert stepped.rate == 0
    # The first go on through what was published ahead of the pause, where a busy machine may have left gaps.
    assert np.allclose(np.diff(stood_ns)[MOST_AHEAD:], STEP_NS, rtol=1e-6)
    plans["stepped"] = stepped.number
    session.pass_frames()
    session.press("Space")
    plans["resumed"] = session.plan(lambda plan: plan.rate == 1, "physics goes on").number
    session.pass_time(24, RATE_PICTURES)

    session.press("[")
    plans["slower"] = session.plan(lambda plan: plan.rate == 0.5, "half speed").number
    session.pass_time(pictures=RATE_PICTURES)
    session.press("]")
    session.plan(lambda plan: plan.rate == 1, "full speed")
    session.press("]")
    plans["faster"] = session.plan(lambda plan: plan.rate == 2, "double speed").number
    session.pass_time(40, RATE_PICTURES)
    session.press("[")
    session.plan(lambda plan: plan.rate == 1, "full speed")

    session.press("S")
    session.status(lambda status: status["slow_physics_ms"] == [30, 50], "S puts on what the flag asked for")
    session.status(lambda status: status["rate"] < 0.6, "physics falls behind")  # type: ignore[operator]
    session.press("S")
    session.status(lambda status: status["slow_physics_ms"] is None, "it is taken away again")

    session.press("Esc")
    assert session.run.end() == 0
    assert session.pressed == TIMED_KEYS | {"H", "Esc"}
    assert_frames_kept_time(read_log(session.log), plans)


def test_all_other_keys_do_what_the_overlay_says(session: Session) -> None:
    until(session.overlay_is_shown, "the overlay appears")
    session.press("S")
    session.status(lambda status: status["slow_physics_ms"] is None, "physics is as fast as its clock")
    for _ in INTERPOLATIONS:
        session.press("I")
        session.pass_time(24)
    for _ in CLOCKS:
        session.press("C")
        session.pass_time()
    for _ in PREFERENCES:
        session.press("P")
        session.pass_time(2, 1)

    session.press("V")
    until(lambda: session.bodies_seen() == [True, True], "both halves show the body")
    session.press("V")
    until(lambda: session.bodies_seen().count(True) == 1, "one picture shows it once")
    alone_px = session.lit_px()
    session.press("T")
    until(lambda: session.lit_px() >= alone_px + 20, "the body leaves dots behind")
    session.press("T")
    until(lambda: session.lit_px() <= alone_px + 5, "the dots go")

    assert session.overlay_is_shown()
    session.press("H")
    until(lambda: not session.overlay_is_shown(), "the overlay goes")
    for key in ("T", "T", "F12"):
        session.press(key)
        until(session.overlay_is_shown, f"{key} says what it did on the picture alone")
        until(lambda: not session.overlay_is_shown(), "for a while")
    session.press("H")
    until(session.overlay_is_shown, "the overlay comes back")
    session.run.hear("screenshot in ")
    [picture] = session.log.parent.glob("twixt-*.png")
    with Image.open(picture) as image:
        assert image.size == SIZE_PX
        assert np.asarray(image.convert("RGB"))[270:330].max() == 255

    epoch = session.plan(lambda plan: True, "").world_epoch
    session.press("R")
    session.plan(lambda plan: plan.world_epoch == epoch + 1, "the world begins anew")
    until(lambda: session.sim_time_ns() < 60 * STEP_NS, "at time 0")
    session.pass_time(30)

    session.press("F")
    until(lambda: session.lit_px() >= 2 * alone_px, "the only body is framed, larger than before")

    session.press("Esc")
    assert session.run.end() == 0
    assert session.run.left() == []
    assert session.pressed == set(KEYS) - TIMED_KEYS | {"S"}
    assert_frames_obeyed(read_log(session.log))


def test_a_run_without_an_overlay_says_what_keys_did_and_shows_it_when_asked(
    start: Starter, shared_screen: Display
) -> None:
    assert shared_screen.screen_file is not None
    screen = open_screen(str(shared_screen.screen_file))

    def lit_rows() -> int:
        """Rows above and below the body in which anything is to be seen."""
        rows = np.delete(screen[:240, :320, :3], range(100, 140), axis=0)
        return int((rows.max(axis=(1, 2)) > 100).sum())

    run = start("run", "metronome", "--no-overlay", "--size", "320x240")
    run.viewer()
    focus(run, start.display)
    until(lambda: screen[100:140, :320, :3].max() > 200, "the body is there")
    assert not lit_rows()
    until(lambda: xdotool(start.display, "key", "t") or lit_rows(), "T says what it did")
    until(lambda: not lit_rows(), "for a while")
    xdotool(start.display, "key", "h")
    until(lambda: lit_rows() > 60, "the overlay comes")
    xdotool(start.display, "key", "Escape")
    assert run.end() == 0


def assert_frames_kept_time(rows: FrameTable, plans: dict[str, int]) -> None:
    """Pauses, steps and rates, in what was drawn."""
    rows = rows.where(~rows.is_text("mode", "none"))
    number, drawn_ns = rows["plan_number"], rows["draw_time_ns"]

    def frames(plan: str) -> np.ndarray:
        return np.flatnonzero(number == plans[plan])

    paused = frames("paused")
    assert len(np.unique(drawn_ns[paused])) == 1, "a pause stands in its first frame already"
    assert rows["input_acted_ns"][paused[0]] > 0
    assert rows["input_acted_ns"][paused[0]] < rows["present_ns"][paused[0]]
    assert drawn_ns[frames("stepped")[-1]] > drawn_ns[paused[-1]]
    assert drawn_ns[frames("resumed")[0]] >= drawn_ns[frames("stepped")[-1]]

    for plan, rate in (("resumed", 1.0), ("slower", 0.5), ("faster", 2.0)):
        settled = frames(plan)[3:]
        pace = np.polyfit(rows["present_ns"][settled] / 1e9, drawn_ns[settled] / 1e9, 1)[0]
        print(f"{plan}: {pace:.3f} of real time in {len(settled)} frames")
        assert pace == pytest.approx(rate, rel=0.15)
    assert (np.diff(drawn_ns) >= 0).all()


def assert_frames_obeyed(rows: FrameTable) -> None:
    """Methods, clocks and the one cut, in what was drawn."""
    rows = rows.where(~rows.is_text("mode", "none"))
    drawn_ns = rows["draw_time_ns"]
    whole = np.rint(drawn_ns / STEP_NS) * STEP_NS
    on_a_snapshot = (np.abs(drawn_ns - whole) < 1000) & (rows["alpha"] == 0)
    is_none = rows.is_text("method", "none")
    assert is_none.any()
    assert on_a_snapshot[is_none].all(), "none draws snapshots as they are"
    for method in INTERPOLATIONS:
        assert rows.is_text("method", method).any(), f"I comes to {method}"
    for mode in ("ahead", "newest-two", "buffered"):
        assert rows.is_text("clock_mode", mode).any(), f"C comes to {mode}"

    is_switched = rows["method"][1:] != rows["method"][:-1]  # from the newest to another method it goes back
    back = np.flatnonzero((np.diff(drawn_ns) < 0) & ~is_switched)
    assert len(back) == 1, "R is the one cut"
    assert rows["world_epoch"][back[0] + 1] == rows["world_epoch"][back[0]] + 1
    assert drawn_ns[back[0] + 1] < 10 * STEP_NS


def test_a_viewer_that_comes_later_takes_the_keys_up_where_physics_is(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(start.runtime_folder))
    sim = start("sim", "metronome", "--name", "lab", "--time-scale", "0.25", "--slow-physics", "15")
    until(lambda: list(start.runtime_folder.rglob("lab.socket")), "the name is taken")
    link = attach("lab")

    def seen(condition: Callable[[], bool], what: str) -> None:
        until(lambda: link.poll() or condition(), what)

    seen(lambda: link.status.get("slow_physics_ms") == [15, 15], "physics is slow")
    for number, keys in enumerate([["bracketleft", "s", "space"], ["space", "bracketright"]]):
        view = start("view", "lab", "--size", "320x240")
        focus(view, start.display)
        until(lambda view=view: memories(set(view.pids())), "the viewer attaches")  # type: ignore[misc]
        seen(lambda: link.status["time_scale"] == (0.25, 0.1)[number], "physics is as it was left")  # noqa: B023
        for key in keys:
            xdotool(start.display, "key", key)
        if number == 0:
            seen(lambda: link.plan().rate == 0, "it pauses")
            seen(lambda: link.status["slow_physics_ms"] is None, "it is slow no more")
            seen(lambda: link.status["time_scale"] == 0.1, "it is slower than it was")
        else:
            seen(lambda: link.plan().rate == 0.25, "it goes on, and faster")
        xdotool(start.display, "key", "Escape")
        assert view.end() == 0
    link.close()
    sim.interrupt()
    assert sim.end() == 130


def test_a_key_pressed_before_there_is_anything_to_see_is_obeyed_in_the_first_frame(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    (start.folder / "late.py").write_text(
        "from pathlib import Path\nfrom time import sleep\nfrom twixt.sim.worlds.metronome import Metronome\n"
        "class Late(Metronome):\n    def __init__(self):\n        print('loading', flush=True)\n"
        "        while not Path('go').exists():\n            sleep(0.01)\n        super().__init__()\n"
    )
    run = start("run", "late:Late", "--name", "late", "--size", "320x240")
    run.hear("loading")
    focus(run, start.display)
    xdotool(start.display, "key", "space")
    (start.folder / "go").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(start.runtime_folder))
    run.viewer()
    link = attach("late")
    until(lambda: link.poll() or link.status.get("paused"), "physics pauses")
    link.close()
    xdotool(start.display, "key", "Escape")
    assert run.end() == 0
