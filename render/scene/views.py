"""Contains the class `Picture`: one view of the world, with its clock, its interpolation method, and the groups into
which the scene divides the bodies. Also divides the window into pictures.

If a scene is published again without a change, its groups are kept. So the picture does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count as count_up
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.groups import CHILDREN, ParentEntry, ParentLog, rows_of_groups, rows_of_parents
from twixt.render.draw.bodies.shape_rows import rules_of_drawn
from twixt.render.draw.frame.camera import Viewport
from twixt.render.draw.frame.layers import Discrete
from twixt.render.interpolation.poses import Poses, no_poses, select_rows
from twixt.render.scene.frames_in_time import SceneParents, merged_parents
from twixt.render.scene.groups import OF_THE_NEWEST, BodyGroup, DrawnGroup, GroupDefinition, PosingRules
from twixt.render.snapshots.history import HeldSnapshot, History

if TYPE_CHECKING:
    from twixt.ipc.scene.mark_texts import MarksAndTexts
    from twixt.ipc.snapshot import Snapshot
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.interpolation import Method
    from twixt.render.playback import PlaybackClock


# Names of the column rules that the shaders support for colours and scales.
SHADED_RULES = frozenset(("linear", "none"))
# Width in pixels of the black line between the two halves of the picture.
LINE_PX = 2


class DrawnPicture(NamedTuple):
    """A picture as it was drawn in one frame. main: the group of the bodies that belong to no group of the scene."""

    main: DrawnGroup
    groups: tuple[DrawnGroup, ...]
    due_ns: int  # instant at which the state that `main` shows was due
    group_due_ns: dict[str, int]  # the same for groups with another draw time; the key is the group's name

    def marks(self, newest: HeldSnapshot | None) -> MarksAndTexts:
        """Marks of the picture, (m,), and their texts. They are blended by the interpolation method of `main`. newest:
        the newest held snapshot."""
        if self.main.method == OF_THE_NEWEST and newest is not None:
            return newest.marks, newest.texts
        pair = self.main.pair
        return pair.previous.marks if self.main.method == "none" else pair.marks(), pair.previous.texts


class MethodFactory(NamedTuple):
    """Makes interpolation methods. create: `interpolation.create` with the settings of this run. named_by: for each
    user-defined method, the flag with which the user named it; it is used in error texts."""

    create: Callable[..., Method]
    named_by: Mapping[str, str]

    def for_scene(self, scene: Scene) -> Callable[[str], Method]:
        """Returns a function that makes the interpolation method with a given name. The method uses the scene's rules
        for columns."""
        groups = scene.groups.items()
        named_by = {group.interpolation: f'group "{name}"' for name, group in groups if group.interpolation}
        named_by |= self.named_by
        return lambda name: self.create(name, scene.columns, named_by=named_by.get(name, "--interpolation"))


class Picture:
    """One view of the scene that was set last. history: the held snapshots. name: beginning of the names that the
    picture's groups have in `history`. first_slot: first of the renderer's slots for the poses of this picture. Each
    group uses one slot."""

    def __init__(
        self, name: str, clock: PlaybackClock, method: str, first_slot: int, methods: MethodFactory, history: History
    ) -> None:
        self.name, self.clock, self.method = name, clock, method
        self.first_slot, self.methods, self._history = first_slot, methods, history
        self._groups: list[BodyGroup] = []
        self._watching: dict[str, NDArray[np.intp] | None] = {}
        self._rules_key: object = None  # the rules of the groups; if these rules change, all groups are replaced
        self._has_ungrouped = True

    @property
    def needs_copies(self) -> bool:
        """True if the picture must receive private copies of snapshots."""
        return any(group.needs_copies for group in self._groups)

    @property
    def reach_ns(self) -> int:
        """How far beyond the newest snapshot the draw time may be, in ns of simulated time. This is the smallest limit
        of all groups.

        All groups share a draw time. If a group were drawn beyond its own limit, it would stand still and then jump.
        """
        if len(self._groups) == 1:
            return self._groups[0].reach_ns
        groups = [group for group in self._groups[1:] if not group.shows_published_states]
        if self._has_ungrouped or not groups:
            groups.append(self._groups[0])
        return min(group.reach_ns for group in groups)

    def choose(self, method: str) -> None:
        """Sets the interpolation method of the run. Groups that have their own method keep it."""
        self.method = method
        for group in self._groups:
            group.choose(method)

    def set_scene(self, scene: Scene, count: int, log: ParentLog = ()) -> None:
        """Sets the scene and the number of bodies. log: parents of the bodies, for each scene to which a held snapshot
        belongs. If `log` is empty, only the parents in `scene` count. A body that has a parent in any of these scenes
        counts as a child.

        Unchanged groups are kept.
        """
        merged = merged_parents(log) if log else scene.parents
        parent_rows = rows_of_parents(merged, count) if merged else None
        parents = SceneParents(log or (ParentEntry(0, scene.parents),), count) if merged else None
        key = (
            None if parents is None else parents.key,
            dict(scene.columns),
            scene.part_columns,
            scene.color_by,
        )
        before = {group.definition.identity: group for group in self._groups} if key == self._rules_key else {}
        rules = self._posing_rules(scene, parents)
        gone, self._rules_key, self._groups = self._groups, key, []
        for definition in self._definitions(scene, count, parent_rows):
            group = before.get(definition.identity)
            if group is None:
                taken = {other.pose_slot for other in (*self._groups, *before.values())}
                slot = next(slot for slot in count_up(self.first_slot) if slot not in taken)
                group = BodyGroup(definition, self.method, rules, slot, self._history)
            self._groups.append(group)
        for group in self._groups:
            if group in before.values():
                continue
            group.prepare()
            for watcher, watched in self._watching.items():
                group.watch(watcher, watched, ())
            for snapshot in self._history.copies:
                group.add(snapshot)
        for group in gone:
            if group not in self._groups:
                group.release()

    def add(self, snapshot: Snapshot) -> None:
        """Adds a private copy of a snapshot."""
        for group in self._groups:
            group.add(snapshot)

    def advance_to(self, present_ns: int) -> int:
        """Advances the picture's clock to the time at which the frame will be shown. Returns the draw time."""
        reach_ns = self.reach_ns
        if self.clock.reach_ns != reach_ns:
            self.clock.reach_ns = reach_ns
        return self.clock.advance_to(present_ns)

    def draw(self, draw_time_ns: int, renderer: SceneRenderer) -> DrawnPicture | None:
        """Prepares all groups of a frame for drawing. Poses that were computed in numpy are uploaded to `renderer`.
        Returns None if no snapshot is held."""
        drawn = [group.draw(draw_time_ns, renderer) for group in self._groups]
        groups = tuple([one for one in drawn if one is not None])
        if len(groups) < len(self._groups):
            return None
        due_ns = self.clock.due_ns
        main_ns = groups[0].draw_time_ns
        due = {one.group: due_ns(one.draw_time_ns) for one in groups[1:] if one.group and one.draw_time_ns != main_ns}
        return DrawnPicture(groups[0], groups, due_ns(main_ns), due)

    def watch(self, watcher: str, rows: NDArray[np.intp] | None, past: Sequence[Snapshot] | None = None) -> None:
        """Registers a watcher. `watched` then returns the poses of the watcher's bodies. rows: indices of these bodies,
        ascending; None for all bodies.

        past: private copies of the last snapshots, which the watcher receives first; None to use the copies that are
        held.
        """
        self._watching[watcher] = rows
        for group in self._groups:
            group.watch(watcher, rows, past)

    def watching(self, watcher: str) -> list[int] | None:
        """Indices of the bodies of a watcher; None if there is no such watcher, or if it watches all bodies."""
        rows = self._watching.get(watcher)
        return None if rows is None else rows.tolist()

    def unwatch(self, watcher: str) -> None:
        """Removes the watcher of this name, if there is one."""
        self._watching.pop(watcher, None)
        for group in self._groups:
            group.unwatch(watcher)

    def watched(self, watcher: str) -> Poses:
        """Poses with which the watcher's bodies are drawn in this frame. They are empty until two snapshots have been
        received."""
        seen = [found for group in self._groups if (found := group.watched(watcher)) is not None]
        if not seen:
            return no_poses()
        rows = self._watching[watcher]
        whole = seen[0][1]
        if rows is not None:
            seen = [(found, poses) for found, poses in seen if len(poses)]
        if len(seen) > 1:
            whole = select_rows(whole, np.arange(len(whole)))
        for of_group, poses in seen[1:]:
            assert of_group is not None
            at = of_group if rows is None else np.searchsorted(rows, of_group)
            at = at[: len(poses)][at[: len(poses)] < len(whole)]
            for name in ("position", "orientation", "scale", "color", "has_color", "visible", "epoch"):
                getattr(whole, name)[at] = getattr(poses, name)[: len(at)]
            for name, values in whole.columns.items():
                if name in poses.columns:
                    values[at] = poses.columns[name][: len(at)]  # type: ignore[index]
        return whole

    def release(self) -> None:
        """Releases the pairs of snapshots in use. Call this when the picture is no longer drawn."""
        for group in self._groups:
            group.release()

    def _posing_rules(self, scene: Scene, parents: SceneParents | None) -> PosingRules:
        drawn_rules = rules_of_drawn(scene)
        return PosingRules(
            parents,
            self.methods.for_scene(scene),
            None if drawn_rules[0] == "linear" else scene.color_by,
            Discrete(*(rule == "none" for rule in drawn_rules)),
        )

    def _definitions(self, scene: Scene, count: int, parent_rows: NDArray[np.int32] | None) -> list[GroupDefinition]:
        """Definitions of the groups of a scene, in this order: the bodies in no group, each group that has bodies, the
        children."""
        by_numpy = not SHADED_RULES.issuperset(rules_of_drawn(scene))
        free = np.full(count, True) if parent_rows is None else parent_rows < 0
        self._has_ungrouped = bool((free & (rows_of_groups(scene.groups, count) < 0)).any())
        found = [GroupDefinition(self.name, by_numpy=by_numpy)]
        for name, group in scene.groups.items():
            rows = np.unique(np.asarray(group.bodies, np.intp))
            rows = rows[rows < count]
            rows = rows[free[rows]]
            if len(rows):
                delay_ns = round(group.delay_ms * 1e6)
                found.append(
                    GroupDefinition(f"{self.name}/{name}", name, rows, group.interpolation, delay_ns, by_numpy)
                )
        children = np.flatnonzero(~free)
        if len(children):
            found.append(GroupDefinition(f"{self.name}/{CHILDREN}", CHILDREN, children, by_numpy=True))
        return found


def side_by_side(size_px: tuple[int, int], count: int) -> list[Viewport]:
    """Divides the window into `count` pictures of equal width. Returns their viewports, from left to right. Lines of a
    width of `LINE_PX` are between them.

    If the width of the window cannot be divided evenly, the remaining pixels at the right stay empty.
    """
    width_px, height_px = size_px
    width = max(1, (width_px - (count - 1) * LINE_PX) // count)
    return [(i * (width + LINE_PX), 0, width, height_px) for i in range(count)]
