"""The stage of one simulation. It draws one picture of the world, or two side by side, with trails and the user's
drawing.

Each picture is drawn at the draw time of its own clock. Only the right picture is logged. The left picture is for
comparison. For another simulation, another stage is made. It draws with the same renderer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.config.flags import Config
from twixt.ipc.scene.groups import ParentLog, from_version
from twixt.ipc.scene.scene import with_camera, with_parents, with_shapes
from twixt.ipc.scene.shape_list import ShapeList
from twixt.ipc.snapshot import Snapshot
from twixt.ipc.trace import spans as kinds
from twixt.render.cores.thread_time import DRAW, USER
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.render.events.rings import FrameTime
from twixt.render.events.shown_events import ShownEvents
from twixt.render.interpolation import create
from twixt.render.playback import PlaybackClock
from twixt.render.scene.attachments import Attachments
from twixt.render.scene.camera import Bodies, StageCamera
from twixt.render.scene.followed_view import DrawnTimes, Sampler
from twixt.render.scene.frames_in_time import merged_parents
from twixt.render.scene.labels import Label, PlacedLabel, labels_of, place
from twixt.render.scene.outside import PictureView
from twixt.render.scene.shapes_in_time import ShapesInTime, differ_in_shapes_alone
from twixt.render.scene.views import DrawnPicture, MethodFactory, Picture, side_by_side
from twixt.render.snapshots.history import History

if TYPE_CHECKING:
    from twixt.ipc.plan import Plan
    from twixt.ipc.scene import Camera, Scene
    from twixt.ipc.snapshot import Head
    from twixt.render.cores.thread_time import LapRecorder
    from twixt.render.events.viewer_events import ViewerEvents
    from twixt.render.scene.trails import PictureTrails
    from twixt.render.scene.user_drawing import UserDrawing

MAIN, LEFT = "main", "left"
# Interpolation method and clock of the left half, if the user gives no `--split`. The empty name means the clock of the
# run. With these two values, the left half looks like a viewer that does not interpolate.
PLAIN = ("none", "")
# Number of slots for the poses of one picture. Each group of bodies uses one slot. There are more slots than a scene
# may have groups.
POSE_SLOTS = 1 << 20
DRAWING = "drawing"  # name under which poses are watched: see Picture.watch


class Stage:
    """All pictures of one simulation in a window.

    bodies: function that returns the newest bodies; the first view shows them. sample: function that returns some of
    the newest bodies, for `StageCamera`. parents: parents of the bodies in the latest scenes, ending with `scene`. If
    `parents` is empty, snapshots of all scenes use the parents of `scene`.
    before: stage of the simulation that was drawn before in this window. The new stage uses the same interpolation
    method, clock and drawing. If the scene is the same, it also keeps the user's view. Raises TwixtError for a `--draw`
    function that cannot be loaded.
    """

    def __init__(
        self,
        config: Config,
        renderer: SceneRenderer,
        scene: Scene,
        bodies: Bodies,
        parents: ParentLog = (),
        before: Stage | None = None,
        sample: Sampler | None = None,
    ) -> None:
        self.scene, self.count = scene, len(scene.shapes)
        self._parents = parents  # parents of the bodies, for each scene to which a snapshot may belong
        self._shapes = ShapesInTime(ShapeList.of(scene.shapes))
        self.history, self.renderer = History(renderer.slots), renderer
        if renderer.scene is not (drawn := self._scene_drawn):
            renderer.set_scene(drawn)
        self._drawing: UserDrawing | None = None
        self._rate = 1.0  # simulated seconds per second, by the plan
        self._present_ns = self._drawn_ns = 0  # present time and draw time of the last frame
        if before is not None:
            was = before.main
            self.main: Picture = Picture(MAIN, was.clock, was.method, renderer.slots, was.methods, self.history)
            self._drawing, self._present_ns = before._drawing, before._present_ns
        else:
            clock = PlaybackClock(config.clock, config.prefer, config.buffer_ms)
            named_by = {method: "--split" for method, _ in config.split or ()}
            named_by[config.interpolation] = "--interpolation"
            methods = MethodFactory(partial(create, chase_ms=config.chase_ms), named_by)
            self.main = Picture(MAIN, clock, config.interpolation, renderer.slots, methods, self.history)
            if config.draw is not None:
                from twixt.render.scene.user_drawing import load

                self._drawing = load(config.draw)
        self.main.set_scene(scene, self.count, parents)
        self.left: Picture | None = None
        self.pictures: tuple[Picture, ...] = (self.main,)  # from left to right
        self._left_choice = PLAIN if config.split is None else config.split[0]
        self.labels: list[PlacedLabel] = []  # labels in the last frame: of bodies, of marks, of the user's function
        view_before, may_follow = None if before is None else before.view, config.camera != "still"
        self.view: StageCamera = StageCamera(scene, bodies, sample, view_before, may_follow)
        self._attachments = Attachments()
        self._trails: PictureTrails | None = None  # trails of the pictures; None if trails are switched off
        self._trail_seconds = config.trail_seconds
        self.laps: LapRecorder | None = None  # measures the time that the user's drawing takes
        self.events: ViewerEvents | None = None  # the program's events; None in a stage without a simulation
        self.shown_events = ShownEvents()
        if self._drawing is not None:
            self.main.watch(DRAWING, None)
        self.view.watch(self.main)
        self._follow_shapes()

    @property
    def needs_copies(self) -> bool:
        """True if a picture draws from private copies of snapshots."""
        return self.shown_events.needs_copies or any(picture.needs_copies for picture in self.pictures)

    # -- scenes, snapshots and plans

    def set_scene(self, scene: Scene, parents: ParentLog = (), version: int = 0) -> None:
        """Sets a newly published scene. If the scene's camera has changed, the new camera takes effect. Otherwise the
        user's view is kept. parents: parents of the bodies in the latest scenes, ending with this scene. They are used
        to compute the world poses of children. version: version of the scene."""
        self.view.set_scene(scene)
        waits = self._shapes.add_scene(self.scene, scene, version, self.history)
        self.scene, self._parents = scene, parents
        self._forget_old_parents()
        drawn = self._scene_drawn
        if not waits or not differ_in_shapes_alone(self.renderer.scene, drawn):
            self.renderer.set_scene(drawn)
        self._divide_anew()

    def begin_scene(self, head: Head) -> None:
        """Prepares for a new scene. Call this before the scene's first snapshot is uploaded. head: head of this
        snapshot."""
        self._shapes.begin(head, self.history)
        self.renderer.begin_scene(self._shapes.own_scene(self.scene), self.history.drawable)

    def set_camera(self, camera: Camera | None) -> None:
        """Applies a camera that was published without a scene. The camera replaces the user's view."""
        self.scene = with_camera(self.scene, camera)
        self.view.apply_camera(self.scene)
        for picture in self.pictures:
            self.view.watch(picture)

    def add(self, snapshot: Snapshot) -> Snapshot | None:
        """Adds a private copy of a new snapshot. Returns the copy that the history must hold with the snapshot, or None
        if no picture needs a copy."""
        snapshot = self._shapes.marked(snapshot, self.scene)
        for picture in self.pictures:
            picture.add(snapshot)
        return snapshot if self.needs_copies else None

    def observe(self, head: Head) -> None:
        """Tells the clocks about a new snapshot, with the instant at which the snapshot was published."""
        if head.count > self.count:
            self.count = head.count
            if self.scene.groups or self._scene_of_children.parents:
                self._divide_anew()
            else:
                self._watch_trails()
            self._follow_shapes()
        newest = self.history.newest
        if newest is not None and self._attachments.set_marks(newest.marks, self.count):
            self._follow()
        # The clocks get the instant at which the snapshot was published. The instant at which this viewer read the
        # snapshot would depend on the viewer's frame times.
        for picture in self.pictures:
            picture.clock.observe(head.sim_time_ns, head.due_ns, head.published_ns, head.world_epoch, head.plan_number)

    def replan(self, plan: Plan) -> None:
        """Tells the clocks about a new plan of the simulation."""
        self._rate = plan.rate
        for picture in self.pictures:
            picture.clock.replan(plan)

    # -- settings of the user

    def choose(self, interpolation: str, clock: str, prefer: str, split: bool, trails: bool) -> None:
        """Sets interpolation method, clocks, split view and trails from the next frame on. Values that did not change
        have no effect."""
        if interpolation != self.main.method:
            self.main.choose(interpolation)
            if self.left is not None and not self._left_choice[0]:
                self.left.choose(interpolation)
        if clock != self.main.clock.mode:
            self.main.clock.select(clock)
        if self.left is not None and not self._left_choice[1] and clock != self.left.clock.mode:
            self.left.clock.select(clock)
        for picture in self.pictures:
            if picture.clock.prefer != prefer:
                picture.clock.prefer = prefer
        if split != (self.left is not None):
            self._split(split)
        if trails != (self._trails is not None):
            self._switch_trails(trails)

    @property
    def split_labels(self) -> tuple[str, str] | None:
        """Texts that name the left and the right half; None if the view is not split."""
        if self.left is None:
            return None
        left, right = (f"{picture.method}, clock {picture.clock.mode}" for picture in (self.left, self.main))
        return left, right

    @property
    def messages(self) -> tuple[str, ...]:
        """Messages for the user about the picture."""
        failed = "" if self._drawing is None else self._drawing.failed
        return (f"--draw: {failed}",) if failed else ()

    def _split(self, on: bool) -> None:
        if not on:
            assert self.left is not None
            self.left.release()
            self.left, self.pictures = None, (self.main,)
        else:
            method, mode = self._left_choice
            clock = copy.deepcopy(self.main.clock)
            if mode and mode != clock.mode:
                clock.select(mode)
            main = self.main
            first_slot = main.first_slot + POSE_SLOTS
            self.left = Picture(LEFT, clock, method or main.method, first_slot, main.methods, self.history)
            self.left.set_scene(self.scene, self.count, self._parents)
            self.pictures = self.left, main
            self.view.watch(self.left)
            self._attachments.watch(self.pictures)
        self._watch_trails()

    def _switch_trails(self, on: bool) -> None:
        if self._trails is not None:
            self._trails.unwatch(self.pictures)
            self._trails = None
        if on:
            from twixt.render.scene.trails import PictureTrails

            self._trails = PictureTrails(self._trail_seconds)
            self._watch_trails()

    def _watch_trails(self) -> None:
        """If trails are switched on, makes them watch the current pictures and bodies."""
        if self._trails is not None:
            self._trails.watch(self.pictures, self.scene, self.count)

    def _follow_shapes(self) -> None:
        """Follows the bodies whose drawn shapes have labels."""
        if self._attachments.set_shapes(self._shapes.shown, self.count):
            self._follow()

    def _follow(self) -> None:
        """Makes the pictures watch the bodies that are followed."""
        if len(self._attachments.rows):
            self.history.copy_latest(self.renderer.bodies)
        self._attachments.watch(self.pictures)

    @property
    def _scene_of_children(self) -> Scene:
        """The scene for drawing. If a body had a parent in the scene of any held snapshot, it also counts as a
        child."""
        return self.scene if len(self._parents) < 2 else with_parents(self.scene, merged_parents(self._parents))

    @property
    def _scene_drawn(self) -> Scene:
        """The scene with the shapes that are drawn at the draw time."""
        return with_shapes(self._scene_of_children, self._shapes.shown)

    def _forget_old_parents(self) -> bool:
        """Forgets the parents of bodies in old scenes, of which no snapshot is held. Returns True if fewer bodies count
        as children afterwards."""
        oldest = self.history.oldest
        kept = self._parents if oldest is None else from_version(self._parents, oldest.head.scene_version)
        if len(kept) == len(self._parents):
            return False
        before, self._parents = self._parents, kept
        return merged_parents(before).keys() != merged_parents(kept).keys()

    def _divide_anew(self) -> None:
        if self._scene_of_children.parents:
            self.history.copy_latest(self.renderer.bodies)
        for picture in self.pictures:
            picture.set_scene(self.scene, self.count, self._parents)
            self.view.watch(picture)
        self._watch_trails()
        self._follow_shapes()

    # -- a frame

    def draw(
        self,
        present_ns: int,
        size_px: tuple[int, int],
        draw_over: Callable[[tuple[int, int]], object] | None = None,
        has_panels: bool = False,
    ) -> DrawnPicture | None:
        """Draws a frame. The run's picture is the right one of two pictures, or the only one. present_ns: the time at
        which the frame will be shown. size_px: size of the framebuffer. draw_over: function that draws over the run's
        picture; it is called with `size_px`. has_panels: True if panels are shown over the picture. Returns the run's
        picture. If no snapshot is held, clears the framebuffer and returns None."""
        pictures = self.pictures
        draw_times_ns = [picture.advance_to(present_ns) for picture in pictures]
        viewports = side_by_side(size_px, len(pictures))
        if len(pictures) > 1:
            self.renderer.clear()
        self.labels = []
        drawn, newest = None, self.history.newest
        if len(self._parents) > 1 and self._forget_old_parents():
            self.renderer.set_scene(self._scene_drawn)
            self._divide_anew()
        is_still, self._drawn_ns = self._drawn_ns == draw_times_ns[-1], draw_times_ns[-1]
        if self._shapes.coming and self._shapes.show(self._drawn_ns, self.history, self.main.method, is_still):
            self.renderer.set_scene(self._scene_drawn)
            if self._shapes.are_begun:
                self.renderer.begin_scene(self._shapes.own_scene(self.scene), self.history.drawable)
            self._follow_shapes()
        if self._trails is not None and newest is not None:
            self._trails.begin_world(newest.head.world_epoch)
        if newest is not None and self.view.is_following:
            times = DrawnTimes.of(draw_times_ns, pictures, self.history, self.scene.groups.values(), self._rate)
            self.view.advance(present_ns, times, size_px)
        for picture, viewport, draw_time_ns in zip(pictures, viewports, draw_times_ns, strict=True):
            drawn = picture.draw(draw_time_ns, self.renderer)
            if drawn is None:
                self.renderer.clear()
                return None
            head = drawn.main.pair.previous.head
            if self.events is not None and picture is pictures[0]:
                self.events.draw(drawn.main.draw_time_ns, head.world_epoch, self._rate)
            matrices = self.view.matrices(picture, viewport[2:], size_px)
            layers = [group.layer for group in drawn.groups if group.layer is not None]
            marks, texts = drawn.marks(newest)
            poses = self._attachments.poses(picture)
            if len(marks):
                marks = self._attachments.placed(marks, poses)
            around = self.view.around_axis(viewport, size_px)
            if picture is self.main and newest is not None:
                seen = PictureView(matrices, viewport, around) if has_panels else None
                self.view.count_outside(present_ns, newest, seen)
            self.renderer.draw(layers, matrices, around, marks, viewport)
            words: Sequence[Label] = self._attachments.labels(poses, matrices)
            if len(marks):
                words = [*words, *labels_of(marks, texts, matrices, self.scene.labels)]
            if self._trails is not None:
                self._trails.draw(picture, present_ns, self.renderer)
            if picture is self.main and draw_over is not None:
                draw_over(size_px)
            if picture is self.main and self._drawing is not None:
                words = [*words, *self._draw_users(self._drawing, drawn, marks, present_ns)]
            time = FrameTime(drawn.main.draw_time_ns, head.world_epoch, present_ns, self._rate)
            self.shown_events.draw(picture, time, self.renderer, self.history.drawable_copies)
            if words:
                self.labels += place(words, matrices, around, size_px[1], viewport)
        self.renderer.end_pictures()
        self._present_ns = present_ns
        self.shown_events.end_frame(present_ns, pictures, has_panels)
        if self.history.copies and not self.needs_copies:
            self.history.drop_copies()
        return drawn

    def pass_still(self, present_ns: int) -> int:
        """Advances the clocks without drawing, so that they need not catch up. Returns the left picture's draw time."""
        return [picture.advance_to(present_ns) for picture in reversed(self.pictures)][-1]

    @property
    def moves_by_itself(self) -> bool:
        """True if two frames with the same draw time may look different."""
        is_moving = self.shown_events.are_moving or self.view.is_moving or self.view.is_counting
        return is_moving or self._drawing is not None or self._shapes.await_snapshot

    def _draw_users(
        self, drawing: UserDrawing, drawn: DrawnPicture, marks: NDArray[np.void], present_ns: int
    ) -> Sequence[Label]:
        """Draws the user's points and lines over the picture that was drawn last. Returns the user's labels."""
        pair, poses = drawn.main.pair, self.main.watched(DRAWING)
        previous = pair.previous.copy
        if previous is None or not len(poses):
            return ()
        following = None if pair.next is None else pair.next.copy
        interval_ns = present_ns - self._present_ns if self._present_ns else 0
        from twixt.render.scene.user_drawing import DrawFrame

        if self.laps is not None:
            self.laps.lap(DRAW, kinds.DRAW, self.main.clock.state.offset_ns)
        draw_time_ns = drawn.main.draw_time_ns
        added = drawing.draw(DrawFrame(interval_ns, draw_time_ns, pair.alpha, previous, following, poses, marks))
        if self.laps is not None:
            self.laps.lap(USER, kinds.USER_DRAW)
        for points in added.points:
            self.renderer.points(*points)
        if added.lines is not None:
            self.renderer.lines(*added.lines)
        return added.labels
