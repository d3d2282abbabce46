"""Picture: one view of the world, with its clock, its method, and the parts into which the scene divides the bodies.

Always: the parts of an unchanged scene are kept, so that publishing it again changes nothing in the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count as count_up
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.ipc.scene.groups import CHILDREN, rows_of_parents
from twixt.ipc.scene.parent_log import ParentEntry, ParentLog
from twixt.render.draw.column_colors import rules_of_drawn
from twixt.render.draw.frame.layers import Discrete
from twixt.render.interpolation.poses import Poses, no_poses, select_rows
from twixt.render.scene.numpy_poser import PosingRules
from twixt.render.scene.picture_part import DrawnPart, PartDefinition, PicturePart
from twixt.render.scene.scene_parents import SceneParents, merged_parents
from twixt.render.snapshots.history import History

if TYPE_CHECKING:
    from twixt.ipc.snapshot import Snapshot
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.interpolation import Method
    from twixt.render.playback import PlaybackClock


# Rules of columns by which the shaders can blend colours and scales.
SHADED_RULES = frozenset(("linear", "none"))


class DrawnPicture(NamedTuple):
    """One frame of a picture. main: the part of bodies in no group."""

    main: DrawnPart
    parts: tuple[DrawnPart, ...]
    due_ns: int  # due instant of the state that `main` shows
    group_due_ns: dict[str, int]  # the same, by group, for groups drawn at another draw time


class MethodFactory(NamedTuple):
    """Makes methods. create: `interpolation.create` with the run's settings bound. named_by: the flag that asked for a
    method of the user's own, by the method's name; for error texts."""

    create: Callable[..., Method]
    named_by: Mapping[str, str]

    def for_scene(self, scene: Scene) -> Callable[[str], Method]:
        """Function that makes a method of that name, with the scene's rules for columns."""
        groups = scene.groups.items()
        named_by = {group.interpolation: f'group "{name}"' for name, group in groups if group.interpolation}
        named_by |= self.named_by
        return lambda name: self.create(name, scene.columns, named_by=named_by.get(name, "--interpolation"))


class Picture:
    """View of the scene set last. name: of its parts in the history. first_slot: first of the renderer's slots for
    poses; each part uses one."""

    def __init__(self, name: str, clock: PlaybackClock, method: str, first_slot: int, methods: MethodFactory) -> None:
        self.name, self.clock, self.method = name, clock, method
        self.first_slot, self.methods = first_slot, methods
        self._parts: list[PicturePart] = []
        self._watching: dict[str, NDArray[np.intp] | None] = {}
        self._rules_key: object = None  # of the parts' rules; parts with other rules are made anew
        self._has_ungrouped = True

    @property
    def needs_copies(self) -> bool:
        """True if it must receive private copies of snapshots."""
        return any(part.needs_copies for part in self._parts)

    @property
    def reach_ns(self) -> int:
        """Extrapolation allowed, in ns of simulated time beyond the newest snapshot: the least of the parts.

        All parts share a draw time. A part drawn beyond its own limit would stand still and then jump.
        """
        if len(self._parts) == 1:
            return self._parts[0].reach_ns
        parts = [part for part in self._parts[1:] if not part.stands_by_itself]
        if self._has_ungrouped or not parts:
            parts.append(self._parts[0])
        return min(part.reach_ns for part in parts)

    def choose(self, method: str) -> None:
        """Sets the run's method; groups with a method of their own keep it."""
        self.method = method
        for part in self._parts:
            part.choose(method)

    def set_scene(
        self, scene: Scene, count: int, past: Sequence[Snapshot] = (), log: ParentLog = ()
    ) -> tuple[PicturePart, ...]:
        """Sets the scene and the number of bodies. past: private copies of the held snapshots, for new parts. log:
        parents of the scenes of held snapshots; empty: those of this scene alone. A child in any of them counts as a
        child.

        Unchanged parts are kept. Returns the parts that are no longer drawn.
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
        before = {part.definition.identity: part for part in self._parts} if key == self._rules_key else {}
        rules = self._posing_rules(scene, parents)
        gone, self._rules_key, self._parts = self._parts, key, []
        for definition in self._definitions(scene, count, parent_rows):
            part = before.get(definition.identity)
            if part is None:
                taken = {other.pose_slot for other in (*self._parts, *before.values())}
                slot = next(slot for slot in count_up(self.first_slot) if slot not in taken)
                part = PicturePart(definition, self.method, rules, slot)
            self._parts.append(part)
        for part in self._parts:
            if part in before.values():
                continue
            part.prepare()
            for watcher, watched in self._watching.items():
                part.watch(watcher, watched)
            for snapshot in past:
                part.add(snapshot)
        return tuple(part for part in gone if part not in self._parts)

    def add(self, snapshot: Snapshot) -> None:
        """Adds a private copy of a snapshot."""
        for part in self._parts:
            part.add(snapshot)

    def draw(self, draw_time_ns: int, history: History, renderer: SceneRenderer) -> DrawnPicture | None:
        """All parts of a frame; None while no snapshot is held. Poses made by numpy are uploaded to `renderer`."""
        drawn = [part.draw(draw_time_ns, history, renderer) for part in self._parts]
        parts = tuple([one for one in drawn if one is not None])
        if len(parts) < len(self._parts):
            return None
        due_ns = self.clock.due_ns
        main_ns = parts[0].draw_time_ns
        groups = {one.group: due_ns(one.draw_time_ns) for one in parts[1:] if one.group and one.draw_time_ns != main_ns}
        return DrawnPicture(parts[0], parts, due_ns(main_ns), groups)

    def watch(self, watcher: str, rows: NDArray[np.intp] | None, past: Sequence[Snapshot] = ()) -> None:
        """Registers a watcher of the poses of `rows` (ascending; None: all), which `watched` returns.

        past: private copies of the held snapshots, to begin with.
        """
        self._watching[watcher] = rows
        for part in self._parts:
            part.watch(watcher, rows, past)

    def watching(self, watcher: str) -> list[int] | None:
        """Rows of a watcher; None: it has none, or all."""
        rows = self._watching.get(watcher)
        return None if rows is None else rows.tolist()

    def unwatch(self, watcher: str) -> None:
        """Removes a watcher, if there is one of that name."""
        self._watching.pop(watcher, None)
        for part in self._parts:
            part.unwatch(watcher)

    def watched(self, watcher: str) -> Poses:
        """Poses of the watcher's rows as drawn in this frame; empty before two snapshots were received."""
        seen = [found for part in self._parts if (found := part.watched(watcher)) is not None]
        if not seen:
            return no_poses()
        rows = self._watching[watcher]
        whole = seen[0][1]
        if rows is not None:
            seen = [(found, poses) for found, poses in seen if len(poses)]
        if len(seen) > 1:
            whole = select_rows(whole, np.arange(len(whole)))
        for of_part, poses in seen[1:]:
            assert of_part is not None
            at = of_part if rows is None else np.searchsorted(rows, of_part)
            at = at[: len(poses)][at[: len(poses)] < len(whole)]
            for name in ("position", "orientation", "scale", "color", "visible", "epoch"):
                getattr(whole, name)[at] = getattr(poses, name)[: len(at)]
            for name, values in whole.columns.items():
                if name in poses.columns:
                    values[at] = poses.columns[name][: len(at)]  # type: ignore[index]
        return whole

    def release(self, history: History) -> None:
        """Releases the pairs of snapshots in use: the picture is no longer drawn."""
        for part in self._parts:
            part.release(history)

    def _posing_rules(self, scene: Scene, parents: SceneParents | None) -> PosingRules:
        drawn_rules = rules_of_drawn(scene)
        return PosingRules(
            parents,
            self.methods.for_scene(scene),
            None if drawn_rules[0] == "linear" else scene.color_by,
            Discrete(*(rule == "none" for rule in drawn_rules)),
        )

    def _definitions(self, scene: Scene, count: int, parent_rows: NDArray[np.int32] | None) -> list[PartDefinition]:
        """Parts of a scene: bodies in no group (always first), each group that has bodies, the children."""
        by_numpy = not SHADED_RULES.issuperset(rules_of_drawn(scene))
        free = np.full(count, True) if parent_rows is None else parent_rows < 0
        self._has_ungrouped = bool((free & (scene.group_rows(count) < 0)).any())
        found = [PartDefinition(self.name, by_numpy=by_numpy)]
        for name, group in scene.groups.items():
            rows = np.unique(np.asarray(group.bodies, np.intp))
            rows = rows[rows < count]
            rows = rows[free[rows]]
            if len(rows):
                delay_ns = round(group.delay_ms * 1e6)
                part = PartDefinition(f"{self.name}/{name}", name, rows, group.interpolation, delay_ns, by_numpy)
                found.append(part)
        children = np.flatnonzero(~free)
        if len(children):
            found.append(PartDefinition(f"{self.name}/{CHILDREN}", CHILDREN, children, by_numpy=True))
        return found
