"""Screenshots: when one is due, what is written, and what is said when it cannot be."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from twixt.ipc.errors import TwixtError
from twixt.render.viewer.screenshots import Screenshots, save_png

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
    assert capsys.readouterr().err.count("the run ended before its instant, 60 s") == 1


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
