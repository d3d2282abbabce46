"""Odd values given to MuJoCo's names, and damaged models: refused by a TwixtError with the value and the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sim.engines.mujoco.models import MOVING, Launch
from twixt.ipc.errors import TwixtError
from twixt.sim.engines.mujoco.model_world import world_of_file

mujoco = pytest.importorskip("mujoco")

ODD: tuple[Any, ...] = (
    True, 1j, "x", b"xy", float("nan"), 10**400, -(10**5000), np.array(5), np.zeros((2, 2)), [None], {1: 2}, object(), ...,
)  # fmt: skip
GROUND = """<mujoco><asset>
  <hfield name="ground" nrow="4" ncol="4" size="1 1 1 1"/>
  <texture name="checks" type="2d" builtin="checker" width="8" height="8"/><material name="paint" texture="checks"/>
</asset><worldbody>
  <geom type="hfield" hfield="ground"/><body pos="0 0 3"><freejoint/><geom size="0.1" material="paint"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("call", ["set_texts", "set_images", "set_figures"])
def test_what_is_laid_over_the_picture_is_refused_in_words(launch: Launch, call: str) -> None:
    handle, _ = launch(MOVING)
    for odd in (None, *ODD):
        with pytest.raises(TwixtError, match=f"^{call} takes "):
            getattr(handle, call)(odd)


def test_each_field_of_a_text_is_refused_in_words(launch: Launch) -> None:
    handle, _ = launch(MOVING)
    for place in (8, -1, 10**400):
        with pytest.raises(TwixtError, match="^the gridpos of a text must be an mjtGridPos, 0 to 7, got"):
            handle.set_texts((None, place, "left", "right"))
    for odd in ODD[1:5] + ODD[8:]:
        for field, said in enumerate(
            ("the font of a text", "the gridpos of a text", "OverlayText.text", "OverlayText.value")
        ):
            text = [None, 0, "left", "right"]
            text[field] = odd
            if field < 2 or not isinstance(odd, str):
                with pytest.raises(TwixtError, match=f"^{said}"):
                    handle.set_texts(tuple(text))


def test_each_field_of_an_image_and_of_a_figure_is_refused_in_words(launch: Launch) -> None:
    handle, _ = launch(MOVING)
    rect, pixels = mujoco.MjrRect(0, 0, 2, 2), np.zeros((2, 2, 3), np.uint8)
    for odd in (None, *ODD):
        with pytest.raises(TwixtError, match=r"^a viewport must be a mujoco\.MjrRect"):
            handle.set_images((odd, pixels))
        with pytest.raises(TwixtError, match=r"^set_figures takes figures of the type mujoco\.MjvFigure"):
            handle.set_figures((rect, odd))
    with pytest.raises(TwixtError, match="^the image of set_images must be lists of numbers"):
        handle.set_images((rect, [[1, 2], [3]]))


def test_models_views_and_files_are_refused_in_words(launch: Launch) -> None:
    from twixt import mujoco_viewer

    handle, _ = launch(MOVING)
    for odd in (None, *ODD):
        with pytest.raises(TwixtError, match=r"^scene\(model\) takes a mujoco\.MjModel"):
            mujoco_viewer.scene(odd)
        with pytest.raises(TwixtError, match=r"^publish\(view, data\) takes a view"):
            mujoco_viewer.publish(odd, handle.d)
        with pytest.raises(TwixtError, match=r"^(no file|a model's file must be named by a path)"):
            mujoco_viewer.launch_from_path(odd)
        if odd is not True:
            with pytest.raises(ValueError, match="must be a number from 0 to"):
                handle.update_texture(odd)


@pytest.mark.parametrize(
    ("lost", "said"),
    [("hfield_ncol", "the model is damaged"), ("tex_height", "the model is damaged")],
)
def test_a_model_whose_arrays_do_not_fit_each_other_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str, said: str
) -> None:
    file = tmp_path / "model.xml"
    file.write_text(GROUND)
    model = mujoco.MjModel.from_xml_path(str(file))
    getattr(model, lost)[:] = 0 if lost == "hfield_ncol" else 64
    monkeypatch.setattr("twixt.sim.engines.mujoco.model_world.loaded_model", lambda _path: model)
    with pytest.raises(TwixtError, match=said):
        world_of_file(str(file))()


def test_a_timestep_that_no_run_can_have_is_refused_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "model.xml"
    file.write_text('<mujoco><option timestep="1e-9"/><worldbody><geom size="1"/></worldbody></mujoco>')
    with pytest.raises(
        TwixtError, match=r"model\.xml must be from 1e-06 to 86400 s, got 1e-09; correct it in its <opt"
    ):
        world_of_file(str(file))()


@pytest.mark.parametrize("field", ["geom_matid", "mat_texid", "geom_bodyid", "geom_dataid"])
def test_a_number_of_nothing_in_the_model_is_reported_once_and_the_picture_stays(
    launch: Launch, field: str, capfd: pytest.CaptureFixture[str]
) -> None:
    handle, reader = launch(GROUND, publish_hz=1000)
    seen = reader.newest()
    before = getattr(handle.m, field).copy()

    def publish() -> None:
        handle.d.time += 0.01
        handle._shown._scene_ns = handle._shown._model_ns = 0  # the model is looked at in this one
        handle._publisher._gate.next_ns = 0
        handle._deferred.request_check()
        handle.sync()

    for value in (99, 98):
        getattr(handle.m, field)[...] = value
        publish()
        publish()
    lines = [line for line in capfd.readouterr().err.splitlines() if "out of range" in line]
    assert len(lines) == 1
    assert lines[0].startswith("twixt: an index in the model's arrays is out of range (index 99 is out of bounds")
    assert lines[0].endswith("; the picture is not updated")
    getattr(handle.m, field)[...] = before
    publish()
    reader.until(lambda: reader.newest().sim_time_ns > seen.sim_time_ns)
    assert not handle._shown._has_wrong_index
