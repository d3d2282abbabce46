"""Agreement of twixt's pictures of models with MuJoCo's own renderer: `python -m tests.sim.engines.mujoco.against.overlap`.

    python -m tests.sim.engines.mujoco.against.overlap --folder PICTURES MODEL.xml ...

Overlap: of the pixels that one of the two gives to a body, the share that both give to the same one (intersection over
union of all bodies). Colours: the share of pixels that differ by at most COLOR_STEPS in each channel, both unlit.
Pixels within 1 px of an edge between geoms are left out: the two renderers round edges in different ways.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any, NamedTuple

import numpy as np

from tests.sim.engines.mujoco.against.pictures import (
    Labels,
    MujocosPictures,
    Pixels,
    Seen,
    TwixtPictures,
    viewers_camera,
)

SIZE_PX = (1280, 960)
COLOR_STEPS = 8
LEAST_OVERLAP, LEAST_COLORS = 0.99, 0.95
# Steps before the picture: few, because some models have nothing to stand on.
SETTLING_STEPS = 20


class Agreement(NamedTuple):
    """overlap, colors: shares, 0 to 1. colors: of bodies' pixels; all_colors: planes too. pixels: of bodies."""

    overlap: float
    colors: float
    all_colors: float
    pixels: int

    @property
    def is_close(self) -> bool:
        """True if both shares reach their limits."""
        return self.overlap >= LEAST_OVERLAP and self.colors >= LEAST_COLORS


def agreement(ours: Seen, theirs: Seen) -> Agreement:
    """How far two pictures of the same state agree."""
    inside = ~near_edges(theirs.objects)
    either = inside & ((ours.labels > 0) | (theirs.labels > 0))
    both = inside & (ours.labels > 0) & (ours.labels == theirs.labels)
    steps = np.abs(ours.colors.astype(int) - theirs.colors).max(axis=-1)
    seen = inside & (theirs.colors.any(axis=-1) | ours.colors.any(axis=-1))
    return Agreement(
        _share(both[either]), _share(steps[both] <= COLOR_STEPS), _share(steps[seen] <= COLOR_STEPS), int(either.sum())
    )


def near_edges(labels: Labels) -> np.ndarray:
    """True for pixels with another label among their eight neighbours."""
    padded = np.pad(labels, 1, mode="edge")
    rows, columns = labels.shape
    near = np.zeros(labels.shape, bool)
    for row in range(3):
        for column in range(3):
            near |= padded[row : row + rows, column : column + columns] != labels
    return near


def compared(pictures: TwixtPictures, path: str, folder: pathlib.Path | None = None) -> Agreement:
    """Agreement on a model in a file, SETTLING_STEPS after its start. folder: for both pictures beside each other."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    for _ in range(SETTLING_STEPS):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return of_state(pictures, model, data, folder and folder / (pathlib.Path(path).stem + ".png"))


def of_state(
    pictures: TwixtPictures, model: Any, data: Any, file: pathlib.Path | None = None, camera: Any = None
) -> Agreement:
    """Agreement on one state of a model. camera: an MjvCamera, by default the one with which viewers open the model."""
    camera = viewers_camera(model) if camera is None else camera
    mujocos = MujocosPictures(model, pictures.size_px)
    theirs, theirs_shown = mujocos.seen(data, camera), mujocos.shown(data, camera)
    mujocos.release()
    ours = pictures.seen(model, data, camera)
    if file is not None:
        _save(file, [[pictures.shown(model, data, camera), theirs_shown], [ours.colors, theirs.colors],
                     [_painted(ours.labels), _painted(theirs.labels)]])  # fmt: skip
    return agreement(ours, theirs)


def _share(of: np.ndarray) -> float:
    """The share that is true; 0 of nothing."""
    return float(of.mean()) if of.size else 0.0


def _painted(labels: Labels) -> Pixels:
    colors = np.random.default_rng(1).integers(60, 256, (int(labels.max()) + 1, 3))
    colors[0] = 0
    return colors[labels].astype(np.uint8)


def _save(file: pathlib.Path, pictures: list[list[Pixels]]) -> None:
    from PIL import Image

    whole = np.concatenate([np.concatenate(row, axis=1) for row in pictures])
    Image.fromarray(whole).reduce(2).save(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL.xml")
    parser.add_argument("--folder", type=pathlib.Path, help="for pictures: ours on the left, MuJoCo's on the right")
    asked = parser.parse_args()
    if asked.folder:
        asked.folder.mkdir(parents=True, exist_ok=True)
    pictures, is_close = TwixtPictures(SIZE_PX), True
    print("| model | overlap | colours | with planes | pixels |\n|---|---:|---:|---:|---:|")
    for path in asked.models:
        found = compared(pictures, path, asked.folder)
        is_close &= found.is_close
        name = "/".join(pathlib.Path(path).parts[-3:])
        print(f"| {name} | {found.overlap:.4f} | {found.colors:.4f} | {found.all_colors:.4f} | {found.pixels:,} |")
        sys.stdout.flush()
    return 0 if is_close else 1


if __name__ == "__main__":
    sys.exit(main())
