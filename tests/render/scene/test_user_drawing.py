"""A user's own drawing: its arguments, what it adds, and its errors."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.user_code import UserCodeCrashed
from twixt.ipc.snapshot import MARK, Snapshot, new_bodies
from twixt.render.interpolation import create
from twixt.render.scene.labels import MOST_LABELS, Label
from twixt.render.scene.user_drawing import DrawFrame, UserAdditions, UserDrawing, load

MS = 1_000_000


def snapshot(sim_time_ns: int, x: float = 0.0) -> Snapshot:
    bodies = new_bodies(3)
    bodies["position"][:, 0] = x
    return Snapshot(sim_time_ns, bodies, {"heat": np.full(3, x, np.float32)}, marks=np.zeros(1, MARK))


def frame() -> DrawFrame:
    method = create("linear")
    previous, following = snapshot(0), snapshot(10 * MS, 4.0)
    method.add(previous)
    method.add(following)
    return DrawFrame(16 * MS, 5 * MS, 0.5, previous, following, method.sample(5 * MS), following.marks)


def drawn(draw: Callable[[DrawFrame], object]) -> UserAdditions:
    drawing = UserDrawing(draw, "test:draw")
    added = drawing.draw(frame())
    assert not drawing.failed
    return added


def test_a_frame_tells_its_times_its_snapshots_and_what_is_drawn() -> None:
    seen = frame()
    assert (seen.interval_ns, seen.draw_time_ns, seen.alpha) == (16 * MS, 5 * MS, 0.5)
    assert seen.next is not None
    assert (seen.previous.sim_time_ns, seen.next.sim_time_ns) == (0, 10 * MS)
    np.testing.assert_allclose(seen.poses.position[:, 0], 2)
    np.testing.assert_allclose(seen.columns["heat"], 2)


@pytest.mark.parametrize(
    "array",
    [
        lambda seen: seen.previous.bodies["position"],
        lambda seen: seen.previous.columns["heat"],
        lambda seen: seen.next.bodies["velocity"],
        lambda seen: seen.poses.position,
        lambda seen: seen.poses.visible,
        lambda seen: seen.columns["heat"],
        lambda seen: seen.marks["position"],
        lambda seen: seen.next.marks["position"],
    ],
)
def test_the_world_cannot_be_changed(array: Callable[[DrawFrame], np.ndarray]) -> None:
    with pytest.raises(ValueError, match="read-only"):
        array(frame())[:] = 1


def test_what_the_viewer_holds_stays_writable_for_itself() -> None:
    method, held = create("none"), snapshot(0)
    method.add(held)
    poses = method.sample(0)
    DrawFrame(0, 0, 0, held, None, poses)
    held.bodies["position"][:] = 1
    poses.position[:] = 1


def test_points_come_by_size() -> None:
    def draw(frame: DrawFrame) -> None:
        frame.points([[0, 0, 0], [1, 1, 1]], (1, 0, 0))
        frame.points((2, 2, 2), (0, 1, 0, 0.5), size_px=3)
        frame.points(frame.poses.position, np.eye(3))

    small, large = drawn(draw).points
    assert (small.size_px, large.size_px) == (3, 6)
    assert small.positions.tolist() == [[2, 2, 2]]
    assert small.colors.tolist() == [[0, 255, 0, 128]]
    assert large.positions.shape == (5, 3)
    assert large.positions.dtype == np.float64
    assert large.colors[:2].tolist() == [[255, 0, 0, 255]] * 2
    assert large.colors[2:, :3].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]


def test_lines_come_together() -> None:
    def draw(frame: DrawFrame) -> None:
        frame.line((0, 0, 0), (1, 0, 0))
        frame.lines(np.zeros((2, 3)), np.ones((2, 3)), np.array([[9, 9, 9]] * 2, np.uint8))
        frame.polyline([(0, 0, 0), (0, 0, 1), (0, 0, 2)], (0, 0, 1))

    lines = drawn(draw).lines
    assert lines is not None
    assert lines.starts.tolist() == [[0, 0, 0]] * 3 + [[0, 0, 0], [0, 0, 1]]
    assert lines.ends.tolist() == [[1, 0, 0]] + [[1, 1, 1]] * 2 + [[0, 0, 1], [0, 0, 2]]
    assert lines.colors.tolist() == [[255] * 4] + [[9, 9, 9, 255]] * 2 + [[0, 0, 255, 255]] * 2


def test_labels_keep_place_words_and_colour() -> None:
    [label] = drawn(lambda frame: frame.label(frame.poses.position[0], 4.5, (1, 1, 0))).labels
    assert label == Label((2.0, 0.0, 0.0), "4.5", (255, 255, 0, 255))


def test_labels_are_bounded() -> None:
    assert len(drawn(lambda frame: [frame.label((0, 0, 0), "x") for _ in range(2 * MOST_LABELS)]).labels) == MOST_LABELS


def test_nothing_added_is_nothing_drawn() -> None:
    assert drawn(lambda frame: None) == UserAdditions()
    added = drawn(
        lambda frame: (frame.points([]), frame.lines([], []), frame.polyline([]), frame.polyline([(1, 2, 3)]))
    )
    assert all(len(points.positions) == 0 for points in added.points)
    assert added.lines is not None
    assert len(added.lines.starts) == 0


CHANNEL = st.floats(0, 1) | st.sampled_from([math.nan, math.inf, -math.inf])


@given(st.lists(st.tuples(*[st.floats()] * 3), min_size=1), st.tuples(*[CHANNEL] * 4))
def test_what_is_not_finite_is_never_handed_on(places: list[tuple[float, ...]], color: tuple[float, ...]) -> None:
    def draw(frame: DrawFrame) -> None:
        frame.points(places, color)
        frame.lines(places, places[::-1], color)
        for place in places:
            frame.label(place, "x", color)

    added = drawn(draw)
    with np.errstate(over="ignore"):
        near = np.array(places).astype(np.float32)
    finite = near[np.isfinite(near).all(axis=1)]
    [points] = added.points
    assert len(points.positions) == len(points.colors) == len(finite)
    assert added.lines is not None
    for ends in (points.positions, added.lines.starts, added.lines.ends):
        assert np.isfinite(ends).all()
    assert len(added.lines.starts) == len(added.lines.colors)
    assert len(added.labels) == min(len(finite), MOST_LABELS)


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda frame: frame.points([[1, 2]]), r"positions of shape \(n, 3\).*got shape \(1, 2\)"),
        (
            lambda frame: frame.points((0, 0, 0), (255, 200, 0)),
            r"color must be numbers from 0 to 1, or np\.uint8\(\.\.\.\) from 0 to 255, got int64 from 0 to 255",
        ),
        (lambda frame: frame.points((0, 0, 0), (1, 1)), r"a color \(r, g, b\).*got shape \(2,\)"),
        (lambda frame: frame.points(np.zeros((3, 3)), np.zeros((2, 3))), r"or 3 of them, got shape \(2, 3\)"),
        (lambda frame: frame.points((0, 0, 0), size_px=0), "size_px > 0"),
        (lambda frame: frame.points((0, 0, 0), size_px=math.nan), "size_px > 0"),
        (lambda frame: frame.lines(np.zeros((2, 3)), np.zeros((3, 3))), "as many starts as ends, got 2 and 3"),
        (lambda frame: frame.label(np.zeros((2, 3)), "x"), "one position, got 2"),
    ],
)
def test_a_wrong_shape_is_refused_in_words(add: Callable[[DrawFrame], object], words: str) -> None:
    with pytest.raises(TwixtError, match=words):
        add(frame())


def test_a_drawing_that_exits_is_told_and_left_out_too(capsys: pytest.CaptureFixture[str]) -> None:
    def leaves(_frame: DrawFrame) -> None:
        raise SystemExit(3)

    drawing = UserDrawing(leaves, "leaves:draw")
    assert drawing.draw(frame()) == UserAdditions()
    assert drawing.failed == "leaves:draw raised SystemExit: 3"
    assert capsys.readouterr().err.endswith("twixt: leaves:draw raised SystemExit: 3; drawing continues without it\n")
    assert drawing.draw(frame()) == UserAdditions()
    assert capsys.readouterr().err == ""


def test_what_raises_is_told_once_in_the_users_own_traceback_and_left_out_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "breaks.py").write_text(
        "calls = []\ndef draw(frame):\n    calls.append(frame)\n    frame.points((0, 0, 0))\n    frame.points([1, 2])\n"
    )
    drawing = load("breaks:draw")
    for _ in range(3):
        assert drawing.draw(frame()) == UserAdditions()
    assert len(sys.modules["breaks"].calls) == 1
    assert drawing.failed.startswith("breaks:draw: frame.points takes positions")
    said = capfd.readouterr().err
    assert said.count("Traceback") == 1
    assert "frame.points([1, 2])" in said
    assert "user_drawing.py" not in said
    assert said.splitlines()[-1].startswith("twixt: breaks:draw: frame.points takes")
    assert said.endswith("drawing continues without it\n")


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("draws", "must be module:name"),
        ("draws.py:draw", "draws"),
        (":draw", "must be module:name"),
        ("no_such_module_here:draw", 'no module named "no_such_module_here"'),
        ("draws:drew", 'did you mean "draw"?'),
        ("draws:other", "def other(frame)"),
        ("draws:number", "must be a function"),
    ],
)
def test_a_drawing_that_cannot_be_found_is_refused_in_words(
    reference: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "draws.py").write_text("number = 5\ndef draw(frame):\n    pass\n")
    with pytest.raises(TwixtError) as refused:
        load(reference)
    assert str(refused.value).startswith("--draw")
    assert words in str(refused.value)


def test_a_module_that_raises_when_imported_is_told_in_the_users_own_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "crashes.py").write_text("def draw(frame):\n    pass\n1 / 0\n")
    with pytest.raises(UserCodeCrashed, match="--draw: importing crashes raised ZeroDivisionError") as refused:
        load("crashes:draw")
    assert refused.value.exit_code == 1
    said = refused.value.traceback_text
    assert "1 / 0" in said
    assert "importlib" not in said


def moving(count: int = 6) -> Snapshot:
    bodies = new_bodies(count)
    bodies["position"][:, 0] = np.arange(count)
    bodies["velocity"][:, 1] = np.arange(count)
    return Snapshot(0, bodies)


@pytest.mark.parametrize("folder", ["", "examples"])
def test_the_example_draws_an_arrow_for_each_moving_body_and_says_how_fast_the_fastest_is(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(Path(__file__).parents[3] / folder)
    drawing = load("draw_speed:draw" if folder else "examples.draw_speed:draw")
    method = create("none")
    method.add(moving())
    added = drawing.draw(DrawFrame(0, 0, 0, moving(), moving(), method.sample(0)))
    assert not drawing.failed
    assert added.lines is not None
    assert len(added.lines.starts) == 3 * 5  # a shaft and two wings; the body at rest has none
    np.testing.assert_allclose(added.lines.ends[:5] - added.lines.starts[:5], 0.5 * moving().bodies["velocity"][1:])
    [label] = added.labels
    assert label.text == "5.0 m/s"
    assert label.position == (5, 0, 0)


def test_the_example_draws_nothing_where_nothing_moves() -> None:
    example = load_example()
    still = snapshot(0)
    method = create("none")
    method.add(still)
    assert UserDrawing(example, "x").draw(DrawFrame(0, 0, 0, still, None, method.sample(0))) == UserAdditions()


def load_example() -> Callable[[DrawFrame], object]:
    path = Path(__file__).parents[3] / "examples" / "draw_speed.py"
    names: dict[str, Callable[[DrawFrame], object]] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["draw"]
