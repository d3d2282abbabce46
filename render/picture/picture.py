"""One view of the world: its clock, its method, and the parts that the scene divides the bodies into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count as count_up
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.groups import CHILDREN
from twixt.ipc.scene import Scene
from twixt.render.arrival import rules_of_drawn
from twixt.render.draw.layers import ALL_BLENDED, Discrete
from twixt.render.history import History
from twixt.render.interpolation.poses import Poses, no_poses
from twixt.render.picture.mixing import copied
from twixt.render.picture.part import Drawn, MakePoser, Part
from twixt.render.picture.poser import Poser

if TYPE_CHECKING:
    from twixt.ipc.snapshot import Snapshot
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.playback import PlaybackClock


# How the shaders blend colours and scales.
SHADED_RULES = frozenset(("linear", "none"))


class Shown(NamedTuple):
    """One frame of a picture. main: what bodies in no group show; groups: the others, by name."""

    main: Drawn
    parts: tuple[Drawn, ...]
    due_ns: int  # when what `main` shows was due
    group_due_ns: dict[str, int]  # the same for the groups that draw another instant


class Picture:
    """name: tells it apart in the history. first_slot: of the renderer's slots for poses; one a part is used.
    named_by: which flag asked for a method of the user's own, by its name.
    """

    def __init__(
        self, name: str, clock: PlaybackClock, method: str, scene: Scene, count: int, first_slot: int,
        chase_ms: float | None = None, past: Sequence[Snapshot] = (), named_by: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.clock, self.method = name, clock, method
        self._first_slot, self._chase_ms, self._named_by = first_slot, chase_ms, named_by or {}
        self._parts: list[Part] = []
        self._watching: dict[str, NDArray[np.intp] | None] = {}
        self._posing: object = None  # what parts have in common: parts of another kind cannot go on
        self._has_ungrouped, self._discrete = True, ALL_BLENDED
        self.set_scene(scene, count, past)

    @property
    def needs_copies(self) -> bool:
        """Whether it must be fed with private copies of snapshots."""
        return any(part.needs_copies for part in self._parts)

    @property
    def is_changing(self) -> bool:
        """One method gives way to another."""
        return any(part.is_changing for part in self._parts)

    @property
    def reach_ns(self) -> int:
        """How far beyond the newest snapshot it may be drawn.

        All parts share an instant: beyond what one of them can draw, that one would stand still and then jump.
        """
        if len(self._parts) == 1:
            return self._parts[0].reach_ns
        parts = [part for part in self._parts[1:] if not part.stands_by_itself]
        if self._has_ungrouped or not parts:
            parts.append(self._parts[0])
        return min(part.reach_ns for part in parts)

    def choose(self, method: str) -> None:
        """Draw by this method from now on."""
        self.method = method
        for part in self._parts:
            part.choose(method)

    def set_scene(self, scene: Scene, count: int, past: Sequence[Snapshot] = ()) -> tuple[Part, ...]:
        """The scene, and how many bodies there are. past: private copies of the snapshots held.

        Parts that are as before go on, so that a scene published again changes nothing; new ones begin with `past`.
        Returns the parts that are drawn no more.
        """
        parent_rows = scene.parent_rows(count) if scene.parents else None

        groups = scene.groups.items()
        named_by = {group.interpolation: f'group "{name}"' for name, group in groups if group.interpolation}
        named_by |= self._named_by

        drawn_rules = rules_of_drawn(scene)
        by_numpy = not SHADED_RULES.issuperset(drawn_rules)
        color_by = None if drawn_rules[0] == "linear" else scene.color_by

        def poser(rows: NDArray[np.intp] | None) -> Poser:
            return Poser(rows, parent_rows, scene.columns, self._chase_ms, named_by, color_by)

        posing = (b"" if parent_rows is None else parent_rows.tobytes(), dict(scene.columns), scene.color_by)
        self._discrete = Discrete(*(rule == "none" for rule in drawn_rules))
        before = {part.identity: part for part in self._parts} if posing == self._posing else {}
        gone, self._posing, self._parts = self._parts, posing, []
        free = np.full(count, True) if parent_rows is None else parent_rows < 0
        self._has_ungrouped = bool((free & (scene.group_rows(count) < 0)).any())
        self._take_part(
            Part(self.name, None, None, None, self.method, 0, by_numpy, self._first_slot, poser, self._discrete), before
        )
        for name, group in scene.groups.items():
            rows = np.unique(np.asarray(group.bodies, np.intp))
            rows = rows[rows < count]
            self._add_part(
                name, rows[free[rows]], group.interpolation, round(group.delay_ms * 1e6), by_numpy, poser, before
            )
        if parent_rows is not None:
            self._add_part(CHILDREN, np.flatnonzero(~free), None, 0, True, poser, before)
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
        """A private copy of a snapshot."""
        for part in self._parts:
            part.add(snapshot)

    def draw(self, draw_time_ns: int, present_ns: int, history: History, renderer: SceneRenderer) -> Shown | None:
        """What to draw; None while nothing is held."""
        drawn = [part.draw(draw_time_ns, present_ns, history, renderer) for part in self._parts]
        parts = tuple([one for one in drawn if one is not None])
        if len(parts) < len(self._parts):
            return None
        due_ns = self.clock.due_ns
        main_ns = parts[0].draw_time_ns
        groups = {one.group: due_ns(one.draw_time_ns) for one in parts[1:] if one.group and one.draw_time_ns != main_ns}
        return Shown(parts[0], parts, due_ns(main_ns), groups)

    def watch(self, watcher: str, rows: NDArray[np.intp] | None, past: Sequence[Snapshot] = ()) -> None:
        """Keep the poses of `rows` (ascending; None: all) ready for `watched`, from `past` on."""
        self._watching[watcher] = rows
        for part in self._parts:
            part.watch(watcher, rows, past)

    def watching(self, watcher: str) -> list[int] | None:
        """The rows whose poses the watcher has asked for; None: it asked for none, or for all."""
        rows = self._watching.get(watcher)
        return None if rows is None else rows.tolist()

    def unwatch(self, watcher: str) -> None:
        """The watcher has seen enough."""
        self._watching.pop(watcher, None)
        for part in self._parts:
            part.unwatch(watcher)

    def watched(self, watcher: str) -> Poses:
        """The poses of the watcher's rows as drawn in this frame; empty until two snapshots were seen."""
        seen = [found for part in self._parts if (found := part.watched(watcher)) is not None]
        if not seen:
            return no_poses()
        rows = self._watching[watcher]
        whole = seen[0][1]
        if rows is not None:
            seen = [(found, poses) for found, poses in seen if len(poses)]
        if len(seen) > 1:
            whole = copied(whole)
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
        """It is drawn no more."""
        for part in self._parts:
            part.release(history)

    def _add_part(
        self, name: str, rows: NDArray[np.intp], method: str | None, delay_ns: int, by_numpy: bool, poser: MakePoser,
        before: Mapping[tuple[object, ...], Part],
    ) -> None:  # fmt: skip
        if len(rows):
            taken = {part.pose_slot for part in (*self._parts, *before.values())}
            slot = next(slot for slot in count_up(self._first_slot) if slot not in taken)
            key = f"{self.name}/{name}"
            part = Part(key, name, rows, method, self.method, delay_ns, by_numpy, slot, poser, self._discrete)
            self._take_part(part, before)

    def _take_part(self, part: Part, before: Mapping[tuple[object, ...], Part]) -> None:
        self._parts.append(before.get(part.identity, part))
