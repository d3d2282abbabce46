"""Computes the figures of one run of a scene from what the observer kept, the frame log and the scene's own state.

The state only tells which bodies exist and are visible at the instant that a picture shows, and where a body without
pixels is. Instants of pictures are matched with frames of the log.

A body counts if it is visible in its scene for `EXISTS_S` before and after that instant. All bodies are whole if no
body has a pixel in an outermost row or column of the picture, and if each body that counts has pixels or is hidden. A
body without pixels is hidden if its centre is in the picture at pixels of other bodies. Its centre in the picture is
computed with the camera that `camera_fit` finds from the markers. Without such a camera, the body is not hidden.

Pure: takes and returns numbers and arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.evenness import evenness
from bench.view.camera_fit import FittedCamera, fit_camera
from bench.view.codes import CODE_OF
from bench.view.pixels import CELL_PX
from bench.view.scene_world import SceneWorld
from twixt.render.measure.frame_rows import FrameTable

# A body that is born or dies within this time of a picture's instant need not be in the picture, in seconds. The time
# is three frames long, so it covers the uncertainty of the instant.
EXISTS_S = 0.05
# Bodies fill a picture if the box around them has at least this share of its width or height.
FILLED_SHARE = 0.25
# The second figure of filling takes the boxes of this time together, in seconds.
FILLED_S = 4.0
FRAME_S = 1 / 60
# If more simulated time than this passes between two pictures, in frames, nothing moved in between. The second picture
# then counts as one frame later.
MOST_LATE_FRAMES = 3.0
# Smallest simulated time between two pictures for which a speed is computed, in frames; largest difference between the
# simulated time and the wall time that passed, in seconds. A larger difference means that a picture was shown at
# another instant than planned, or is another frame than assumed.
LEAST_FRAMES, SHOWN_AS_PLANNED_S = 0.5, 0.006
# The view stands still if at most this many pixels of the background differ. Some mixed pixels of a body that is nearly
# hidden are taken for background. If the camera moves by a hundredth of a pixel, hundreds of pixels differ.
STRAY_PX = 10
# A marker with fewer pixels is not tracked, and with fewer markers the camera's speed is not measured.
LEAST_MARKER_PX, LEAST_TRACKED = 6, 4
# A marker that another body begins to hide has fewer pixels. It is not tracked from one picture to the next if its
# number of pixels changes by more than this factor.
MOST_RESIZED = 1.2
# Between two polls that are farther apart, a picture may have been missed, in ns. The speed is then not measured.
MISSED_NS = 15_000_000


@dataclass(frozen=True)
class ViewFigures:
    """Figures of one run. A figure that cannot be measured is None.

    samples: number of samples of the screen. Shares of the samples, in percent: whole: all bodies are whole. filled,
    filled_4s: the box around all bodies fills the picture, in this sample and over the last `FILLED_S`. still: the
    background equals that of the previous sample, from `SceneWorld.bounded_from_s` on.

    speed_change_px, speed_change_p99_px: largest change of the camera's speed between two frames, and its 99th
    percentile, in px per frame. speed_change_at_s: simulated time of the largest, in seconds. speed_changes_measured:
    share of the pictures in which it was measured, in percent. cuts: number of pictures that share no markers with the
    one before. missed_per_minute, error_p50_ms, error_p99_ms: see `bench.evenness`.
    """

    samples: int
    whole: float | None = None
    filled: float | None = None
    filled_4s: float | None = None
    still: float | None = None
    speed_change_px: float | None = None
    speed_change_at_s: float | None = None
    speed_change_p99_px: float | None = None
    speed_changes_measured: float | None = None
    cuts: int | None = None
    missed_per_minute: float | None = None
    error_p50_ms: float | None = None
    error_p99_ms: float | None = None


FIGURES = tuple(item.name for item in fields(ViewFigures) if item.name != "speed_change_at_s")


class Observed(NamedTuple):
    """Arrays of the observer's file, see `observer.Observer`. n pictures, m markers in them, s samples."""

    size_px: NDArray[np.int64]
    seen_ns: NDArray[np.int64]
    longest_gap_ns: NDArray[np.int64]
    marker_picture: NDArray[np.int64]
    marker_code: NDArray[np.int64]
    marker_place: NDArray[np.float64]
    marker_pixels: NDArray[np.int64]
    sample_ns: NDArray[np.int64]
    sample_picture: NDArray[np.int64]
    changed_px: NDArray[np.int64]
    pixels: NDArray[np.int64]
    on_border: NDArray[np.bool_]
    box: NDArray[np.int64]
    cells: NDArray[np.bool_]

    @classmethod
    def read(cls, path: str) -> Observed:
        with np.load(path) as arrays:
            return cls(*(arrays[name] for name in cls._fields))

    def markers_of(self, picture: int) -> slice:
        """Rows of the markers of a picture."""
        first, end = np.searchsorted(self.marker_picture, (picture, picture + 1))
        return slice(int(first), int(end))


class SpeedChanges(NamedTuple):
    """change_px: changes of the camera's speed in px per frame, for the pictures in which it was measured. at_s:
    simulated time of these pictures, in seconds."""

    change_px: NDArray[np.float64]
    at_s: NDArray[np.float64]
    cuts: int
    pictures: int


def view_figures(seen: Observed, log: FrameTable, scene: SceneWorld) -> ViewFigures:
    drawn_s = drawn_times(seen.sample_ns, log)
    shown = np.flatnonzero(np.isfinite(drawn_s))
    if not len(shown):
        return ViewFigures(0)
    sizes = np.maximum(*(_extent(seen.box[shown], axis, seen.size_px) for axis in (0, 1)))
    both = _boxes_over(seen.box[shown], seen.sample_ns[shown])
    over = np.maximum(*(_extent(both, axis, seen.size_px) for axis in (0, 1)))
    begin_s = scene.bounded_from_s or 0.0
    compared = (seen.changed_px[shown] >= 0) & (drawn_s[shown] >= begin_s)
    speed = speed_changes(seen, picture_times(seen.seen_ns, log))
    even = evenness(log)
    return ViewFigures(
        samples=len(shown),
        whole=_percent(np.array([is_whole(seen, int(i), scene, float(drawn_s[i])) for i in shown])),
        filled=_percent(sizes >= FILLED_SHARE),
        filled_4s=_percent(over >= FILLED_SHARE),
        still=_percent(seen.changed_px[shown][compared] <= STRAY_PX),
        speed_change_px=_of(speed.change_px, 100),
        speed_change_at_s=float(speed.at_s[speed.change_px.argmax()]) if len(speed.at_s) else None,
        speed_change_p99_px=_of(speed.change_px, 99),
        speed_changes_measured=100 * len(speed.change_px) / speed.pictures if speed.pictures else None,
        cuts=speed.cuts,
        missed_per_minute=even.missed_per_minute,
        error_p50_ms=even.error_p50_ms,
        error_p99_ms=even.error_p99_ms,
    )


def drawn_times(seen_ns: NDArray[np.int64], log: FrameTable) -> NDArray[np.float64]:
    """Simulated time, in seconds, that the screen shows at these instants, within a frame. NaN before the first frame
    that shows bodies."""
    rows = log.where(~log.is_text("mode", "none"))
    at = np.searchsorted(rows["present_ns"], seen_ns, side="right") - 1
    times = np.append(rows["draw_time_ns"] / 1e9, math.nan)
    return np.asarray(times[at])  # -1, before the first frame, is the last of `times`


def picture_times(seen_ns: NDArray[np.int64], log: FrameTable) -> NDArray[np.float64]:
    """Simulated time, in seconds, of the frame that each picture is.

    Between `present_ns` of a frame and the instant at which its picture is seen, there is a nearly constant time. It is
    fitted as the median distance to the frame before.
    """
    present_ns = log["present_ns"]
    if not len(present_ns) or not len(seen_ns):
        return np.full(len(seen_ns), math.nan)
    before = np.maximum(np.searchsorted(present_ns, seen_ns) - 1, 0)
    swapped_ns = seen_ns - np.median(seen_ns - present_ns[before])
    after = np.clip(np.searchsorted(present_ns, swapped_ns), 1, max(1, len(present_ns) - 1))
    is_nearer = swapped_ns - present_ns[after - 1] < present_ns[np.minimum(after, len(present_ns) - 1)] - swapped_ns
    at = np.minimum(np.where(is_nearer, after - 1, after), len(present_ns) - 1)
    return np.asarray(log["draw_time_ns"][at] / 1e9)


def is_whole(seen: Observed, sample: int, scene: SceneWorld, drawn_s: float) -> bool:
    """True if all bodies are whole in the picture of this sample, see the module."""
    if seen.on_border[sample].any():
        return False
    states = [scene.state_at(max(0.0, drawn_s + shift)) for shift in (-EXISTS_S, 0.0, EXISTS_S)]
    counts = states[0].shown & states[1].shown & states[2].shown & (states[0].life == states[2].life)
    if scene.jumps:
        counts = states[1].shown
    missing = np.flatnonzero(counts & (seen.pixels[sample][scene.codes] == 0))
    if not len(missing):
        return True
    camera = camera_of(seen, int(seen.sample_picture[sample]), scene)
    if camera is None:
        return False
    return bool(_is_covered(camera.shown(states[1].position[missing]), seen.cells[sample]).all())


def camera_of(seen: Observed, picture: int, scene: SceneWorld) -> FittedCamera | None:
    rows = seen.markers_of(picture)
    number = np.full(CODE_OF.max() + 1, -1)
    number[CODE_OF] = np.arange(len(CODE_OF))
    known = number[seen.marker_code[rows]]
    good = (known >= 0) & (known < len(scene.markers)) & (seen.marker_pixels[rows] >= LEAST_MARKER_PX)
    width, height = (int(edge) for edge in seen.size_px)
    return fit_camera(scene.markers[known[good]], seen.marker_place[rows][good], (width, height))


def speed_changes(seen: Observed, drawn_s: NDArray[np.float64]) -> SpeedChanges:
    """Changes of the camera's speed between two frames, from three pictures in a row.

    A marker's velocity is the distance between its places in two pictures, divided by the simulated time between them.
    The change of the camera's speed is the median over the markers of the change of this velocity. drawn_s: simulated
    time of each picture, in seconds.
    """
    changes, at_s, cuts, pictures = [], [], 0, len(seen.seen_ns)
    frames = np.diff(drawn_s) / FRAME_S
    is_known = (frames >= LEAST_FRAMES) & (seen.longest_gap_ns[1:] <= MISSED_NS)
    is_known &= np.abs(np.diff(drawn_s) - np.diff(seen.seen_ns) / 1e9) <= SHOWN_AS_PLANNED_S
    frames = np.where(frames > MOST_LATE_FRAMES, 1.0, frames)
    before: dict[int, NDArray[np.float64]] = {}
    for i in range(1, pictures):
        if not is_known[i - 1]:
            before = {}
            continue
        a, b = seen.markers_of(i - 1), seen.markers_of(i)
        codes, in_a, in_b = np.intersect1d(seen.marker_code[a], seen.marker_code[b], return_indices=True)
        counts = seen.marker_pixels[a][in_a], seen.marker_pixels[b][in_b]
        steady = (np.minimum(*counts) >= LEAST_MARKER_PX) & (np.maximum(*counts) <= MOST_RESIZED * np.minimum(*counts))
        velocity = (seen.marker_place[b][in_b] - seen.marker_place[a][in_a]) / frames[i - 1]
        now = {int(code): velocity[j] for j, code in enumerate(codes) if steady[j]}
        cuts += not len(codes) and min(a.stop - a.start, b.stop - b.start) >= LEAST_TRACKED
        both = now.keys() & before.keys()
        if len(both) >= LEAST_TRACKED:
            changes.append(float(np.median([np.linalg.norm(now[code] - before[code]) for code in both])))
            at_s.append(float(drawn_s[i]))
        before = now
    return SpeedChanges(np.array(changes), np.array(at_s), cuts, pictures)


def _is_covered(places: NDArray[np.float64], cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True for each place in the picture where there are pixels of bodies, in its cell or in a neighbour of it."""
    rows, columns = cells.shape
    covered = np.zeros(len(places), bool)
    for i, (x, y) in enumerate(places / CELL_PX):
        if 0 <= x < columns and 0 <= y < rows:  # False for NaN
            column, row = int(x), int(y)
            covered[i] = cells[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2].any()
    return covered


def _extent(boxes: NDArray[np.int64], axis: int, size_px: NDArray[np.int64]) -> NDArray[np.float64]:
    """Width or height of each box as a share of the picture's."""
    return np.asarray((boxes[:, axis + 2] - boxes[:, axis]) / size_px[axis])


def _boxes_over(boxes: NDArray[np.int64], seen_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each sample, the box around the boxes of the last `FILLED_S`. Boxes without pixels are left out."""
    found = boxes.copy()
    filled = boxes[:, 2] > boxes[:, 0]
    first = np.searchsorted(seen_ns, seen_ns - round(FILLED_S * 1e9))
    for i, begin in enumerate(first):
        own = boxes[begin : i + 1][filled[begin : i + 1]]
        if len(own):
            found[i] = np.concatenate([own[:, :2].min(axis=0), own[:, 2:].max(axis=0)])
    return found


def _percent(mask: NDArray[np.bool_]) -> float | None:
    return 100 * float(np.mean(mask)) if len(mask) else None


def _of(values: NDArray[np.float64], percentile: float) -> float | None:
    return float(np.percentile(values, percentile)) if len(values) else None
