"""Counts the bodies that are wholly outside the picture, for the overlay's hint.

A body is outside if a ball around it is beyond a plane of the view frustum: a side of the picture, the near plane or
the far plane. The newest bodies are sampled, at most twice a second.

Always: a body of which a pixel is drawn is not outside. Some bodies just beyond a corner of the picture do not count as
outside either. Hidden bodies and floors do not count at all, nor do meshes that deform: no ball around them is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene.surfaces import surface_rows
from twixt.render.draw.frame.camera import CameraMatrices, Viewport
from twixt.render.scene.body_bounds import countable
from twixt.render.scene.followed_view import PlacedBodies, Sampler, ShapeFacts

if TYPE_CHECKING:
    from twixt.ipc.scene import Scene

# Shortest time between two samples. A body must be outside for DELAY_NS before the hint appears.
SAMPLE_NS, DELAY_NS = 500_000_000, 1_000_000_000
# Largest number of bodies in a sample, evenly spread. A sample of this size takes 0.2 to 0.6 ms of processor time.
MOST_BODIES = 2048
# A body counts as outside only if it is this far beyond a side, as a share of half the picture's width or height. Soft
# edges, the least size of drawn bodies and rounding reach less far.
MARGIN = 0.02


class PictureView(NamedTuple):
    """What a picture shows. viewport: where the picture is. around_axis: the viewport to which `camera` belongs, as
    `OrbitCamera.around_axis` returns it."""

    camera: CameraMatrices
    viewport: Viewport
    around_axis: Viewport


class OutsideCount(NamedTuple):
    """outside: number of bodies that are wholly outside the picture. bodies: number of bodies that count. is_estimated:
    True if only some of the bodies were sampled."""

    outside: int = 0
    bodies: int = 0
    is_estimated: bool = False

    def text(self, has_key: bool) -> str:
        """Text of the hint; "" if no body is outside. has_key: True if the key F brings the bodies back."""
        outside, bodies, is_estimated = self
        if not outside:
            return ""
        if bodies == 1:
            which = "the body is"
        elif outside == bodies and not is_estimated:
            which = f"all {bodies:,} bodies are"
        else:
            about = "about " if is_estimated else ""
            which = f"{about}{outside:,} of {bodies:,} bodies {'is' if outside == 1 else 'are'}"
        return f"{which} outside the picture{': F frames all' if has_key else ''}"


NONE = OutsideCount()


class OutsideBodies:
    """The bodies outside the main picture of one simulation, frame by frame. sample: function that returns some of the
    newest bodies.

    shown: the count that the hint shows; 0 bodies are outside if it shows none. is_pending: True if the hint may change
    in the next frames, although neither the bodies nor the view change.
    """

    def __init__(self, sample: Sampler) -> None:
        self._sample = sample
        self._shapes: ShapeFacts | None = None
        self.forget()

    def forget(self) -> None:
        """Ends the hint. The next count begins anew."""
        self.shown = self._counted = NONE
        self.is_pending = False
        self._counted_of: tuple[object, object] | None = None  # newest snapshot and view of the last count
        self._counted_ns = 0
        self._since_ns: int | None = None  # since when bodies are outside

    def update(self, present_ns: int, newest: object, scene: Scene, view: PictureView) -> None:
        """Counts the bodies for the frame that is shown at `present_ns`. newest: the newest snapshot, or any object
        that changes with it."""
        last = self._counted_of
        is_counted = last is not None and last[0] is newest and last[1] is view.camera
        if not is_counted and (last is None or abs(present_ns - self._counted_ns) >= SAMPLE_NS):
            self._counted_of, self._counted_ns, is_counted = (newest, view.camera), present_ns, True
            self._counted = self._count(scene, view)
        if not self._counted.outside:
            self._since_ns, self.shown = None, NONE
        else:
            self._since_ns = present_ns if self._since_ns is None else self._since_ns
            if self.shown.outside or present_ns - self._since_ns >= DELAY_NS:
                self.shown = self._counted
        self.is_pending = not is_counted or (self._counted.outside > 0 and not self.shown.outside)

    def _count(self, scene: Scene, view: PictureView) -> OutsideCount:
        if self._shapes is None or self._shapes.scene is not scene:
            self._shapes = ShapeFacts(scene)
        placed = self._shapes.placed(self._sample, MOST_BODIES)
        # Without its parent, which is not in such a sample, the place of a child is not known.
        if placed is None or (scene.parents and placed.sampled.stride > 1):
            return NONE
        return count_outside(scene, placed, view)


def count_outside(scene: Scene, placed: PlacedBodies, view: PictureView) -> OutsideCount:
    """Counts the bodies that are wholly outside the picture. From a sample, estimates the number of all."""
    (head, stride, bodies, _), shapes = placed
    position = np.ascontiguousarray(bodies["position"].T)
    counts = countable(bodies, position, shapes)
    deforming = surface_rows(scene, head.count).bodies
    counts[deforming[deforming % stride == 0] // stride] = False
    total, outside = int(counts.sum()), int((counts & is_outside(position, shapes.radius, view)).sum())
    if stride == 1:
        return OutsideCount(outside, total)
    return OutsideCount(min(_rounded(outside * stride), head.count), min(total * stride, head.count), True)


def is_outside(position: NDArray[np.float32], radius: NDArray[np.float32], view: PictureView) -> NDArray[np.bool_]:
    """Mask of the balls that are wholly outside the picture, (n,). position: (3, n), metres. radius: (n,), metres."""
    camera, (left_px, bottom_px, width_px, height_px), around = view
    right, top = _share(left_px + width_px, around[0], around[2]), _share(bottom_px + height_px, around[1], around[3])
    left, bottom = _share(left_px, around[0], around[2]), _share(bottom_px, around[1], around[3])
    x, y, depth, w = camera.projection.astype(np.float64)
    sides = [x - (left - MARGIN) * w, (right + MARGIN) * w - x, y - (bottom - MARGIN) * w, (top + MARGIN) * w - y]
    planes = np.array([*sides, w - depth, w + depth])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # very far away, two planes may be equal
        planes /= np.linalg.norm(planes[:, :3], axis=1)[:, None]
        at_eye = camera.view[:3, :3].astype(np.float64) @ (position - np.array(camera.eye)[:, None])
        inside_m = planes[:, :3] @ at_eye + planes[:, 3:]
        found: NDArray[np.bool_] = (inside_m < -radius).any(axis=0)
    return found


def _share(at_px: int, first_px: int, length_px: int) -> float:
    """Position in a viewport as an OpenGL coordinate: -1 at its first pixel, 1 at its end."""
    return 2 * (at_px - first_px) / length_px - 1


def _rounded(count: int) -> int:
    """The count with two significant digits."""
    return int(float(f"{count:.1e}"))
