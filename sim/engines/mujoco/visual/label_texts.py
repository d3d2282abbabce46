"""Texts of MuJoCo's labels, and their numbers in `Scene.labels`: of `opt.label`, and of geoms of the user's own.

The one idea: names of a model's things are few and stay, so each text gets a number once, and the scene is replaced
only when a text is new. Numbers that change with every state, such as contact forces, are no labels here.

Always: a text keeps its number; beyond `MOST_TEXTS` texts there are no labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from twixt.sim.engines.mujoco.mujoco_package import mujoco

# Texts of one view at most: a program that writes a new one in each step replaces the scene all the time until then.
MOST_TEXTS = 2_000
# Labels of one state at most that are read: as many as viewers show.
MOST_LABELS = 500
# Kinds of `mjtLabel` that are shown: names, and numbers of islands.
SHOWN = ("BODY", "JOINT", "GEOM", "SITE", "CAMERA", "LIGHT", "TENDON", "ACTUATOR", "CONSTRAINT", "ISLAND")


class LabelTexts:
    """Texts of one view, in the order of their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self.texts: tuple[str, ...] = ()

    def numbers(self, labels: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """Numbers of labels (n, k), bytes that end with a zero: place in `texts` and 1, or 0 for none."""
        numbers = np.zeros(len(labels), np.uint32)
        rows = np.flatnonzero(labels[:, 0])[:MOST_LABELS]
        for row, text in zip(rows.tolist(), (bytes(each).split(b"\0")[0] for each in labels[rows]), strict=True):
            numbers[row] = self._number(text)
        if len(self._numbers) > len(self.texts):
            self.texts = tuple(text.decode(errors="replace") for text in self._numbers)
        return numbers

    def _number(self, text: bytes) -> int:
        if text not in self._numbers and len(self._numbers) < MOST_TEXTS:
            self._numbers[text] = len(self._numbers) + 1
        return self._numbers.get(text, 0)


def is_shown(label: int) -> bool:
    """True for a number of `mjtLabel` whose texts are shown."""
    return any(label == int(getattr(mujoco.mjtLabel, f"mjLABEL_{name}")) for name in SHOWN)
