"""What is on the screen: one picture of the world, or two side by side, with trails and the user's own drawing.

The one idea: snapshots come in once and serve all; a frame asks each clock for its instant, each picture for what
it shows then, and draws that into its part of the window. The right picture is the run's own, whose figures are
logged; the left one is there to be compared with it.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config import Config
from twixt.render.camera import CameraMatrices, OrbitCamera, carried
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.draw.shape_table import shape_table
from twixt.render.frame_parts import DRAW, USER
from twixt.render.history import History
from twixt.render.labels import PlacedLabel, Viewport, place
from twixt.render.picture.picture import Picture, Shown
from twixt.render.playback import PlaybackClock

if TYPE_CHECKING:
    from twixt.ipc.plan import Plan
    from twixt.ipc.scene import Scene
    from twixt.ipc.snapshot import Head, Snapshot
    from twixt.render.frame_parts import PartMeter
    from twixt.render.trails import Trails
    from twixt.render.user_drawing import Drawn, UserDrawing

MAIN, LEFT = "main", "left"
# What the left half shows unless told otherwise: what a plain viewer would.
PLAIN = ("none", "")
# Slots for poses of one picture: its bodies in no group, its groups, its children. More than a scene has groups.
POSE_SLOTS = 1 << 20
# Who watches poses: see Picture.watch.
TRAILS, CAMERA, DRAWING = "trails", "camera", "drawing"
# Pixels of a trail's dot, and of the black line between two halves.
DOT_PX = 5.0
LINE_PX = 2
# Said once in the terminal, and in the overlay for so long, when a colour asks for what is not drawn yet.
ALPHA_SAID = "bodies are drawn opaque, whatever the alpha of their color is; to hide one, make it not visible"
ALPHA_SAID_NS = 8_000_000_000


class Stage:
    """slots: snapshots that it keeps on the GPU. bodies: the newest ones, for a camera that has to find them."""

    def __init__(
        self, config: Config, context: Any, scene: Scene, slots: int,
        bodies: Callable[[], NDArray[np.void]],
    ) -> None:  # fmt: skip
        self.scene, self.count, self._slots = scene, len(scene.shapes), slots
        self._context, self._bodies = context, bodies
        self.history = History(slots)
        self.renderer = SceneRenderer(context, scene, slots)
        self.clock = PlaybackClock(config.clock)
        self.clock.prefer, self.clock.buffer_ms = config.prefer, config.buffer_ms
        self._named_by = {method: "--split" for method, _ in config.split or ()}
        self._named_by[config.interpolation] = "--interpolation"
        self.main = Picture(
            MAIN, self.clock, config.interpolation, scene, self.count, slots, config.chase_ms, (), self._named_by
        )
        self.left: Picture | None = None
        self._left_choice = PLAIN if config.split is None else config.split[0]
        self._chase_ms = config.chase_ms
        self.labels: list[PlacedLabel] = []  # words of the user's own drawing, in the frame drawn last
        self.camera: OrbitCamera | None = None  # None until bodies were seen
        self._seen: object = None  # the camera and the picture's size for which `_lens` is right
        self._lens: CameraMatrices | None = None
        self._trails: dict[str, Trails] = {}
        self._trail_colors: NDArray[np.float64] = np.zeros((0, 3))  # of the shapes, 0..1
        self._world_epoch: int | None = None  # of what is drawn
        self._drawing: UserDrawing | None = None
        if config.draw is not None:
            from twixt.render.user_drawing import load

            self._drawing = load(config.draw)
        self._copies: dict[int, Snapshot] = {}  # by slot
        self._carriers: dict[str, tuple[NDArray[np.float64], NDArray[np.float32]]] = {}  # of a camera on a body
        self._present_ns = 0
        self.parts: PartMeter | None = None  # told which time the user's drawing took
        self._alpha_until_ns = 0  # how long the overlay says that bodies are opaque; 0: it was not said yet
        if self._drawing is not None:
            self.main.watch(DRAWING, None)
        self._watch_camera()

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """From left to right."""
        return (self.main,) if self.left is None else (self.left, self.main)

    @property
    def clocks(self) -> tuple[PlaybackClock, ...]:
        """One for each picture: what one method needs of a clock must not show in the other."""
        return tuple(picture.clock for picture in self.pictures)

    @property
    def needs_copies(self) -> bool:
        """Whether somebody draws from private copies of snapshots."""
        return any(picture.needs_copies for picture in self.pictures)

    # -- what comes in

    def set_scene(self, scene: Scene) -> None:
        """A scene that was published anew. Another camera is obeyed; the same one leaves it where the user moved it."""
        if scene.camera != self.scene.camera:
            self.camera = self._seen = None
            self._carriers.clear()
        self.scene = scene
        self.renderer.set_scene(scene)
        self._divide_anew()

    def begin_anew(self, scene: Scene, bodies: Callable[[], NDArray[np.void]]) -> None:
        """Another simulation's scene; its snapshots come as those of a newer world. The camera stays in a like scene."""
        is_alike = scene.to_bytes() == self.scene.to_bytes()
        self._bodies, self.count = bodies, len(scene.shapes)
        self.history.clear()
        self._copies.clear()
        self._carriers.clear()
        if not is_alike:
            self.camera = self._seen = None
        self.set_scene(scene)

    def add(self, snapshot: Snapshot, slot: int) -> None:
        """A private copy of what is in that slot."""
        for picture in self.pictures:
            picture.add(snapshot)
        if self.needs_copies:
            self._copies[slot] = snapshot

    def observe(self, head: Head) -> None:
        """A snapshot is there to be drawn, from the instant at which it was published."""
        if head.count > self.count:
            self.count = head.count
            if self.scene.groups or self.scene.parents:
                self._divide_anew()
            elif self._trails:
                self._trail(True)
        # When this viewer looked says more of the viewer than of physics.
        for clock in self.clocks:
            clock.observe(head.sim_time_ns, head.due_ns, head.published_ns, head.world_epoch, head.plan_number)

    def replan(self, plan: Plan) -> None:
        """What physics does now."""
        for clock in self.clocks:
            clock.replan(plan)

    # -- what the user chooses

    def choose(self, interpolation: str, clock: str, prefer: str, split: bool, trails: bool) -> None:
        """Draw like that from the next frame on; asked for every frame, does nothing where nothing changed."""
        if interpolation != self.main.method:
            self.main.choose(interpolation)
            if self.left is not None and not self._left_choice[0]:
                self.left.choose(interpolation)
        if clock != self.clock.mode:
            self.clock.select(clock)
        if self.left is not None and not self._left_choice[1] and clock != self.left.clock.mode:
            self.left.clock.select(clock)
        for each in self.clocks:
            if each.prefer != prefer:
                each.prefer = prefer
        if split != (self.left is not None):
            self._split(split)
        if trails != bool(self._trails):
            self._trail(trails)

    @property
    def split_labels(self) -> tuple[str, str] | None:
        """What the two halves show, left and right."""
        if self.left is None:
            return None
        return _label(self.left), _label(self.main)

    @property
    def messages(self) -> tuple[str, ...]:
        """What the user should be told of what is drawn."""
        failed = "" if self._drawing is None else self._drawing.failed
        said = [f"--draw: {failed}"] if failed else []
        if self._present_ns < self._alpha_until_ns:
            said.append(ALPHA_SAID)
        return tuple(said)

    def _split(self, on: bool) -> None:
        if not on:
            assert self.left is not None
            self.left.release(self.history)
            self.left = None
        else:
            method, mode = self._left_choice
            clock = copy.deepcopy(self.clock)
            if mode and mode != clock.mode:
                clock.select(mode)
            first_slot = self._slots + POSE_SLOTS
            self.left = Picture(
                LEFT, clock, method or self.main.method, self.scene, self.count, first_slot, self._chase_ms,
                self._past(), self._named_by,
            )  # fmt: skip
            self._watch_camera()
        if self._trails:
            self._trail(True)

    def _trail(self, on: bool) -> None:
        """Trails of pictures and bodies that have them already go on."""
        from twixt.render.trails import Trails, trail_rows

        rows = trail_rows(self.count)
        had, self._trails = self._trails, {}
        if on:
            self._trail_colors = shape_table(self.scene, self.count).rows["color"][rows, :3] / 255
        for picture in self.pictures:
            if not on:
                picture.unwatch(TRAILS)
                continue
            trails = had.get(picture.name)
            if trails is None or not np.array_equal(trails.rows, rows):
                picture.watch(TRAILS, rows, self._past())
                trails = Trails(rows) if trails is None else trails.of(rows)
            self._trails[picture.name] = trails

    def _divide_anew(self) -> None:
        past = self._past()
        for picture in self.pictures:
            for part in picture.set_scene(self.scene, self.count, past):
                part.release(self.history)
        self._watch_camera()
        if self._trails:
            self._trail(True)

    def _past(self) -> list[Snapshot]:
        """What is held of private copies: who begins now goes on from there."""
        held = [(self._copies.get(entry.slot), entry.head) for entry in self.history.entries]
        return [snapshot for snapshot, head in held if snapshot is not None and snapshot.tick == head.tick]

    def _watch_camera(self) -> None:
        body = None if self.scene.camera is None else self.scene.camera.body
        for picture in self.pictures:
            if body is None:
                picture.unwatch(CAMERA)
            elif picture.watching(CAMERA) != [body]:
                picture.watch(CAMERA, np.array([body], np.intp), self._past())

    # -- a frame

    def draw(self, present_ns: int, size_px: tuple[int, int]) -> Shown | None:
        """Draws what is to be seen at `present_ns`; what the run's own picture shows, None before anything came."""
        pictures = self.pictures
        draw_times_ns = [self._draw_time_ns(picture, present_ns) for picture in pictures]
        viewports = side_by_side(size_px, len(pictures))
        if len(pictures) > 1:
            self._context.clear()
        self.labels = []
        shown = None
        self._begin_world()
        for picture, viewport, draw_time_ns in zip(pictures, viewports, draw_times_ns, strict=True):
            shown = picture.draw(draw_time_ns, present_ns, self.history, self.renderer)
            if shown is None:
                self._context.clear()
                return None
            matrices = self._matrices(picture, viewport[2:], size_px)
            layers = [part.layer for part in shown.parts if part.layer is not None]
            self.renderer.draw(layers, matrices, viewport)
            if picture.name in self._trails:
                self._draw_trails(picture, present_ns)
            if picture is self.main and self._drawing is not None:
                self._draw_users(self._drawing, shown, present_ns, matrices, viewport, size_px[1])
        self._present_ns = present_ns
        if self.renderer.has_alpha and not self._alpha_until_ns:
            self._alpha_until_ns = present_ns + ALPHA_SAID_NS
            print(f"twixt: {ALPHA_SAID}", file=sys.stderr, flush=True)
        if self._copies and not self.needs_copies:
            self._copies.clear()
        return shown

    def pass_still(self, present_ns: int) -> None:
        """Time passed without a frame until the present: the clocks are not to make up for it in the next."""
        for picture in self.pictures:
            self._draw_time_ns(picture, present_ns)

    @property
    def moves_by_itself(self) -> bool:
        """Frames may differ though all of them draw the same instant."""
        return self._drawing is not None or any(picture.is_changing for picture in self.pictures)

    def _draw_time_ns(self, picture: Picture, present_ns: int) -> int:
        clock, reach_ns = picture.clock, picture.reach_ns
        if clock.reach_ns != reach_ns:
            clock.reach_ns = reach_ns
        return clock.draw_time_ns(present_ns)

    def _matrices(self, picture: Picture, size_px: tuple[int, int], window_px: tuple[int, int]) -> CameraMatrices:
        if self.camera is None:
            self.camera = OrbitCamera.for_scene(self.scene, self._bodies(), window_px[0] / window_px[1])
        camera = self.camera
        seen = (
            camera.target, camera.distance_m, camera.azimuth_rad, camera.elevation_rad, camera.fov_y_deg,
            camera.reach_m, camera.among, size_px, window_px,
        )  # fmt: skip
        if seen != self._seen:
            self._seen, self._lens = seen, camera.matrices(size_px, window_px)
        assert self._lens is not None
        matrices = self._lens
        if self.scene.camera is None or self.scene.camera.body is None:
            return matrices
        poses = picture.watched(CAMERA)
        # A body that has no place for a while, or is not there any more, leaves the camera where it carried it last.
        if len(poses) and np.isfinite(poses.position[0]).all():
            self._carriers[picture.name] = poses.position[0], poses.orientation[0]
        carrier = self._carriers.get(picture.name)
        return matrices if carrier is None else carried(matrices, *carrier)

    def _begin_world(self) -> None:
        """Another world leaves no trails behind."""
        newest = self.history.newest
        if newest is not None and newest.head.world_epoch != self._world_epoch:
            self._world_epoch = newest.head.world_epoch
            for trails in self._trails.values():
                trails.clear()

    def _draw_trails(self, picture: Picture, present_ns: int) -> None:
        trails, poses = self._trails[picture.name], picture.watched(TRAILS)
        if known := len(poses):
            trails.add(present_ns, poses.position, poses.visible, poses.epoch)
            trails.colors[:known] = poses.color[:, :3] * self._trail_colors[:known]
        self.renderer.points(*trails.dots(), DOT_PX)

    def _draw_users(
        self, drawing: UserDrawing, shown: Shown, present_ns: int, camera: CameraMatrices, viewport: Viewport,
        height_px: int,
    ) -> None:  # fmt: skip
        pair, poses = shown.main.pair, self.main.watched(DRAWING)
        previous = self._copies.get(pair.previous.slot)
        if previous is None or not len(poses):
            return
        following = None if pair.next is None else self._copies.get(pair.next.slot)
        passed_s = (present_ns - self._present_ns) / 1e9 if self._present_ns else 0.0
        from twixt.render.user_drawing import Frame

        if self.parts is not None:
            self.parts.lap(DRAW)
        added: Drawn = drawing.draw(Frame(passed_s, shown.main.draw_time_ns, pair.alpha, previous, following, poses))
        if self.parts is not None:
            self.parts.lap(USER)
        for points in added.points:
            self.renderer.points(*points)
        if added.lines is not None:
            self.renderer.lines(*added.lines)
        self.labels = place(added.labels, camera, viewport, height_px)


def side_by_side(size_px: tuple[int, int], count: int) -> list[Viewport]:
    """`count` equal parts of the window with lines between them, from left to right; what is left over at the right."""
    width_px, height_px = size_px
    part = max(1, (width_px - (count - 1) * LINE_PX) // count)
    return [(i * (part + LINE_PX), 0, part, height_px) for i in range(count)]


def _label(picture: Picture) -> str:
    return f"{picture.method}, clock {picture.clock.mode}"
