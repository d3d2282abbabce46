"""The passive viewer's handle: what is published when, and MuJoCo's own names and rules."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import KINDS, MOVING, Launch
from twixt.ipc.interaction.events import Look, UserEvent
from twixt.ipc.interaction.overlay import PLACES, OverlayText
from twixt.ipc.scene import Camera, Compound
from twixt.ipc.session import attach, wire
from twixt.ipc.snapshot import VISIBLE
from twixt.sim.engines.mujoco import mujoco_viewer
from twixt.sim.engines.mujoco.model.model_camera import scene_camera

mujoco = pytest.importorskip("mujoco")

# States a second. One that no test reaches, and one that lets each state through.
SELDOM, ALWAYS = 0.1, 1e6


def stepped(handle: Any, steps: int = 1) -> None:
    for _ in range(steps):
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()


# A sphere on a stiff slide, and one that falls: MuJoCo does not reset this one by itself.
DIVERGING = """
<mujoco>
  <option timestep="0.1" integrator="Euler"><flag autoreset="disable"/></option>
  <worldbody>
    <body><joint type="slide" axis="1 0 0" stiffness="1e4"/><geom size="1" mass="0.01" contype="0" conaffinity="0"/></body>
    <body pos="3 0 1"><joint type="slide" axis="0 0 1" damping="9"/><geom size="0.3" contype="0" conaffinity="0"/></body>
  </worldbody>
  <keyframe><key qpos="1 0"/></keyframe>
</mujoco>
"""


def test_the_first_state_is_shown_before_the_first_sync(launch: Launch) -> None:
    handle, reader = launch()
    seen = reader.newest()
    assert seen.bodies["position"].tolist() == handle.d.xpos.astype(np.float32).tolist()


def test_a_sync_publishes_the_poses_and_the_time(launch: Launch) -> None:
    handle, reader = launch(publish_hz=ALWAYS)
    stepped(handle, 20)
    seen = reader.newest()
    data = handle.d
    assert np.allclose(seen.bodies["position"], data.xpos)
    assert np.allclose(seen.bodies["orientation"][:, [3, 0, 1, 2]], data.xquat)
    assert seen.sim_time_ns == round(data.time * 1e9)


def test_velocities_are_those_of_the_bodies_origins(launch: Launch) -> None:
    handle, reader = launch(publish_hz=ALWAYS)
    handle.d.qvel[:] = 1, 2, 3, 4, 5, 6, 0.7, 0.8
    mujoco.mj_forward(handle.m, handle.d)
    handle.sync()
    seen = reader.newest().bodies
    for body in range(4):  # all but the mocap body, of which MuJoCo knows no velocity
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(handle.m, handle.d, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
        assert seen["angular_velocity"][body] == pytest.approx(velocity[:3], abs=1e-5)
        assert seen["velocity"][body] == pytest.approx(velocity[3:], abs=1e-5)
    assert np.abs(seen["velocity"][3]).max() > 0.1
    assert seen["flags"][4] == VISIBLE


def test_what_comes_too_early_is_published_soon_when_nothing_follows(launch: Launch) -> None:
    handle, reader = launch(publish_hz=SELDOM)
    first = reader.newest()
    stepped(handle, 5)
    assert handle._publisher.published == 1
    shown = handle.d.xpos.astype(np.float32).copy()
    handle.d.xpos[:] = np.nan  # the program goes on with its data, and does not call sync
    seen = reader.until_tick(first.tick + 1)
    assert np.array_equal(seen.bodies["position"], shown)
    assert seen.sim_time_ns == round(handle.d.time * 1e9)
    assert handle._publisher.published == 2


def test_a_state_is_never_followed_by_an_older_one(launch: Launch) -> None:
    handle, reader = launch(publish_hz=50)
    epochs, times = set(), [0]
    while len(set(times)) < 5:
        stepped(handle)
        seen = reader.newest()
        epochs.add(seen.world_epoch)
        times.append(seen.sim_time_ns)
    assert len(epochs) == 1
    assert times == sorted(times)


def test_time_that_goes_back_is_one_cut(launch: Launch) -> None:
    handle, reader = launch(publish_hz=ALWAYS)
    stepped(handle, 3)
    before = reader.newest()
    mujoco.mj_resetData(handle.m, handle.d)  # leaves no poses until the next step
    handle.sync()
    after = reader.newest()
    assert after.world_epoch == before.world_epoch + 1
    assert after.sim_time_ns == 0
    assert after.bodies["position"][1].tolist() == [0, 0, 1]
    assert not handle.d.xquat[1].any(), "the data is only read"


def test_after_close_sync_is_silent_and_the_rest_answers(launch: Launch) -> None:
    handle, _ = launch()
    model, data = handle.m, handle.d
    assert handle.is_running()
    handle.close()
    handle.close()
    handle.sync()
    assert not handle.is_running()
    assert handle.m is model
    assert handle.d is data
    assert handle.viewport.width > 0
    with handle.lock():
        pass


def test_the_lock_is_reentrant_and_keeps_another_threads_sync_out(launch: Launch) -> None:
    handle, _ = launch(publish_hz=ALWAYS)
    begun, synced = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        handle.sync()
        synced.set()

    with handle.lock(), handle.lock():
        handle.sync()
        before = handle._publisher.published
        other = threading.Thread(target=work)
        other.start()
        begun.wait()
        assert not synced.is_set()
        assert handle._publisher.published == before
    other.join()
    assert handle._publisher.published == before + 1


def test_a_camera_that_the_code_moves_is_the_scenes(launch: Launch) -> None:
    handle, reader = launch(publish_hz=ALWAYS)
    handle.cam.lookat[:] = 1, 2, 3
    handle.cam.azimuth, handle.cam.elevation, handle.cam.distance = 0, 0, 2
    handle._shown.refresh(at_once=True)
    handle.sync()
    camera = reader.scene().camera
    assert camera is not None
    assert camera.eye == pytest.approx((-1, 2, 3))
    assert camera.target == pytest.approx((1, 2, 3))


@pytest.mark.parametrize("lookat", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("distance", [np.nan, 0.0, -1.0, 1e300])
@pytest.mark.parametrize("is_orthographic", [False, True])
def test_a_camera_that_follows_what_has_diverged_stays_a_camera(
    launch: Launch, lookat: float, distance: float, is_orthographic: bool
) -> None:
    model = mujoco.MjModel.from_xml_string(MOVING)
    model.vis.global_.fovy = np.nan if is_orthographic else 45
    camera = mujoco.MjvCamera()
    camera.lookat[:], camera.distance, camera.orthographic = lookat, distance, is_orthographic
    seen = scene_camera(model, camera)
    assert np.isfinite([*seen.eye, *seen.target, seen.orthographic_height or 0]).all()


def test_a_selected_body_that_is_not_there_is_none(launch: Launch) -> None:
    handle, _ = launch(publish_hz=ALWAYS)
    handle.opt.flags[:] = 1
    handle.perturb.select = 10**6
    stepped(handle)
    assert handle.perturb.select == 0


def test_a_state_that_cannot_be_shown_on_the_idle_thread_is_said_and_later_ones_are_shown(
    launch: Launch, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*asked: object) -> bool:
        raise ArithmeticError("no scene today")

    handle, reader = launch(KINDS, publish_hz=SELDOM)
    stepped(handle)
    monkeypatch.setattr(handle._shown, "refresh", fail)
    said: list[str] = []

    def is_said() -> bool:
        said.append(capfd.readouterr().err)
        return "the last state cannot be shown: ArithmeticError: no scene today" in "".join(said)

    stepped(handle)  # once: the thread shows what no other state follows
    reader.until(is_said)
    assert "Traceback" not in "".join(said)
    monkeypatch.undo()
    stepped(handle)
    tick = reader.newest().tick
    stepped(handle)
    reader.until_tick(tick + 1)


def test_a_camera_that_tracks_a_body_is_carried_by_it_and_never_turns(launch: Launch) -> None:
    handle, reader = launch(publish_hz=ALWAYS)
    handle.cam.type, handle.cam.trackbodyid = mujoco.mjtCamera.mjCAMERA_TRACKING, 3
    stepped(handle)
    camera = reader.scene().camera
    assert camera is not None
    assert (camera.body, camera.rotates_with_body) == (3, False)
    assert camera.target == (0, 0, 0)


def test_groups_and_the_models_own_changes_are_shown_with_a_later_sync(launch: Launch) -> None:
    handle, reader = launch(KINDS, publish_hz=SELDOM)

    def parts() -> list[Any]:
        shape = reader.scene().shapes[1]
        assert isinstance(shape, Compound)
        return [part.shape for part in shape.parts]

    count, tick = len(parts()), reader.newest().tick
    handle.opt.geomgroup[3] = 1
    handle.m.geom("egg").rgba[:] = 0.1, 0.2, 0.3, 1
    stepped(handle)  # too early; published soon, with everything that has changed
    reader.until_tick(tick + 1)
    assert len(parts()) == count + 1
    assert parts()[2].color == pytest.approx((0.1, 0.2, 0.3))


def test_a_camera_that_moves_all_the_time_publishes_no_scene(launch: Launch) -> None:
    handle, reader = launch(publish_hz=ALWAYS)
    for azimuth in range(1, 201):
        handle.cam.azimuth = azimuth
        handle.sync()
    assert handle._view._host.scene.version == 1
    assert reader.scene().camera == scene_camera(handle.m, handle.cam)


def test_changes_come_no_faster_than_viewers_take_scenes_and_none_is_lost(launch: Launch) -> None:
    handle, reader = launch(publish_hz=ALWAYS)
    first = handle._view._host.scene.version
    for number in range(200):
        handle.opt.geomgroup[3] = number % 2 == 0
        handle.sync()
    handle.opt.geomgroup[0] = 0
    handle.sync()
    assert handle._view._host.scene.version - first < 200
    reader.until(lambda: not any(part for shape in reader.scene().shapes for part in getattr(shape, "parts", (1,))))


def moved(handle: Any, look: Look) -> None:
    """The handle's view has received what a user sees."""
    handle._view._host.actions.receive("viewer", wire.Message(look.KIND, look.to_fields()))


def test_a_view_that_the_user_has_moved_arrives_in_cam_and_what_the_code_sets_wins(launch: Launch) -> None:
    handle, reader = launch(publish_hz=ALWAYS)
    wanted = mujoco.MjvCamera()
    wanted.lookat[:], wanted.distance, wanted.azimuth, wanted.elevation = (1, 2, 3), 4, 130, -25
    version = handle._view._host.camera.version
    moved(handle, Look(scene_camera(handle.m, wanted), version, (640, 360), True))
    handle.sync()
    for name in ("distance", "azimuth", "elevation", "lookat"):
        assert getattr(handle.cam, name) == pytest.approx(getattr(wanted, name)), name
    assert handle._view._host.camera.version == version  # what came from the viewer is not sent back
    assert (handle.viewport.width, handle.viewport.height) == (640, 360)
    moved(handle, Look(scene_camera(handle.m, mujoco.MjvCamera()), version, (640, 360), True))
    handle.cam.azimuth = 10
    handle.sync()
    assert (handle.cam.azimuth, handle.cam.distance) == (10, pytest.approx(4))
    assert reader.scene().camera == scene_camera(handle.m, handle.cam)
    moved(handle, Look(scene_camera(handle.m, wanted), version, (640, 360), True))  # seen before it obeyed the code
    handle.sync()
    assert handle.cam.azimuth == 10


def test_of_a_tracking_camera_lookat_stays_and_a_fixed_one_is_not_moved(launch: Launch) -> None:
    handle, _ = launch(publish_hz=ALWAYS)
    handle.cam.type, handle.cam.trackbodyid = mujoco.mjtCamera.mjCAMERA_TRACKING, 3
    handle.sync()
    seen, lookat = Camera((0, -2, 0), (0, 0, 0), body=3, rotates_with_body=False), handle.cam.lookat.tolist()
    moved(handle, Look(seen, handle._view._host.camera.version, (8, 6), True))
    handle.sync()
    assert (handle.cam.distance, handle.cam.azimuth, handle.cam.elevation) == pytest.approx((2, 90, 0))
    assert handle.cam.lookat.tolist() == lookat
    handle.cam.type, handle.cam.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, -1
    handle.sync()
    moved(handle, Look(Camera((0, -9, 0)), handle._view._host.camera.version, (8, 6), True))
    handle.sync()
    assert handle.cam.distance == pytest.approx(2)


def test_keys_call_the_callback_on_a_thread_that_may_take_the_lock(launch: Launch, capfd: Any) -> None:
    pressed: list[int] = []
    done = threading.Event()

    def on_key(code: int) -> None:
        with handles[0].lock():
            pressed.append(code)
        if code == ord("X"):
            raise ValueError("no X here")
        if code == ord("Q"):
            sys.exit(3)
        if code == 256:
            done.set()

    handles: list[Any] = []
    handles.append(launch(key_callback=on_key)[0])
    link = attach(handles[0]._view.name)
    with handles[0].lock():  # held by the program's loop; the callback waits for it, and sync does not for the callback
        for event in (UserEvent("key", 65), UserEvent("key", 65, "release"), UserEvent("key", ord("X")),
                      UserEvent("key", ord("Q")), UserEvent("key", 32, is_viewers=True), UserEvent("reset"), UserEvent("key", 256)):  # fmt: skip
            link.send_action(event)
        handles[0].sync()
    assert done.wait(60)
    assert pressed == [65, ord("X"), ord("Q"), 32, 256]
    said = capfd.readouterr().err
    assert "no X here" in said
    assert "key_callback called sys.exit" in said
    link.close()


def test_what_has_no_effect_says_so_once(launch: Launch, capfd: pytest.CaptureFixture[str]) -> None:
    handle, _ = launch(publish_hz=ALWAYS)
    handle.opt.label = mujoco.mjtLabel.mjLABEL_CONTACTFORCE
    handle.user_scn.flags[mujoco.mjtRndFlag.mjRND_WIREFRAME] = 1
    for _ in range(3):
        handle.sync()
    said = [line for line in capfd.readouterr().err.splitlines() if "no effect yet" in line]
    assert len(said) == 2
    for what in (f"opt.label={int(mujoco.mjtLabel.mjLABEL_CONTACTFORCE)}", "user_scn.flags[mjRND_WIREFRAME]"):
        assert any(line.startswith(f"twixt: {what}:") for line in said), what


def test_texts_stand_where_mujocos_do(launch: Launch) -> None:
    handle, reader = launch()

    def shown() -> Any:
        return reader._link.status.get("texts")

    grid, font = mujoco.mjtGridPos, mujoco.mjtFontScale
    assert len(PLACES) == len(grid.__members__)
    handle.set_texts((None, None, "a", None))
    reader.until(lambda: shown() == (OverlayText("top left", "a", "", 1.5),))
    handle.set_texts(
        [(font.mjFONTSCALE_50, grid.mjGRID_BOTTOMRIGHT, "speed", "3 m/s"), (100, grid.mjGRID_TOP, "b", "")]
    )
    wanted = OverlayText("bottom right", "speed", "3 m/s", 0.5), OverlayText("top", "b", "", 1.0)
    reader.until(lambda: shown() == wanted)
    handle.clear_texts()
    reader.until(lambda: shown() == ())


def test_assets_are_shown_anew_when_the_code_says_so(launch: Launch) -> None:
    handle, reader = launch(KINDS, publish_hz=ALWAYS)
    handle.m.hfield_data[:] = 0
    handle.update_hfield(0)
    handle._shown.refresh(at_once=True)
    ground = reader.scene().shapes[0]
    assert isinstance(ground, Compound)
    assert max(part.shape.vertices[:, 2].max() for part in ground.parts if hasattr(part.shape, "vertices")) == 0
    with pytest.raises(ValueError, match="hfield must be a number from 0 to 0, got 1"):
        handle.update_hfield(1)


def test_images_stand_where_mujocos_do_and_must_fit_their_rectangles(
    launch: Launch, capfd: pytest.CaptureFixture[str]
) -> None:
    handle, reader = launch()
    rect, pixels = mujoco.MjrRect, np.arange(36, dtype=np.uint8).reshape(3, 4, 3)

    def shown() -> list[Any]:
        return [(image.rect, image.pixels.tolist()) for image in reader._link.received.images]

    handle.set_images((rect(5, 6, 4, 3), pixels))
    reader.until(lambda: shown() == [((5, 6, 4, 3), pixels.tolist())])
    handle.set_images([(rect(0, 0, 4, 3), pixels.astype(float)), (rect(0, 0, 0, 0), pixels[:0, :0])])
    reader.until(lambda: shown() == [((0, 0, 4, 3), pixels.tolist())])
    large = np.zeros((1000, 2000, 3), np.uint8)
    handle.set_images([(rect(0, 0, 2000, 1000), large), (rect(0, 1000, 2000, 1000), large)])
    reader.until(lambda: len(shown()) == 1 and shown()[0][0] == (0, 0, 2000, 1000))
    assert "1 of 2 images of set_images, too large together: no effect" in capfd.readouterr().err
    handle.clear_images()
    reader.until(lambda: shown() == [])
    with pytest.raises(ValueError, match="does not match target shape"):
        handle.set_images([(mujoco.MjrRect(0, 0, 4, 3), np.zeros((4, 3, 3), np.uint8))])


def test_figures_are_those_of_mujocos_struct(launch: Launch, capfd: pytest.CaptureFixture[str]) -> None:
    handle, reader = launch()
    figure = mujoco.MjvFigure()
    mujoco.mjv_defaultFigure(figure)
    figure.title, figure.xlabel = "angles", "time, s"
    figure.linename[1] = "knee"
    figure.linepnt[1], figure.linergb[1] = 3, (0, 1, 0.5)
    figure.linedata[1, :6] = 0, 0.5, 1, 3, 2, -1

    def shown() -> list[Any]:
        return [
            (one.rect, one.title, one.x_label, one.x_range, one.y_range, one.kind, one.has_legend,
             [(line.name, line.color, line.points.tolist()) for line in one.lines])
            for one in reader._link.received.figures
        ]  # fmt: skip

    lines = [("knee", (0, 1, 0.5), [[0, 0.5], [1, 3], [2, -1]])]
    handle.set_figures((mujoco.MjrRect(1, 2, 300, 200), figure))
    reader.until(
        lambda: shown() == [((1, 2, 300, 200), "angles", "time, s", (0, 2), (-1.2, 3.2), "lines", True, lines)]
    )
    figure.flg_extend, figure.flg_barplot, figure.flg_legend, figure.range[1] = 0, 1, 0, (0, 0)
    handle.set_figures([(mujoco.MjrRect(1, 2, 300, 200), figure), (mujoco.MjrRect(0, 0, 0, 0), figure)])
    reader.until(lambda: shown() == [((1, 2, 300, 200), "angles", "time, s", (0, 1), None, "bars", False, lines)])
    handle.set_figures([(mujoco.MjrRect(0, 0, 1, 1), figure)] * 20)
    reader.until(lambda: len(shown()) == 16)
    assert "4 of 20 figures of set_figures, too large together: no effect" in capfd.readouterr().err
    handle.clear_figures()
    reader.until(lambda: shown() == [])


def test_leaving_the_block_closes(launch: Launch) -> None:
    handle, _ = launch(MOVING)
    with handle as same:
        assert same is handle
    assert not handle.is_running()


@pytest.mark.filterwarnings("error")
def test_a_model_that_diverges_is_shown_without_the_body_that_is_lost(
    launch: Launch, capfd: pytest.CaptureFixture[str]
) -> None:
    handle, reader = launch(DIVERGING, publish_hz=1e6)
    mujoco.mj_resetDataKeyframe(handle.m, handle.d, 0)
    for _ in range(200):
        mujoco.mj_step(handle.m, handle.d)
        handle.sync()
    handle.d.qpos[0] = np.nan
    mujoco.mj_forward(handle.m, handle.d)
    handle.sync()
    bodies = reader.newest().bodies
    assert not np.isfinite(bodies["position"][1]).all()
    assert np.isfinite(bodies["position"][2]).all()
    assert "body 1 has the position" in capfd.readouterr().err
    assert handle.is_running()


def test_two_viewers_on_one_model_show_the_same_states_each_with_its_camera(launch: Launch) -> None:
    first, seen_first = launch(publish_hz=1e6)
    second = mujoco_viewer.launch_passive(first.m, first.d, viewer=False, publish_hz=1e6)
    with second:
        second.cam.distance = 2 * first.cam.distance
        for _ in range(5):
            mujoco.mj_step(first.m, first.d)
            first.sync()
            second.sync()
        newest = second._view._host.ring.newest()
        assert np.array_equal(newest.bodies["position"], seen_first.newest().bodies["position"])
        assert first.cam.distance != second.cam.distance
    first.sync()
    assert first.is_running()
    assert not second.is_running()


def test_the_view_of_a_handle_has_the_sliders_of_a_view(launch: Launch) -> None:
    handle, _ = launch()
    gain = handle.view.slider("gain", 2, 0, 5)
    assert gain.value == 2
    assert gain in handle.view.controls
