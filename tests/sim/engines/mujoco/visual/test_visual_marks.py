"""Marks that a viewer receives of models with tendons and contacts, and of geoms of the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import HUNG, MOVING, Launch, Reader
from twixt.ipc.snapshot import MARK_KINDS

mujoco = pytest.importorskip("mujoco")

from twixt.sim.engines.mujoco.visual import visual_marks  # noqa: E402
from twixt.sim.engines.mujoco.visual.geom_memory import geom_records  # noqa: E402
from twixt.sim.engines.mujoco.visual.user_geoms import MOST_USER_GEOMS  # noqa: E402

FLAG, GEOM = mujoco.mjtVisFlag, mujoco.mjtGeom
ALWAYS, SELDOM = 1e6, 0.1
KINDS = list(MARK_KINDS)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """MuJoCo writes MUJOCO_LOG.TXT into the present folder when it warns; here it must not."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.glob("MUJOCO_LOG*"))


def of_kind(marks: Any, kind: str) -> Any:
    return marks[marks["kind"] == KINDS.index(kind)]


def marks_after(handle: Any, reader: Reader, steps: int = 1) -> Any:
    for _ in range(steps):
        mujoco.mj_step(handle.m, handle.d)
    handle.sync()
    return reader.of_time(handle.d.time).marks


def only(handle: Any, *flags: str) -> None:
    handle.opt.flags[FLAG.mjVIS_TENDON] = handle.opt.flags[FLAG.mjVIS_RANGEFINDER] = 0
    for flag in flags:
        handle.opt.flags[getattr(FLAG, f"mjVIS_{flag}")] = 1


def add_sphere(scene: Any, place: Any, size: float = 0.1) -> Any:
    """As users write it."""
    scene.ngeom += 1
    geom = scene.geoms[scene.ngeom - 1]
    color = np.array([0, 1, 0, 1], np.float32)
    mujoco.mjv_initGeom(geom, GEOM.mjGEOM_SPHERE, np.full(3, size), np.array(place, float), np.eye(3).flatten(), color)
    return geom


def test_a_model_without_such_things_has_no_marks_and_makes_no_scene(launch: Launch) -> None:
    handle, reader = launch(MOVING, publish_hz=ALWAYS)
    assert not len(marks_after(handle, reader))
    assert handle._publisher._marks.copy_geoms() is None


def test_tendons_are_shown_by_default_with_keys_of_tendon_and_segment(launch: Launch) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    before = of_kind(marks_after(handle, reader), "capsule")
    after = of_kind(marks_after(handle, reader, 5), "capsule")
    assert before["key"].tolist() == after["key"].tolist()
    _, counts = np.unique(before["key"], return_counts=True)
    assert min(counts) == 1
    assert max(counts) >= 3, "the second goes around the post"
    assert before["color"][0].tolist() == [255, 0, 0, 255]
    straight = handle.d.site("left").xpos, handle.d.site("plate_left").xpos
    assert after["position"][0] == pytest.approx((straight[0] + straight[1]) / 2, abs=1e-5)
    assert after["size"][0] == pytest.approx((0.01, np.linalg.norm(straight[0] - straight[1]), 0), abs=1e-5)


def test_tendons_come_and_go_with_their_flag_and_group(launch: Launch) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    only(handle)
    assert not len(marks_after(handle, reader))
    only(handle, "TENDON")
    handle.opt.tendongroup[1] = 0
    assert len(marks_after(handle, reader)) == 1


def test_bodies_geoms_and_sites_are_no_marks(launch: Launch) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    only(handle, "COM")
    spheres = marks_after(handle, reader)
    assert len(spheres) == 3  # one for each tree of bodies
    assert spheres["position"] == pytest.approx(handle.d.subtree_com[1:], abs=1e-5)


@pytest.mark.parametrize(
    ("flag", "kinds"),
    [
        ("JOINT", {"arrow": 2, "box": 2}),
        ("ACTUATOR", {"arrow": 1, "capsule": 1}),
        ("CAMERA", {"box": 1, "cylinder": 1}),
        ("LIGHT", {"cylinder": 1}),
        ("INERTIA", {"box": 3}),
        ("RANGEFINDER", {"line": 1}),
        ("AUTOCONNECT", {}),
        ("BODYBVH", {"line": 12 * 5}),
    ],
)
def test_each_flag_has_its_marks(launch: Launch, flag: str, kinds: dict[str, int]) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    only(handle, flag)
    marks = marks_after(handle, reader)
    assert {KINDS[kind]: int((marks["kind"] == kind).sum()) for kind in set(marks["kind"].tolist())} == kinds


def test_constraints_and_perturbations_that_are_active_are_shown(launch: Launch) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    only(handle, "CONSTRAINT", "PERTFORCE", "SELECT")
    assert not len(marks_after(handle, reader))
    handle.d.eq_active[0] = 1
    assert len(of_kind(marks_after(handle, reader), "sphere")) == 2
    handle.d.xfrc_applied[2, 0] = 5
    handle.perturb.select = 1
    marks = marks_after(handle, reader)
    assert len(of_kind(marks, "arrow")) == 1
    assert len(of_kind(marks, "sphere")) == 3


@pytest.mark.parametrize(("frame", "count"), [("WORLD", 1), ("BODY", 3), ("GEOM", 5), ("SITE", 6), ("CONTACT", 4)])
def test_frames_are_three_axes_each_in_their_colours(launch: Launch, frame: str, count: int) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    only(handle)
    handle.opt.frame = getattr(mujoco.mjtFrame, f"mjFRAME_{frame}")
    marks = marks_after(handle, reader, 3)
    if frame == "CONTACT":
        count = handle.d.ncon
        assert count >= 4
    assert len(marks) == 3 * count
    _, counts = np.unique(marks["key"], return_counts=True)
    assert counts.tolist() == [3] * count
    assert len(np.unique(marks["color"], axis=0)) == 3


def test_contacts_keep_their_keys_while_others_come_and_go(launch: Launch) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    only(handle, "CONTACTPOINT", "CONTACTFORCE")
    data = handle.d
    seen: dict[int, tuple[int, int]] = {}
    counts = set()
    for _ in range(200):
        marks = marks_after(handle, reader, 2)
        points = of_kind(marks, "cylinder")
        keys = points["key"].tolist()
        assert len(set(keys)) == len(keys) == data.ncon
        for key, pair in zip(keys, data.contact.geom.tolist(), strict=True):
            assert seen.setdefault(key, pair) == pair
        arrows = of_kind(marks, "arrow")["key"] & np.uint64((1 << 56) - 1)
        assert set(arrows.tolist()) <= {key & ((1 << 56) - 1) for key in keys}
        counts.add(data.ncon)
    assert len(counts) > 1, "the ball falls on the box while that stands on four corners"
    corners = [key for key, pair in seen.items() if pair == sorted((data.geom("floor").id, data.geom("box").id))]
    assert len(corners) == 4, "the box stands all the time"


def test_islands_of_contacts_and_forces_that_are_split(launch: Launch) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    only(handle, "CONTACTFORCE", "CONTACTSPLIT")
    marks = marks_after(handle, reader, 300)
    assert len(of_kind(marks, "arrow")) == 2 * handle.d.ncon


def test_a_scene_that_is_too_small_grows_in_silence(
    launch: Launch, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(visual_marks, "FIRST_GEOMS", 2)
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    only(handle, "TENDON", "JOINT", "CONTACTPOINT")
    for place in range(30):
        add_sphere(handle.user_scn, (place, 0, 0))
    marks = marks_after(handle, reader, 3)
    assert len(of_kind(marks, "sphere")) == 30
    assert len(of_kind(marks, "capsule")) >= 4
    assert len(of_kind(marks, "cylinder")) == handle.d.ncon > 0
    assert "WARNING" not in capfd.readouterr().err


def test_after_a_reset_only_the_users_geoms_are_shown_until_there_are_poses(launch: Launch) -> None:
    handle, reader = launch(HUNG, publish_hz=ALWAYS)
    add_sphere(handle.user_scn, (1, 2, 3))
    marks_after(handle, reader, 3)
    mujoco.mj_resetData(handle.m, handle.d)
    handle.sync()
    assert reader.newest().marks["position"].tolist() == [[1, 2, 3]]


def test_geoms_of_the_user_are_marks_known_by_their_place(launch: Launch) -> None:
    handle, reader = launch(MOVING, publish_hz=ALWAYS)
    scene = handle.user_scn
    keys = []
    for turn in range(3):
        with handle.lock():
            scene.ngeom = 0
            for number in range(5):
                add_sphere(scene, (turn, number, 0), size=0.1 + turn)
        marks = marks_after(handle, reader)
        assert marks["position"][:, :2].tolist() == [[turn, number] for number in range(5)]
        assert marks["size"][:, 0] == pytest.approx(np.full(5, 0.1 + turn))
        keys.append(marks["key"].tolist())
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys[0])) == 5
    scene.ngeom = 0
    assert not len(marks_after(handle, reader))


def test_a_geom_with_a_label_is_known_by_it_wherever_it_stands(launch: Launch) -> None:
    handle, reader = launch(MOVING, publish_hz=ALWAYS)
    scene = handle.user_scn
    names = ["goal", "path", "goal of the other", "x" * 99]
    for name in names:
        add_sphere(scene, (0, 0, 0)).label = name
    first = dict(zip(names, marks_after(handle, reader)["key"].tolist(), strict=True))
    assert len(set(first.values())) == 4
    scene.ngeom = 0
    for name in reversed(names):
        add_sphere(scene, (1, 1, 1)).label = name
    assert marks_after(handle, reader)["key"].tolist() == [first[name] for name in reversed(names)]


def test_geoms_that_cannot_be_drawn_are_counted_and_named_once(
    launch: Launch, capfd: pytest.CaptureFixture[str]
) -> None:
    handle, reader = launch(MOVING, publish_hz=ALWAYS)
    scene = handle.user_scn
    for _ in range(3):
        add_sphere(scene, (0, 0, 0)).type = GEOM.mjGEOM_MESH
    add_sphere(scene, (0, 0, 0)).label = "goal"
    for _ in range(4):
        marks = marks_after(handle, reader)
    assert len(marks) == 1
    said = [line for line in capfd.readouterr().err.splitlines() if "user_scn" in line]
    assert len(said) == 1
    assert "mjGEOM_MESH in user_scn, 3 of 4 geoms: no effect yet" in said[0]


def test_labels_of_the_users_geoms_are_texts_of_the_scene(launch: Launch) -> None:
    handle, reader = launch(MOVING, publish_hz=ALWAYS)
    add_sphere(handle.user_scn, (0, 0, 0)).label = "goal"
    add_sphere(handle.user_scn, (0, 0, 1))
    add_sphere(handle.user_scn, (0, 0, 2)).label = "start"
    marks = marks_after(handle, reader)
    assert marks["label"].tolist() == [1, 0, 2]
    assert handle._shown._texts.texts == ("goal", "start")


@pytest.mark.parametrize("kind", ["BODY", "GEOM"])
def test_names_of_the_models_things_are_labels_at_their_places(launch: Launch, kind: str) -> None:
    handle, reader = launch(MOVING, publish_hz=ALWAYS)
    handle.opt.label = getattr(mujoco.mjtLabel, f"mjLABEL_{kind}")
    marks = marks_after(handle, reader)
    texts = handle._shown._texts.texts
    named = marks[marks["label"] > 0]
    count, access, places = {
        "BODY": (handle.m.nbody, handle.m.body, handle.d.xpos), "GEOM": (handle.m.ngeom, handle.m.geom, handle.d.geom_xpos)
    }[kind]  # fmt: skip
    first = 1 if kind == "BODY" else 0
    assert len(named) == count - first
    for mark, number in zip(named, range(first, count), strict=True):
        assert texts[mark["label"] - 1] == (access(number).name or f"{kind.lower()} {number}")
        assert mark["position"] == pytest.approx(places[number], abs=1e-5)
    assert (named["size"] == 0).all()
    assert handle._shown.scene.labels == texts or handle._shown.is_unfinished


def test_a_geom_that_is_not_finite_is_reported_and_the_loop_goes_on(
    launch: Launch, capfd: pytest.CaptureFixture[str]
) -> None:
    handle, reader = launch(MOVING, publish_hz=ALWAYS)
    add_sphere(handle.user_scn, (np.nan, 0, 0))
    marks_after(handle, reader, 2)
    assert "a mark of kind 'sphere' has the position [nan" in capfd.readouterr().err


def test_marks_of_the_last_state_are_shown_when_nothing_follows(launch: Launch) -> None:
    handle, reader = launch(HUNG, publish_hz=SELDOM)
    for place in range(3):
        handle.user_scn.ngeom = 0
        add_sphere(handle.user_scn, (place, 0, 0))
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
    handle.user_scn.ngeom = 0  # the program goes on with its geoms, and does not call sync
    seen = reader.of_time(handle.d.time)  # on a busy machine an earlier state may come first
    assert of_kind(seen.marks, "sphere")["position"].tolist() == [[2, 0, 0]]
    assert len(of_kind(seen.marks, "capsule")) >= 4


def test_a_hundred_thousand_geoms_find_room(launch: Launch) -> None:
    handle, reader = launch(MOVING, publish_hz=ALWAYS)
    scene = handle.user_scn
    geoms = geom_records(scene)  # memory that was never set
    geoms["type"], geoms["mat"], geoms["size"], geoms["rgba"] = GEOM.mjGEOM_SPHERE, np.eye(3).ravel(), 0.1, 1
    geoms["pos"] = np.arange(MOST_USER_GEOMS)[:, None]
    scene.ngeom = MOST_USER_GEOMS
    reader.until(lambda: handle.sync() or len(reader.newest().marks) == MOST_USER_GEOMS)
    assert np.array_equal(reader.newest().marks["position"], geoms["pos"])


def test_a_loop_with_a_view_of_its_own_shows_tendons(launch: Launch) -> None:
    import twixt
    from twixt import mujoco_viewer
    from twixt.ipc.session import attach

    model = mujoco.MjModel.from_xml_string(HUNG)
    data = mujoco.MjData(model)
    with twixt.show(mujoco_viewer.scene(model), viewer=False) as view:
        link = attach(view.name)
        for _ in range(3):
            mujoco.mj_step(model, data)
            mujoco_viewer.publish(view, data)
        seen = Reader(view, link).newest()
        assert len(of_kind(seen.marks, "capsule")) >= 4
        link.close()
