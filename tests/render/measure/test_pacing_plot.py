"""The pictures, by their pixels."""

import numpy as np
import pytest
from PIL import Image

from tests.render.measure.runs import even
from twixt.ipc.errors import TwixtError
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.measure.plots import MOVED, STOOD, compared, frame_pacing


def standing(rows, every):
    """The same, with every so-many-th frame drawing what the one before drew."""
    for i in range(every, len(rows), every):
        rows[i] = rows[i]._replace(draw_time_ns=rows[i - 1].draw_time_ns, mode="held")
    return rows


def columns_of(path, colour) -> np.ndarray:
    """The columns of the strip (the longest vertical runs) that have this colour."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    same = (np.asarray(Image.open(path).convert("RGB")).astype(int) == rgb).all(-1)
    return np.flatnonzero(same.sum(0) >= 15)


def test_a_plot_is_900_pixels_wide_and_shows_a_run_in_motion(tmp_path):
    path = tmp_path / "run.png"
    frame_pacing(even(300), str(path), "a run")
    assert Image.open(path).width == 900
    assert len(columns_of(path, MOVED)) > 600
    assert not len(columns_of(path, STOOD))


def test_one_frame_that_stood_still_in_a_long_run_is_seen(tmp_path):
    path = tmp_path / "run.png"
    frame_pacing(standing(even(3000), every=1501), str(path))
    assert len(columns_of(path, STOOD)) >= 1


def test_two_runs_are_drawn_one_above_the_other(tmp_path):
    path = tmp_path / "both.png"
    compared(standing(even(300), every=2), even(300), str(path), ("without interpolation", "with interpolation"))
    picture = Image.open(path).convert("RGB")
    upper, lower = tmp_path / "upper.png", tmp_path / "lower.png"
    picture.crop((0, 0, picture.width, picture.height // 2)).save(upper)
    picture.crop((0, picture.height // 2, picture.width, picture.height)).save(lower)
    assert len(columns_of(upper, STOOD)) > 200
    assert not len(columns_of(lower, STOOD))


@pytest.mark.parametrize(
    "rows", [[], even(1), even(3), [FrameRow()] * 5], ids=["none", "one", "three", "nothing drawn"]
)
def test_a_run_too_short_to_measure_is_drawn_empty_rather_than_refused(tmp_path, rows):
    frame_pacing(rows, str(tmp_path / "a.png"))
    compared(rows, rows, str(tmp_path / "b.png"), ("a", "b"))
    assert (tmp_path / "a.png").exists()
    assert (tmp_path / "b.png").exists()


@pytest.mark.parametrize("name", ["no/run.png", "run.nonsense"])
def test_a_plot_that_cannot_be_written_says_the_way_out(tmp_path, name):
    with pytest.raises(TwixtError, match=r"for --plot, name a \.png file in an existing folder"):
        frame_pacing(even(10), str(tmp_path / name))
