"""What lies in shared memory, or came as a scene, with any bytes changed: read and used as a viewer does, without GL."""

from __future__ import annotations

import contextlib
import warnings
from types import SimpleNamespace

import numpy as np

from tests.ipc.ring.segment_checks import check_segment
from tests.long.hostile.mutate import Mutator
from tests.long.hostile.target import Target
from tests.publishing import publish
from twixt.ipc.errors import TwixtError
from twixt.ipc.plan import Plan
from twixt.ipc.ring import layout as at
from twixt.ipc.ring import memory
from twixt.ipc.ring.layout import Layout
from twixt.ipc.ring.reader import RingReader
from twixt.ipc.ring.writer import RingWriter
from twixt.ipc.scene import Box, Camera, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere
from twixt.ipc.scene.groups import ColorBy, Group, rows_of_groups, rows_of_parents
from twixt.ipc.scene.scene import packed_scene, shape_list, unpacked_scene
from twixt.ipc.snapshot import MARK, NO_MARKS, Head, Snapshot, new_bodies
from twixt.render.interpolation import METHODS, create
from twixt.render.interpolation.blending import blended, drawable, matched
from twixt.render.measure.frame_log import FrameLog
from twixt.render.measure.frame_rows import FrameRow
from twixt.render.overlay.panel_state import messages
from twixt.render.pacing.policy import FramePlan, FrameResult, FrameTimes
from twixt.render.playback.clock import MODES, PlaybackClock
from twixt.render.snapshots.history import History
from twixt.render.viewer.frame_record import Drawing, FrameFacts, FrameInputs, Pacing, row_of

MS = 1_000_000
NOW_NS = 10**12
PUBLISHED, BODIES, MOST_MARKS = 20, 3, 2
COLUMNS = {"heat": ("<f4", 1), "scale3": ("<f4", 3)}
# The newest six or so, of sixteen that the ring holds.
BUDGET = 2700


class MappedBytes:
    """Bytes in place of a mapping, as a viewer has it: read-only."""

    def __init__(self, content: bytes) -> None:
        self.view, self.size, self.closed = memoryview(content), len(content), False

    def close(self) -> None:
        self.closed = True


def segment() -> tuple[Layout, bytes]:
    """A ring gone round once, with its plan."""
    layout = Layout.for_bodies(BODIES + MOST_MARKS, COLUMNS)
    made = memory.create(layout.segment_bytes)
    writer = RingWriter(made, layout)
    writer.write_scene_version(1)
    writer.write_plan(Plan(1, 0, NOW_NS, 0, 1.0))
    bodies = new_bodies(BODIES)
    for tick in range(1, PUBLISHED + 1):
        bodies["position"] += 0.01
        head = Head(tick=tick, sim_time_ns=tick * 8 * MS, due_ns=NOW_NS + tick * 8 * MS, dt_ns=8 * MS, count=BODIES)
        columns = {"heat": np.zeros(BODIES, "f4"), "scale3": np.ones((BODIES, 3), "f4")}
        marks = np.zeros(tick % (MOST_MARKS + 1), MARK)
        marks["key"], marks["orientation"][:, 3] = np.arange(len(marks)), 1
        publish(writer, head, bodies, columns, marks)
    content = bytes(made.view)
    writer.close()
    return layout, content


class Viewer:
    """What a viewer makes of snapshots before the GPU sees them: history, clock, method, log, overlay's words."""

    def __init__(self, mutator: Mutator) -> None:
        draw = mutator.random
        self._clock = PlaybackClock(draw.choice(list(MODES)))
        self._clock.reach_ns = draw.choice((0, 250 * MS))
        self._method = create(draw.choice(list(METHODS)))
        self._history = History(6)
        self._newest, self._plan = Head(), Plan(0, 0, 0, 0, 1.0)
        self._log = FrameLog(kept_frames=8)
        self._marks = NO_MARKS

    def replan(self, plan: Plan) -> None:
        self._plan = plan
        self._clock.replan(plan)

    def take(self, head: Head, snapshot: Snapshot) -> None:
        slot = self._history.slot_for(head)
        if slot is not None:
            self._history.commit(slot, head)
            self._method.add(snapshot)
        self._clock.observe(head.sim_time_ns, head.due_ns, NOW_NS, head.world_epoch, head.plan_number)
        self._newest = head
        marks, before = drawable(snapshot.marks), self._marks
        blended(before, marks, matched(before["key"], marks["key"]), 0.5)
        self._marks = marks

    def draw(self, present_ns: int) -> None:
        times = FrameTimes(present_ns - 4 * MS, present_ns - 3 * MS, present_ns - MS, present_ns - MS, present_ns)
        planned = FramePlan(times.start_ns, None, present_ns, 16 * MS, 1, "")
        draw_time_ns = self._clock.draw_time_ns(present_ns)
        pair = self._history.pair(draw_time_ns)
        shown = None
        if pair is not None:
            main = SimpleNamespace(pair=pair, draw_time_ns=pair.draw_time_ns, method="auto", is_beyond=False)
            shown = SimpleNamespace(main=main, due_ns=self._clock.due_ns(pair.draw_time_ns), group_due_ns={})
            self._method.sample(draw_time_ns)
        facts = FrameFacts(
            1, planned, times, FrameResult(present_ns, present_ns, 0, ""), Pacing(16 * MS, 1),
            FrameInputs(self._newest, self._plan, self._clock.state, 1, 0), Drawing(shown), is_probe=False, rested_ns=0,
        )  # fmt: skip
        row = row_of(facts, FrameRow())
        self._log.add(row)
        link = SimpleNamespace(ended=None, status={})
        messages(link, row, self._newest, SimpleNamespace(paused=False))


class SegmentTarget(Target):
    """A segment with changes anywhere, most of them where numbers are believed."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        warnings.simplefilter("ignore")  # numpy's own, of NaN and infinity in bodies
        layout, content = segment()
        self._corpus = [content]
        self._hot = self.places(layout)

    def places(self, layout: Layout) -> list[tuple[int, int]]:
        heads = [(layout.slot_offset(slot), 192) for slot in range(layout.slots)]
        return [(0, 64), (64, 192), (at.LATEST * 8, 256), (at.PLAN_SEQUENCE * 8, 48), *heads, *heads]

    def feed(self) -> None:
        self.fed = spoilt = self.mutator.bytes(self._corpus, self._hot)
        mapped = MappedBytes(spoilt)
        reader, viewer = RingReader(mapped), Viewer(self.mutator)  # type: ignore[arg-type]
        with contextlib.suppress(TwixtError):
            viewer.replan(reader.plan())
        with contextlib.suppress(TwixtError):
            reader.pair(), reader.newest(), reader.has_successor, reader.scene_version, reader.has_unread
        present_ns = NOW_NS + self.mutator.random.choice((0, 100 * MS, 10_000 * MS))
        for view in reader.unread(BUDGET):
            snapshot = view.copy()
            if snapshot is not None and view.is_valid():
                viewer.take(view.head, snapshot)
                if view.number % 3 == 0:  # drawing takes the longest here
                    viewer.draw(present_ns)
                present_ns += 16 * MS
        if self.mutator.random.random() < 0.2:
            with contextlib.suppress(TwixtError):
                check_segment(mapped.view)
        reader.close()


class HeadTarget(SegmentTarget):
    """Heads alone."""

    def places(self, layout: Layout) -> list[tuple[int, int]]:
        return [(layout.head_offset(slot), 96) for slot in range(layout.slots)]


class PlanTarget(SegmentTarget):
    """The plan's record alone, whole by its sequence word."""

    def places(self, layout: Layout) -> list[tuple[int, int]]:
        return [(at.PLAN * 8, 40)]


SCENES = (
    Scene([Sphere(0.5), Box((1, 2, 3), color=(1, 0, 0)), Plane((4, 5)), Capsule(), Cylinder(), Ellipsoid((1, 2, 3))]),
    Scene(
        [Sphere(0.1)] * 5 + [Box()] * 5,
        camera=Camera((1, 2, 3), (0, 0, 0), 60.0, body=2),
        ground_z=None,
        outline=((-1, -1, 0), (1, 1, 2)),
        parents={1: 0, 2: 1, 7: 3},
        groups={"hand": Group([4, 5], "linear", 80.0), "foot": Group([6])},
        columns={"heat": "linear", "frame": "none", "turn": "angle", "own": "rules:ease"},
        color_by=ColorBy("heat", 0.0, 5.0),
    ),
    Scene(),
)


class SceneTarget(Target):
    """A scene's bytes, and a scene's values in bytes that fit."""

    def __init__(self, mutator: Mutator) -> None:
        super().__init__(mutator)
        self._corpus = [packed_scene(scene).to_bytes() for scene in SCENES]

    def feed(self) -> None:
        import json

        draw = self.mutator.random
        if draw.random() < 0.5:
            self.fed = spoilt = self.mutator.bytes(self._corpus)
        else:
            head, _, indices = draw.choice(self._corpus).partition(b"\n")
            spoilt = json.dumps(self.mutator.json(json.loads(head))).encode() + b"\n" + indices
            self.fed = spoilt
        use_scene(unpacked_scene(spoilt), draw.choice((0, 3, 10, 70_000)))


def use_scene(scene: Scene, count: int) -> None:
    """What drawing asks of a scene before it draws. count: bodies of the snapshot that came with it."""
    from twixt.render.draw.frame.camera import OrbitCamera

    shape_list(scene).rows_for(count), rows_of_parents(scene.parents, count), rows_of_groups(scene.groups, count)
    with contextlib.suppress(TwixtError):
        scene.check_bodies(count)
    for shape in shape_list(scene).table:
        assert shape.reach > 0
    if scene.camera is not None:
        OrbitCamera(scene.camera)
    assert shape_list(unpacked_scene(packed_scene(scene).to_bytes())).rows.tolist() == shape_list(scene).rows.tolist()
