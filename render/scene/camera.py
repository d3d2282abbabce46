"""The camera of the stage. Its first view shows the scene's bodies. If the scene has no camera, the camera follows its
bodies until the user moves it. A body can carry the camera.

All pictures share one camera. If a body carries the camera, each picture uses the pose with which the picture draws
this body.

A carried camera does not follow each small movement of its body. It stays where it is until the movement would shift
the picture by REST_PX. Then it moves to the body. A body at rest may tremble. Because the camera then stays, the floor
need not be drawn again in each frame. A shift of REST_PX is too small to be seen. If the body moves so fast that the
picture shifts by REST_PX or more in each frame, the camera moves in each frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Camera
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.snapshot import VISIBLE
from twixt.render.draw.frame.camera import CameraMatrices, OrbitCamera, Viewport, carried, shift_px
from twixt.render.scene.followed_view import DrawnTimes, FollowedView, Sampler
from twixt.render.scene.outside import OutsideBodies, PictureView

if TYPE_CHECKING:
    from twixt.ipc.scene import Scene
    from twixt.render.scene.views import Picture

Bodies = Callable[[], NDArray[np.void]]
WATCHER = "camera"  # name under which the camera watches poses: see Picture.watch
NO_TURN = np.array([0, 0, 0, 1], np.float32)
# A carried camera moves only if the picture would shift by at least this many px. The edges of drawn bodies are no more
# precise than this.
REST_PX = 0.1


class _Rest(NamedTuple):
    """State of a carried camera that stays in place. camera: the camera in the world. lens: the camera in the body's
    frame, from which `camera` was computed."""

    lens: CameraMatrices
    camera: CameraMatrices


class StageCamera:
    """One orbit camera for all pictures. bodies: function that returns the newest bodies, of dtype `BODY`; the first
    view shows these bodies. sample: function that returns some of the newest bodies, to follow them and to count those
    outside the picture. may_follow: False if the camera follows no bodies. Without `sample`, it follows none either.

    before: camera of the simulation that was drawn before. If its scene was the same as `scene`, the user's view is
    kept.
    """

    def __init__(
        self,
        scene: Scene,
        bodies: Bodies,
        sample: Sampler | None = None,
        before: StageCamera | None = None,
        may_follow: bool = True,
    ) -> None:
        self.orbit: OrbitCamera | None = None  # the camera; None before the first frame
        self.is_held = False  # True while a mouse button is held on the picture
        self._followed: FollowedView | None = None  # follows the bodies; None if the camera does not follow them
        self._is_untouched = False  # True if the user has not moved the camera since the first view
        self._sample = sample if may_follow else None
        self._outside = None if sample is None else OutsideBodies(sample)
        if before is not None and before._shows(scene):
            self.orbit, self._followed, self.is_held = before.orbit, before._followed, before.is_held
            self._is_untouched = before._is_untouched
            if self._followed is not None and self._sample is not None:
                self._followed.follow(self._sample)
        self._scene, self._bodies = scene, bodies
        self._is_to_frame = False  # True if the next frame must show all bodies
        self._key: object = None  # everything from which `_lens` was computed
        self._lens: CameraMatrices | None = None
        # Position and orientation of the body that carries the camera. The key is the name of the picture.
        self._carriers: dict[str, tuple[NDArray[np.float64], NDArray[np.float32]]] = {}
        self._rests: dict[str, _Rest] = {}  # the key is the name of the picture

    def set_scene(self, scene: Scene) -> None:
        """Sets a newly published scene. If the scene's camera has changed, the new camera takes effect. Otherwise the
        user's view is kept."""
        if scene.camera != self._scene.camera:
            self.forget()
        elif self._followed is not None:
            self._followed.set_scene(scene)
        self._scene = scene

    def apply_camera(self, scene: Scene) -> None:
        """Applies the camera of `scene`, which replaces the user's view. If the scene has no camera, and had none, and the
        user has not moved the view, the view goes on: it follows the bodies already."""
        is_applied = scene.camera is None and self._scene.camera is None and self._followed is not None
        self._scene = scene
        if not (is_applied and self._is_untouched):
            self.forget()

    @property
    def place(self) -> tuple[object, ...]:
        """Everything that determines the result of `seen`. If two values of `place` differ, the view has changed."""
        orbit = self.orbit
        if orbit is None:
            return ()
        return (
            orbit.target,
            orbit.distance_m,
            orbit.azimuth_rad,
            orbit.elevation_rad,
            orbit.roll_rad,
            orbit.fov_y_deg,
            orbit.principal_point,
            self._scene.camera,
        )

    def seen(self) -> Camera:
        """The user's view, as the `Camera` of a scene. Call this after the first frame."""
        assert self.orbit is not None
        camera = self._scene.camera
        body, rotates = (None, True) if camera is None else (camera.body, camera.rotates_with_body)
        return self.orbit.as_camera(body, rotates)

    def forget(self) -> None:
        """Discards the user's view. The next frame computes the first view again."""
        self.orbit = self._followed = self._key = None
        self._carriers.clear()

    def user_moved(self) -> None:
        """The user has moved the camera. From now on it does not follow bodies, until `frame_all`."""
        self._followed, self._is_untouched = None, False

    @property
    def may_follow(self) -> bool:
        """True if `frame_all` makes the camera follow the bodies."""
        return self._sample is not None and not self._is_carried

    @property
    def is_following(self) -> bool:
        """True if the camera follows the bodies."""
        return self._followed is not None

    @property
    def is_moving(self) -> bool:
        """True if the automatic camera will be at another place in the next frame."""
        return self._followed is not None and self._followed.is_moving

    def advance(self, present_ns: int, drawn: DrawnTimes, window_px: tuple[int, int]) -> None:
        """Moves a camera that follows bodies, for the frame that is shown at `present_ns`. Call this once a frame,
        before `matrices`. window_px: width and height of the window."""
        if self._followed is not None and not self._is_to_frame:
            self._followed.advance(present_ns, drawn, window_px, self.is_held)

    def count_outside(self, present_ns: int, newest: object, view: PictureView | None) -> None:
        """Counts the bodies outside the main picture, for the frame that is shown at `present_ns`. While the camera
        follows the bodies, they are counted only if it leaves some out. newest: see `OutsideBodies.update`. view: what
        the picture shows; None if no hint is shown."""
        if self._outside is None:
            return
        if view is None or (self._followed is not None and not self._followed.left_out):
            self._outside.forget()
        else:
            self._outside.update(present_ns, newest, self._scene, view)

    def outside_text(self, has_key: bool) -> str:
        """Text about bodies outside the main picture; "" if there is none. has_key: True if the user can press F."""
        camera = self._scene.camera
        has_key = has_key and (camera is None or not (camera.locked or self._is_carried))
        return "" if self._outside is None else self._outside.shown.text(has_key)

    @property
    def is_counting(self) -> bool:
        """True if `outside_text` may change although neither the bodies nor the view change."""
        return self._outside is not None and self._outside.is_pending

    def frame_all(self) -> None:
        """Makes the next frame show all bodies from the current direction, and follow them. A carried camera returns to
        its first view."""
        if self._is_carried:
            self.forget()
        self._is_to_frame = True

    def watch(self, picture: Picture) -> None:
        """Makes the picture watch the pose of the body that carries the camera, if a body carries it."""
        body = None if self._scene.camera is None else self._scene.camera.body
        if body is None:
            picture.unwatch(WATCHER)
        elif picture.watching(WATCHER) != [body]:
            picture.watch(WATCHER, np.array([body], np.intp))

    def matrices(self, picture: Picture, size_px: tuple[int, int], window_px: tuple[int, int]) -> CameraMatrices:
        """View and projection of a picture. size_px: width and height of the picture. window_px: width and height of
        the window."""
        camera = self.orbit
        if camera is None or self._is_to_frame:
            camera = self._first_view(window_px)
        place = camera.target, camera.distance_m, camera.azimuth_rad, camera.elevation_rad, camera.roll_rad
        lens = camera.fov_y_deg, camera.orthographic, camera.principal_point
        key = place, lens, camera.reach_m, camera.among, size_px, window_px
        if key != self._key or self._lens is None:
            self._key, self._lens = key, camera.matrices(size_px, window_px)
        if not self._is_carried:
            return self._lens
        poses = picture.watched(WATCHER)
        # If the position of the carrying body is not finite, or if the body no longer exists, the camera stays at its
        # last place.
        if len(poses) and np.isfinite(poses.position[0]).all():
            turn = poses.orientation[0] if self._turns else NO_TURN
            self._carriers[picture.name] = poses.position[0], turn
        carrier = self._carriers.get(picture.name)
        return self._lens if carrier is None else self._rested(picture.name, self._lens, *carrier, size_px[1])

    def around_axis(self, viewport: Viewport, window_px: tuple[int, int]) -> Viewport:
        """A picture is shown in `viewport`. Returns the viewport in which it must be drawn with the result of
        `matrices`. Call this after `matrices`."""
        assert self.orbit is not None
        return self.orbit.around_axis(viewport, window_px)

    def _first_view(self, window_px: tuple[int, int]) -> OrbitCamera:
        """Makes the camera of the scene, or a camera that shows all bodies and follows them."""
        scene, bodies, camera = self._scene, self._bodies(), self.orbit
        aspect = window_px[0] / window_px[1]
        if camera is None:
            camera = self.orbit = OrbitCamera.for_scene(scene, bodies, aspect)
            self._is_untouched = True
        else:
            camera.frame(scene, bodies, aspect)
        self._followed = None
        if self._sample is not None and self.may_follow and (self._is_to_frame or scene.camera is None):
            is_empty = not (bodies["flags"] & VISIBLE).any()
            self._followed = FollowedView(camera, scene, self._sample, window_px, is_empty)
        self._is_to_frame = False
        return camera

    def _rested(
        self,
        name: str,
        lens: CameraMatrices,
        position: NDArray[np.float64],
        turn: NDArray[np.float32],
        height_px: int,
    ) -> CameraMatrices:
        """The camera that a body in this pose carries. If it would shift the picture by less than REST_PX, the previous
        camera of the picture is returned instead."""
        camera, rest = carried(lens, position, turn), self._rests.get(name)
        if rest is not None and rest.lens is lens and shift_px(rest.camera, camera, position, height_px) < REST_PX:
            return rest.camera
        self._rests[name] = _Rest(lens, camera)
        return camera

    def _shows(self, scene: Scene) -> bool:
        """True if `scene` is the same as the current scene."""
        return scene.camera == self._scene.camera and packed_scene(scene).tables == packed_scene(self._scene).tables

    @property
    def _turns(self) -> bool:
        """True if the camera turns with the body that carries it."""
        return self._scene.camera is not None and self._scene.camera.rotates_with_body

    @property
    def _is_carried(self) -> bool:
        return self._scene.camera is not None and self._scene.camera.body is not None
