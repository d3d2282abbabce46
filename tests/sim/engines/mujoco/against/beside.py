"""Pictures of one state of a model by twixt, MuJoCo Studio and Viser, from the same camera, beside each other.

    xvfb-run -s "-screen 0 1280x1024x24" python -m tests.sim.engines.mujoco.against.beside humanoid.xml --out beside.png

Each draws as it does by default, without panels: twixt as with free cores, and a second time with `--quality best`. Needs
a display, Python 3.12 (for Studio), `pip install mjviser` and a Chromium. docs/gallery.md shows the picture;
docs/engines.md says what is seen.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bench.loops.model_viewers import ViserViewer
from twixt.sim.engines.mujoco import mujoco_viewer

SIZE_PX = 640, 480
LABEL_PX = 20
# Steps until the picture: gymnasium's humanoid is falling.
STEPS = 270
DISTANCE_M, AZIMUTH_DEG, ELEVATION_DEG = 2.8, 130.0, -14.0
# Frames of Studio until its picture is complete; longest time for one of Viser's, seconds.
FIRST_FRAMES, PATIENCE_S = 10, 60.0
COLORS = 255


def fallen(path: str) -> tuple[Any, Any]:
    """The model in a file, and its data STEPS steps after the start."""
    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return model, data


def point(camera: Any, model: Any, data: Any) -> None:
    """Turns a free camera to the middle of the model's first body that moves."""
    camera.type = mujoco.mjtCamera.mjCAMERA_FREE
    camera.lookat[:] = data.xpos[1] - (0, 0, 0.2)
    camera.distance, camera.azimuth, camera.elevation = DISTANCE_M, AZIMUTH_DEG, ELEVATION_DEG


def by_twixt(model: Any, data: Any, **options: Any) -> Image.Image:
    """A screenshot by the passive viewer. options: those of `twixt.show`."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "twixt.png"
        shown = {"offscreen": True, "overlay": False, "size_px": SIZE_PX, "screenshot": str(file), **options}
        with mujoco_viewer.launch_passive(model, data, **shown) as viewer:
            point(viewer.cam, model, data)
            while viewer.is_running() and not file.exists():
                viewer.sync()
                time.sleep(0.01)
        return Image.open(file).convert("RGB")  # the viewer has ended


def by_studio(model: Any, data: Any) -> Image.Image:
    """The pixels of a frame of Studio's window."""
    from mujoco.studio import launch_thread, native_viewer, viewer_protocol

    endpoint, _ = launch_thread.make_thread_endpoints()
    config = viewer_protocol.ViewerConfig(width=SIZE_PX[0], height=SIZE_PX[1], gfx="opengl_software")
    viewer = native_viewer.NativeViewer(config, endpoint)
    viewer.load_model(model)
    state = mujoco.mjtState.mjSTATE_INTEGRATION
    values = np.empty(mujoco.mj_stateSize(model, state))
    mujoco.mj_getState(model, data, values, state)
    mujoco.mj_setState(viewer.model, viewer.data, values, state)
    mujoco.mj_forward(viewer.model, viewer.data)
    point(viewer.camera, model, data)
    window = viewer._window = _KeptFrame(viewer._window)
    for _ in range(FIRST_FRAMES):
        viewer.prepare_next_frame()
        viewer.sync()
    viewer.close()
    return Image.fromarray(window.pixels)


class _KeptFrame:
    """Studio's window, and the pixels that it was given last."""

    def __init__(self, window: Any) -> None:
        self._window = window
        self.pixels = np.zeros((1, 1, 3), np.uint8)

    def Present(self, pixels: Any) -> None:
        self._window.Present(pixels)
        self.pixels = pixels.copy()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._window, name)


def by_viser(model: Any, data: Any) -> Image.Image:
    """A picture that Viser's browser draws when it is asked to."""
    camera = mujoco.MjvCamera()
    point(camera, model, data)
    azimuth, elevation = np.deg2rad((camera.azimuth, camera.elevation))
    ahead = np.array((np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)))
    right = np.cross(ahead, (0, 0, 1))
    right /= np.linalg.norm(right)
    turn = np.empty(4)  # of a camera that looks along z, with y down
    mujoco.mju_mat2Quat(turn, np.stack([right, np.cross(ahead, right), ahead], axis=1).ravel())
    viewer = ViserViewer(model, data)
    try:
        viewer.scene.camera_tracking_enabled = False  # it would keep the robot at the origin and move the world
        viewer.sync()
        eye, fov = camera.lookat - camera.distance * ahead, np.deg2rad(model.vis.global_.fovy)
        pixels = viewer.client.get_render(*SIZE_PX[::-1], wxyz=turn, position=eye, fov=fov, timeout=PATIENCE_S)
    finally:
        viewer.close()
    return Image.fromarray(pixels[..., :3])


PICTURES: dict[str, Callable[[Any, Any], Image.Image]] = {
    "twixt": lambda model, data: by_twixt(model, data, quality="high"),
    "twixt --quality best": lambda model, data: by_twixt(model, data, quality="best"),
    "MuJoCo Studio": by_studio,
    "Viser (mjviser)": by_viser,
}


def sheet(pictures: dict[str, Image.Image]) -> Image.Image:
    """Two pictures a row, each under its name."""
    width, height = SIZE_PX[0], SIZE_PX[1] + LABEL_PX
    whole = Image.new("RGB", (2 * width, (len(pictures) + 1) // 2 * height), "white")
    draw, font = ImageDraw.Draw(whole), ImageFont.load_default(LABEL_PX * 0.7)
    for number, (name, picture) in enumerate(pictures.items()):
        x, y = number % 2 * width, number // 2 * height
        draw.text((x + 4, y + 1), name, "black", font)
        whole.paste(picture.resize(SIZE_PX), (x, y + LABEL_PX))
    return whole.quantize(COLORS, dither=Image.Dither.FLOYDSTEINBERG)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL.xml")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    asked = parser.parse_args()
    sheet({name: drawn(*fallen(asked.model)) for name, drawn in PICTURES.items()}).save(asked.out, optimize=True)


if __name__ == "__main__":
    main()
