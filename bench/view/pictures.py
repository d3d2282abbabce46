"""Draws a figure with pictures of scenes over time, by the automatic camera and by the still view."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.processes import HERE, process
from bench.view.scenes import SCENES
from twixt.render.measure.plots import FONT_PT, INK, empty_figure, save
from twixt.sim.process.viewer_command import twixt_command

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {"automatic camera": (), "still view": ("--still-view",)}
# Instants of the pictures, in seconds after the first frame.
INSTANTS_S = (0.5, 4.0, 9.0)
FLAGS = ("--offscreen", "--no-overlay", "--size", "400x300")
TIMEOUT_S = 60.0


def draw_pictures(scenes: Sequence[str], path: str) -> None:
    """Writes the figure (PNG). Each scene has a row. Raises TwixtError if a picture cannot be made."""
    from matplotlib.image import imread

    count = len(INSTANTS_S)
    figure = empty_figure(2.1 * 2 * count, 1.6 * len(scenes) + 0.5)
    axes = figure.subplots(len(scenes), 2 * count, squeeze=False)
    with tempfile.TemporaryDirectory(prefix="twixt-") as folder:
        for number, (row, name) in enumerate(zip(axes, scenes, strict=True)):
            for half, (title, flags) in enumerate(TITLES.items()):
                for place, at_s in zip(row[half * count :], INSTANTS_S, strict=False):
                    place.imshow(imread(_picture(name, flags, at_s, folder)))
                    _label(place, f"{title}, {at_s:g} s" if number == 0 else "")
            row[0].set_ylabel(name, fontsize=FONT_PT, color=INK)
    save(figure, path)


def _picture(name: str, flags: Sequence[str], at_s: float, folder: str) -> str:
    """Path of a screenshot of the scene."""
    scene, path = SCENES[name], os.path.join(folder, f"{name}.png")
    shot = ("--screenshot", path, "--at", f"{at_s:g}", "--seconds", f"{at_s + 1:g}")
    command = [*twixt_command("run", f"{scene.__module__}:{scene.__name__}"), *FLAGS, *flags, *shot]
    with process(command, cwd=HERE) as child:
        child.wait(at_s + TIMEOUT_S)
    return path


def _label(axes: Axes, title: str) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(title, fontsize=FONT_PT, color=INK)
