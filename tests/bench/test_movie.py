"""README's moving picture: its world repeats, and its pictures are those of the window with captions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import movie
from bench.commands import main
from bench.pages import Results
from twixt.ipc.errors import TwixtError


def test_the_world_is_in_the_same_state_after_each_loop() -> None:
    world = movie.Movie()
    begin = world.bodies.position.copy()
    half = np.abs(world.bodies.orientation[2]).copy()
    steps = round(movie.LOOP_S * movie.PHYSICS_HZ)
    for _ in range(steps):
        world.step(world.dt)
    assert world.bodies.position == pytest.approx(begin, abs=1e-5)
    assert np.abs(world.bodies.orientation[2]) == pytest.approx(half, abs=1e-5)
    assert steps == movie.LOOP_S * movie.PHYSICS_HZ


def test_a_picture_has_the_colours_of_the_window_and_a_caption_in_each_half() -> None:
    width, height = movie.WINDOW_PX
    pixels = np.full((height, width), 0x102030, np.uint32)  # red 16, green 32, blue 48
    made = np.asarray(movie.frame(pixels))
    assert made.shape[1:] == (movie.MOVIE_WIDTH_PX, 3)
    assert made[0, 0].tolist() == [16, 32, 48]
    middle = movie.MOVIE_WIDTH_PX // 2
    assert made[:, :middle].max() > 200
    assert made[:, middle:].max() > 200


def test_a_recording_that_missed_a_picture_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Nothing:
        environ: dict[str, str] = {}
        pixels_file = ""

        def __enter__(self) -> Nothing:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    instants_s = [0.0, 1 / movie.FPS, 3 / movie.FPS]
    pictures = [np.zeros(movie.WINDOW_PX[::-1], np.uint32)] * 2
    for name in ("mapped_screen", "process"):
        monkeypatch.setattr(movie, name, lambda *_, **__: Nothing())
    monkeypatch.setattr(movie, "open_screen", lambda _: None)
    monkeypatch.setattr(movie, "recorded", lambda _: (instants_s, pictures))
    with pytest.raises(TwixtError, match="missed or repeated"):
        movie.run(Results(), str(tmp_path / "a.webp"))
    assert not (tmp_path / "a.webp").exists()
    instants_s[2] = 2 / movie.FPS
    assert movie.run(Results(), str(tmp_path / "a.webp")) == 0
    assert (tmp_path / "a.webp").stat().st_size > 100


def test_a_movie_without_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["movie", str(tmp_path / "no" / "a.webp")]) == 2
    assert "a.webp" in capsys.readouterr().err
