"""The user's own drawing: a function that is called once a frame and adds points, lines and labels.

    def draw(frame):
        frame.points(frame.poses.position, color=(1, 0.8, 0.2), size_px=4)

The arrays that the function receives are read-only. If the function raises an exception, its traceback is printed and
the function is not called again. The viewer continues without it. This module does not draw. It returns the points,
lines and labels as plain arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidValue, TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.user_code import user_crash
from twixt.ipc.scene.checks import check_colors, color_bytes
from twixt.ipc.snapshot import NO_MARKS, Snapshot
from twixt.render.interpolation.blending import find
from twixt.render.interpolation.poses import Poses
from twixt.render.scene.labels import MOST_LABELS, Label

WHITE = (1.0, 1.0, 1.0)
POINT_PX = 6.0


class Points(NamedTuple):
    """Round dots of one size. size_px: their diameter in pixels."""

    positions: NDArray[np.floating]  # (n, 3), metres
    colors: NDArray[np.uint8]  # (n, 4), rgba
    size_px: float


class Lines(NamedTuple):
    """Straight lines."""

    starts: NDArray[np.floating]  # (n, 3), metres
    ends: NDArray[np.floating]  # (n, 3)
    colors: NDArray[np.uint8]  # (n, 4), rgba


class UserAdditions(NamedTuple):
    """Points, lines and labels that one call of the user's function has added. points: one entry for each size, the
    smallest first. lines: None if there are no lines."""

    points: tuple[Points, ...] = ()
    lines: Lines | None = None
    labels: tuple[Label, ...] = ()


class DrawFrame:
    """One frame: the argument of a `DrawFunction`. Its methods add points, lines and texts to the picture.

    For an example see `DrawFunction`. The arrays are read-only; row i is body i. A colour is (r, g, b) or (r, g, b,
    a), each number from 0 to 1, or np.uint8 from 0 to 255. Pass one colour for all items, or one colour for each item.
    Items with positions that are not finite are left out.

    Attributes:
        interval_ns: Real time since the previous frame, in ns. In the first frame the value is 0.
        draw_time_ns: Simulated time of the frame, in ns.
        alpha: Position of the draw time between the snapshots `previous` and `next`, from 0 to 1.
        previous: The earlier of the two snapshots (`twixt.Snapshot`).
        next: The later of the two snapshots. None while the picture does not change.
        poses: The drawn state of the n bodies: `position` (n, 3), `orientation` (n, 4), `scale` (n,), `color` (n, 4)
            and `visible` (n,).
        columns: All columns at the draw time, by name. Columns of bodies have n rows, columns of parts have one row
            for each part, and columns of the world have one row.
        marks: Marks at the draw time, (m,) of dtype `twixt.ipc.snapshot.MARK`, sorted by key.
    """

    interval_ns: int
    draw_time_ns: int
    alpha: float
    previous: Snapshot
    next: Snapshot | None
    poses: Poses
    columns: dict[str, NDArray[Any]]
    marks: NDArray[np.void]

    def __init__(
        self,
        interval_ns: int,
        draw_time_ns: int,
        alpha: float,
        previous: Snapshot,
        next: Snapshot | None,
        poses: Poses,
        marks: NDArray[np.void] = NO_MARKS,
    ) -> None:
        self.interval_ns = interval_ns
        self.draw_time_ns = draw_time_ns
        self.alpha = alpha
        self.previous = _read_only_snapshot(previous)
        self.next = None if next is None else _read_only_snapshot(next)
        self.poses = _read_only_poses(poses)
        self.marks = _read_only(marks)
        self.columns = {**self.poses.columns, **self.poses.part_columns, **self.poses.world_columns}
        self._points: dict[float, list[tuple[NDArray[np.floating], NDArray[np.uint8]]]] = {}
        self._lines: list[tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.uint8]]] = []
        self._labels: list[Label] = []

    def points(self, positions: ArrayLike, color: ArrayLike = WHITE, size_px: float = POINT_PX) -> None:
        """Adds round dots.

        Args:
            positions: (n, 3), or (3,) for one dot, metres.
            color: One colour for all dots, or one colour for each dot. By default white.
            size_px: Diameter in pixels, > 0.

        Raises:
            TwixtError: A shape is wrong, or a colour or `size_px` is out of range.
        """
        if not 0 < size_px < np.inf:
            raise InvalidValue(f"frame.points takes a size_px > 0 (pixels), got {size_px!r}")
        places = _places("frame.points", "positions", positions)
        kept = np.isfinite(places).all(axis=1)
        colors = _colors("frame.points", color, len(places))
        self._points.setdefault(float(size_px), []).append((places[kept], colors[kept]))

    def line(self, a: ArrayLike, b: ArrayLike, color: ArrayLike = WHITE) -> None:
        """Adds a line from `a` to `b`.

        Args:
            a: Start of the line, (3,), metres.
            b: End of the line, (3,), metres.
            color: Colour of the line.

        Raises:
            TwixtError: A shape is wrong, or a colour is out of range.
        """
        self._add_lines("frame.line", a, b, color)

    def lines(self, starts: ArrayLike, ends: ArrayLike, color: ArrayLike = WHITE) -> None:
        """Adds n lines. Line i extends from row i of `starts` to row i of `ends`.

        Args:
            starts: (n, 3), metres.
            ends: (n, 3), metres.
            color: One colour for all lines, or one colour for each line.

        Raises:
            TwixtError: A shape is wrong, or a colour is out of range.
        """
        self._add_lines("frame.lines", starts, ends, color)

    def polyline(self, points: ArrayLike, color: ArrayLike = WHITE) -> None:
        """Adds a line that joins the points in their order.

        Args:
            points: (n, 3), metres.
            color: One colour for the line, or one colour for each point. If each point has a colour, each segment has
                the colour of its first point.

        Raises:
            TwixtError: A shape is wrong, or a colour is out of range.
        """
        places = _places("frame.polyline", "points", points)
        colors = _colors("frame.polyline", color, len(places))
        self._add_lines("frame.polyline", places[:-1], places[1:], colors[: max(0, len(places) - 1)])

    def label(self, position: ArrayLike, text: object, color: ArrayLike = WHITE) -> None:
        """Adds a text. In each frame, at most 500 texts are drawn; further texts are left out.

        Args:
            position: (3,), metres.
            text: The text. Any other object is converted with `str`.
            color: Colour of the text.

        Raises:
            TwixtError: There is more than one position, a shape is wrong, or a colour is out of range.
        """
        places = _places("frame.label", "position", position)
        if len(places) != 1:
            raise InvalidValue(f"frame.label takes one position, got {len(places)}; call it once for each")
        if len(self._labels) == MOST_LABELS or not np.isfinite(places).all():
            return
        red, green, blue, alpha = _colors("frame.label", color, 1)[0].tolist()
        x, y, z = places[0].tolist()
        self._labels.append(Label((x, y, z), str(text), (red, green, blue, alpha)))

    def _add_lines(self, name: str, starts: ArrayLike, ends: ArrayLike, color: ArrayLike) -> None:
        first, last = _places(name, "starts", starts), _places(name, "ends", ends)
        if len(first) != len(last):
            raise InvalidValue(f"{name} takes as many starts as ends, got {len(first)} and {len(last)}")
        kept = np.isfinite(first).all(axis=1) & np.isfinite(last).all(axis=1)
        colors = _colors(name, color, len(first))
        self._lines.append((first[kept], last[kept], colors[kept]))

    def _drawn(self) -> UserAdditions:
        """Everything that the user's function has added so far."""
        points = tuple(
            Points(np.concatenate([at for at, _ in parts]), np.concatenate([colors for _, colors in parts]), size_px)
            for size_px, parts in sorted(self._points.items())
        )
        lines = [np.concatenate(parts) for parts in zip(*self._lines, strict=True)]
        return UserAdditions(points, Lines(*lines) if lines else None, tuple(self._labels))


class DrawFunction(Protocol):
    """A function for `draw="module:function"` or `--draw module:function`. The viewer calls it once in each frame.

    If the function raises an exception, the traceback is printed, and the function is not called again.

    Examples:
        Save this function as my_drawing.py, and run `twixt run balls --draw my_drawing:draw`.

        ```python
        from twixt import DrawFrame

        def draw(frame: DrawFrame) -> None:
            frame.points(frame.poses.position, color=(1, 0.8, 0.2), size_px=4)
            frame.label((0, 0, 2), f"{frame.draw_time_ns / 1e9:.1f} s")
        ```
    """

    def __call__(self, frame: DrawFrame, /) -> object:
        """Draws into one frame.

        Args:
            frame: The frame.

        Returns:
            Any object. The viewer ignores the object.
        """


class UserDrawing:
    """A user's function. name: the text that was given to `--draw`. failed: the exception that the function raised, as
    one line; empty if it has not raised an exception."""

    def __init__(self, function: DrawFunction, name: str) -> None:
        self.name = name
        self.failed = ""
        self._function = function

    def draw(self, frame: DrawFrame) -> UserAdditions:
        """Calls the user's function and returns what it adds. If the function has raised an exception before, it is not
        called and nothing is added."""
        if self.failed:
            return UserAdditions()
        try:
            self._function(frame)
            return frame._drawn()
        except (Exception, SystemExit) as error:  # if the user's code calls sys.exit, the viewer must not end
            crash = user_crash(self.name, error)
            self.failed = str(crash)
            print_notice(f"{crash}; drawing continues without it", crash.traceback_text)
            return UserAdditions()


def load(reference: str) -> UserDrawing:
    """Loads the function that `--draw module:function` names. Raises TwixtError if there is no such function, and
    UserCodeCrashed if the module raises an exception when it is imported."""
    found = find(reference, "--draw", "my_drawing:draw", "def {name}(frame)")
    if not callable(found):
        raise TwixtError(f"--draw: {reference} must be a function of one argument (the frame), got {found!r}")
    return UserDrawing(found, reference)


def _places(name: str, argument: str, values: ArrayLike) -> NDArray[np.floating]:
    places = np.array(values)
    if places.dtype != np.float32:
        places = places.astype(np.float64)
        with np.errstate(over="ignore"):  # positions that are too large for float32 are left out
            places[~np.isfinite(places.astype(np.float32))] = np.inf
    if places.ndim == 1 and places.shape == (3,):
        places = places[None]
    if places.size == 0:
        return np.zeros((0, 3), np.float32)
    if places.ndim != 2 or places.shape[1] != 3:
        raise InvalidValue(f"{name} takes {argument} of shape (n, 3) or (3,), metres, got shape {places.shape}")
    return places


def _colors(name: str, color: ArrayLike, count: int) -> NDArray[np.uint8]:
    given = np.asarray(color)
    if given.ndim not in (1, 2) or given.shape[-1] not in (3, 4) or (given.ndim == 2 and len(given) not in (1, count)):
        raise InvalidValue(
            f"{name} takes a color (r, g, b) or (r, g, b, a), or {count} of them, got shape {given.shape}"
        )
    if not check_colors(f"{name}: color", given):
        given = np.nan_to_num(given, posinf=1.0, neginf=0.0)
    colors = np.full((count, 4), 255, np.uint8)
    colors[:, : given.shape[-1]] = color_bytes(given)
    return colors


def _read_only(values: NDArray[Any]) -> NDArray[Any]:
    seen = values.view()
    seen.flags.writeable = False
    return seen


def _read_only_columns(columns: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    return {name: _read_only(column) for name, column in columns.items()}


def _read_only_snapshot(snapshot: Snapshot) -> Snapshot:
    return replace(
        snapshot,
        bodies=_read_only(snapshot.bodies),
        columns=_read_only_columns(snapshot.columns),
        part_columns=_read_only_columns(snapshot.part_columns),
        world_columns=_read_only_columns(snapshot.world_columns),
        marks=_read_only(snapshot.marks),
        vertices=_read_only(snapshot.vertices),
    )


def _read_only_poses(poses: Poses) -> Poses:
    arrays = {name: _read_only(values) for name, values in vars(poses).items() if isinstance(values, np.ndarray)}
    return replace(
        poses,
        **arrays,  # type: ignore[arg-type]
        columns=_read_only_columns(poses.columns),
        part_columns=_read_only_columns(poses.part_columns),
        world_columns=_read_only_columns(poses.world_columns),
    )
