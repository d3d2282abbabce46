"""Screenshots: when one is due, what is written, and what is said when it cannot be."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from twixt.ipc.errors import TwixtError
from twixt.ipc.session.screenshots import ScreenshotRequest
from twixt.render.viewer.screenshots import RequestedScreenshots, Screenshots, save_png

PIXELS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def test_the_picture_asked_for_is_due_once_after_its_instant(tmp_path: Path) -> None:
    path = tmp_path / "shot.png"
    shots = Screenshots(str(path), at_s=1.0)
    now_ns = time.perf_counter_ns()
    assert not shots.is_due(False, 0, time.perf_counter_ns())
    assert not shots.is_due(False, now_ns, time.perf_counter_ns())
    assert shots.is_due(False, now_ns - 2_000_000_000, time.perf_counter_ns())
    shots.write(PIXELS)
    shots.close()
    assert np.array_equal(np.asarray(Image.open(path)), PIXELS)
    assert not shots.is_due(False, now_ns - 2_000_000_000, time.perf_counter_ns())


def test_a_key_makes_a_picture_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shots = Screenshots("later.png", at_s=100.0)
    assert shots.is_due(True, time.perf_counter_ns(), time.perf_counter_ns())
    shots.write(PIXELS)
    shots.close()
    assert [path.name[:6] for path in tmp_path.iterdir()] == ["twixt-"]


def test_a_key_is_told_how_its_picture_came_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shots = Screenshots("asked-for.png", at_s=0.0)
    assert not shots.has_news
    assert shots.is_due(True, 1, time.perf_counter_ns())
    shots.write(PIXELS)
    assert shots.is_due(False, 1, time.perf_counter_ns())
    shots.write(PIXELS)
    shots.close()
    assert shots.has_news
    assert shots.news().startswith("screenshot in twixt-")
    assert not shots.has_news
    assert shots.news() == ""


def test_pictures_of_one_second_have_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shots = Screenshots(None, None)
    for _ in range(5):
        assert shots.is_due(True, 1, time.perf_counter_ns())
        shots.write(PIXELS)
    shots.close()
    assert len(list(tmp_path.iterdir())) == 5


def test_a_run_shorter_than_the_default_instant_has_its_picture_at_its_end(tmp_path: Path) -> None:
    shots = Screenshots(str(tmp_path / "shot.png"), None, seconds=0.5)
    now_ns = time.perf_counter_ns()
    assert not shots.is_due(False, now_ns, time.perf_counter_ns())
    assert shots.is_due(False, now_ns - 600_000_000, time.perf_counter_ns())


def test_a_picture_whose_instant_never_came_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shots = Screenshots(str(tmp_path / "shot.png"), 60.0)
    shots.close()
    shots.close()
    assert capsys.readouterr().err.count("the run ended before its time, 60 s") == 1


def test_a_missing_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(TwixtError, match="does not exist"):
        Screenshots(str(tmp_path / "nowhere" / "shot.png"), None)


def test_what_could_not_be_written_is_said_and_harms_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shots = Screenshots(str(tmp_path), 0.0)  # a folder
    assert shots.is_due(False, 1, time.perf_counter_ns())
    shots.write(PIXELS)
    shots.close()
    assert "no screenshot" in capsys.readouterr().err


def test_an_ending_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TwixtError, match="cannot write the screenshot"):
        save_png(str(tmp_path / "shot.nothing"), PIXELS)


def test_a_picture_replaces_an_older_one_and_leaves_no_other_file(tmp_path: Path) -> None:
    path, link = tmp_path / "shot.png", tmp_path / "link.png"
    path.write_bytes(b"older")
    link.symlink_to(path)
    save_png(str(link), PIXELS)
    assert link.is_symlink()
    assert np.array_equal(np.asarray(Image.open(path)), PIXELS)
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_a_picture_that_fails_leaves_the_older_one_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shot.png"
    path.write_bytes(b"older")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(TwixtError, match="No space left on device; free disk space"):
        save_png(str(path), PIXELS)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"older"


class Requested:
    """Requests of a program, frames in which they may be due, and the answers."""

    def __init__(self) -> None:
        self.screenshots = Screenshots()
        self.requested = RequestedScreenshots(self.screenshots, self._read)
        self.answers: dict[int, str | None] = {}
        self.received: list[ScreenshotRequest] = []
        self.link: Any = SimpleNamespace(
            received=SimpleNamespace(screenshots=self.received),
            answer_screenshot=lambda number, _tick, error: self.answers.__setitem__(number, error),
        )
        self.has_panels, self.reads = False, 0

    def _read(self) -> np.ndarray:
        self.reads += 1
        return PIXELS + np.uint8(100 * self.has_panels)

    def ask(self, path: Path, tick: int, has_panels: bool = False) -> None:
        self.received.append(ScreenshotRequest(len(self.received) + 1, str(path), tick, has_panels))

    def frame(self, tick: int | None, are_panels_made: bool = True) -> None:
        head = SimpleNamespace(head=SimpleNamespace(tick=tick))
        shown: Any = (
            None if tick is None else SimpleNamespace(main=SimpleNamespace(pair=SimpleNamespace(previous=head)))
        )
        self.requested.begin(self.link, shown, are_panels_made)
        self.has_panels = False
        self.requested.write(has_panels=False)
        self.has_panels = True
        self.requested.write(has_panels=True)

    def close(self) -> None:
        self.screenshots.close()
        self.requested.close()


def test_a_requested_picture_is_written_in_the_first_frame_that_draws_its_state(tmp_path: Path) -> None:
    rig = Requested()
    rig.ask(tmp_path / "plain.png", 5)
    rig.ask(tmp_path / "panels.png", 5, has_panels=True)
    rig.ask(tmp_path / "later.png", 9)
    for tick in (None, 3, 4):
        rig.frame(tick)
    assert rig.reads == 0
    rig.frame(6)
    assert [Path(one.path).name for one in rig.received] == ["later.png"]
    rig.close()
    assert rig.answers == {1: None, 2: None}
    assert rig.requested.are_written
    assert np.array_equal(np.asarray(Image.open(tmp_path / "plain.png")), PIXELS)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "panels.png")), PIXELS + np.uint8(100))


def test_a_picture_with_the_panels_waits_until_they_are_made(tmp_path: Path) -> None:
    rig = Requested()
    rig.ask(tmp_path / "panels.png", -1, has_panels=True)
    rig.frame(0, are_panels_made=False)
    assert rig.reads == 0
    rig.frame(0)
    assert rig.reads == 1
    rig.close()


def test_a_requested_picture_that_cannot_be_written_is_answered_with_the_reason_and_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = Requested()
    rig.ask(tmp_path / "nowhere" / "a.png", 0)
    rig.frame(0)
    rig.close()
    assert "No such file or directory" in str(rig.answers[1])
    assert capsys.readouterr().err == ""


def test_a_pipe_that_nobody_reads_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    with pytest.raises(TwixtError, match="cannot write the screenshot"):
        save_png(str(pipe), np.zeros((2, 2, 3), np.uint8))
