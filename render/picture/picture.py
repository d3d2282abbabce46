"""One view of the world: its clock, its method, and the parts that the scene divides the bodies into."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.scene import Scene
from twixt.render.history import History
from twixt.render.interpolation.poses import Poses, no_poses
from twixt.render.picture.part import Drawn, Part
from twixt.render.picture.poser import Poser

if TYPE_CHECKING:
    from twixt.ipc.snapshot import Snapshot
    from twixt.render.draw.scene_renderer import SceneRenderer
    from twixt.render.playback import PlaybackClock

CHILDREN = "children"  # the renderer's name of the bodies that hang on others


class Shown(NamedTuple):
    """One frame of a picture. main: what bodies in no group show; groups: the others, by name."""

    main: Drawn
    parts: tuple[Drawn, ...]
    due_ns: int  # when what `main` shows was due
    group_due_ns: dict[str, int]  # the same for the groups that draw another instant


class Picture:
    """name: tells it apart in the history. first_slot: of the renderer's slots for poses; one a part is used."""

    def __init__(
        self, name: str, clock: PlaybackClock, method: str, scene: Scene, count: int, first_slot: int,
        chase_ms: float | None = None,
    ) -> None:  # fmt: skip
        self.name, self.clock, self.method = name, clock, method
        self._first_slot, self._chase_ms = first_slot, chase_ms
        self._parts: list[Part] = []
        self._watching: dict[str, NDArray[np.intp] | None] = {}
        self.set_scene(scene, count)

    @property
    def needs_copies(self) -> bool:
        """Whether it must be fed with private copies of snapshots."""
        return any(part.needs_copies for part in self._parts)

    @property
    def reach_ns(self) -> int:
        """How far beyond the newest snapshot it can draw."""
        return max(part.reach_ns for part in self._parts)

    def choose(self, method: str) -> None:
        """Draw by this method from now on."""
        self.method = method
        for part in self._parts:
            part.choose(method)

    def set_scene(self, scene: Scene, count: int) -> None:
        """The scene, and how many bodies there are. Parts begin anew."""
        parent_rows = scene.parent_rows(count) if scene.parents else None

        def poser(rows: NDArray[np.intp] | None) -> Poser:
            return Poser(rows, parent_rows, scene.columns, self._chase_ms)

        free = np.full(count, True) if parent_rows is None else parent_rows < 0
        self._parts = [Part(self.name, None, None, None, self.method, 0, False, self._first_slot, poser)]
        for name, group in scene.groups.items():
            rows = np.unique(np.asarray(group.bodies, np.intp))
            rows = rows[rows < count]
            self._add_part(name, rows[free[rows]], group.interpolation, round(group.delay_ms * 1e6), False, poser)
        if parent_rows is not None:
            self._add_part(CHILDREN, np.flatnonzero(~free), None, 0, True, poser)
        for watcher, watched in self._watching.items():
            self.watch(watcher, watched)
        for part in self._parts:
            part.prepare()

    def add(self, snapshot: Snapshot) -> None:
        """A private copy of a snapshot."""
        for part in self._parts:
            part.add(snapshot)

    def draw(self, draw_time_ns: int, present_ns: int, history: History, renderer: SceneRenderer) -> Shown | None:
        """What to draw; None while nothing is held."""
        drawn = [part.draw(draw_time_ns, present_ns, history, renderer) for part in self._parts]
        parts = tuple(one for one in drawn if one is not None)
        if len(parts) < len(self._parts):
            return None
        due_ns = self.clock.due_ns
        main_ns = parts[0].draw_time_ns
        groups = {one.group: due_ns(one.draw_time_ns) for one in parts[1:] if one.group and one.draw_time_ns != main_ns}
        return Shown(parts[0], parts, due_ns(main_ns), groups)

    def watch(self, watcher: str, rows: NDArray[np.intp] | None) -> None:
        """Keep the poses of `rows` (ascending; None: all) ready for `watched`."""
        self._watching[watcher] = rows
        for part in self._parts:
            part.watch(watcher, rows)

    def unwatch(self, watcher: str) -> None:
        """The watcher has seen enough."""
        self._watching.pop(watcher, None)
        for part in self._parts:
            part.unwatch(watcher)

    def watched(self, watcher: str) -> Poses:
        """The poses of the watcher's rows as drawn in this frame; empty until two snapshots were seen.

        Columns are those of the bodies that are in no group.
        """
        seen = [found for part in self._parts if (found := part.watched(watcher)) is not None]
        if not seen:
            return no_poses()
        rows = self._watching[watcher]
        whole = seen[0][1]
        if rows is not None:
            seen = [(found, poses) for found, poses in seen if len(poses)]
        for of_part, poses in seen[1:]:
            assert of_part is not None
            at = of_part if rows is None else np.searchsorted(rows, of_part)
            at = at[: len(poses)][at[: len(poses)] < len(whole)]
            for name in ("position", "orientation", "scale", "color", "visible", "epoch"):
                getattr(whole, name)[at] = getattr(poses, name)[: len(at)]
        return whole

    def release(self, history: History) -> None:
        """It is drawn no more."""
        for part in self._parts:
            part.release(history)

    def _add_part(
        self, name: str, rows: NDArray[np.intp], method: str | None, delay_ns: int, by_numpy: bool, poser: object
    ) -> None:
        if len(rows):
            slot = self._first_slot + len(self._parts)
            key = f"{self.name}/{name}"
            self._parts.append(Part(key, name, rows, method, self.method, delay_ns, by_numpy, slot, poser))  # type: ignore[arg-type]
