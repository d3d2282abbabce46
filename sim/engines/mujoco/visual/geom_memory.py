"""Memory of MuJoCo's visual structs as numpy arrays: `mjvScene` geoms, `mjvOption`, `mjvCamera`; texts of labels.

Python attributes of 10,000 geoms take 10 ms to read; a strided view of the same memory takes no time. The offset of
each field is found once, from MuJoCo's own attributes, since versions differ (a geom has 252 bytes in 3.17, 256 in
4.0).

Always: an unknown layout raises UnknownLayout; only checked offsets are read.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjvCamera, MjvOption, MjvScene


# Fields of `mjvGeom` that are used: numpy type, and number of values.
NUMBERS = ("type", "objtype", "objid", "category")
ARRAYS = {"size": 3, "pos": 3, "mat": 9, "rgba": 4}
LABEL_BYTES = 100
# Bytes of a geom before its `size`: whole numbers of 32 bits.
BEFORE_SIZE = 40
# Most bytes of a geom, in which the fields are searched.
MOST_BYTES = 512
# Label that is searched in the memory of a geom.
PROBE = b"twixt probes label"
# Whole numbers of 32 bits in `mjvOption` before its first array, and after `flags`, which ends at a multiple of them.
OPTIONS_BEFORE, OPTIONS_AFTER = ("label", "frame"), ("bvh_depth", "flex_layer")
# Of `mjvCamera` before `lookat`, which begins at a multiple of 64 bits; the 64-bit numbers after it; the last field.
CAMERA_BEFORE, CAMERA_AFTER, CAMERA_LAST = (
    ("type", "fixedcamid", "trackbodyid"),
    ("distance", "azimuth", "elevation"),
    "orthographic",
)
WORD, LONG = 4, 8

_layout: np.dtype[np.void] | None = None


class UnknownLayout(TwixtError):
    """The memory layout of geoms or options in this version of MuJoCo is unknown."""


def geom_records(scene: MjvScene) -> NDArray[np.void]:
    """All geoms of `scene`, shape (maxgeom,), with fields type, objtype, objid, category, size, pos, mat, rgba, label.

    A view, valid as long as `scene`, of which the first `scene.ngeom` are set. Raises UnknownLayout.
    """
    global _layout
    if _layout is None:
        _layout = _found_layout()
    return _bytes_from(_address(scene), scene.maxgeom * _layout.itemsize).view(_layout)


def option_bytes(opt: MjvOption) -> memoryview:
    """The bytes of `opt`, all its fields, a view that is valid as long as `opt`: equal bytes, equal options. Raises
    UnknownLayout."""
    probe = mujoco.MjvOption()
    seen = _option_memory(probe)
    for number, name in enumerate((*OPTIONS_BEFORE, *OPTIONS_AFTER)):
        setattr(probe, name, 77 + number)
    probe.flags[-1] = 81
    words = seen.view(np.int32)
    if [*words[:2], *words[-2:]] != [77, 78, 79, 80] or 81 not in seen[-3 * WORD : -2 * WORD]:
        raise UnknownLayout(f"the memory of mjvOption is not known in MuJoCo {mujoco.__version__}")
    return _option_memory(opt).data


def camera_bytes(camera: MjvCamera) -> memoryview:
    """The bytes of `camera`, all its fields, a view that is valid as long as `camera`. Raises UnknownLayout."""
    probe = mujoco.MjvCamera()
    seen = _camera_memory(probe)
    for number, name in enumerate((*CAMERA_BEFORE, *CAMERA_AFTER)):
        setattr(probe, name, 1 + number)
    setattr(probe, CAMERA_LAST, 1)
    words, numbers = seen.view(np.int32), seen[2 * LONG : -WORD].view(np.float64)
    if [*words[:3], *numbers[3:], words[-1]] != [1, 2, 3, 4, 5, 6, 1]:
        raise UnknownLayout(f"the memory of mjvCamera is not known in MuJoCo {mujoco.__version__}")
    return _camera_memory(camera).data


def _option_memory(opt: MjvOption) -> NDArray[np.uint8]:
    start = opt.geomgroup.ctypes.data - WORD * len(OPTIONS_BEFORE)
    length = opt.flags.ctypes.data + opt.flags.nbytes - start
    return _bytes_from(start, -(-length // WORD) * WORD + WORD * len(OPTIONS_AFTER))


def _camera_memory(camera: MjvCamera) -> NDArray[np.uint8]:
    length = 2 * LONG + camera.lookat.nbytes + LONG * len(CAMERA_AFTER) + WORD
    return _bytes_from(camera.lookat.ctypes.data - 2 * LONG, length)


def _address(scene: MjvScene) -> int:
    return int(scene.geoms[0].size.ctypes.data) - BEFORE_SIZE


def _found_layout() -> np.dtype[np.void]:
    """The layout of a geom, from the attributes of the second one of a scene, in which all fields are told apart."""
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    scene = mujoco.MjvScene(model, 3)
    first, second = scene.geoms[0], scene.geoms[1]
    stride = second.size.ctypes.data - first.size.ctypes.data
    start = _address(scene)
    if not 140 <= stride <= MOST_BYTES:
        raise UnknownLayout(f"a geom of MuJoCo {mujoco.__version__} takes {stride} bytes")
    memory = _bytes_from(start + stride, stride)
    memory[:] = 0
    offsets: dict[str, int] = {}
    for value, name in enumerate(NUMBERS, start=1001):
        setattr(second, name, value)
        places = np.flatnonzero(memory[:BEFORE_SIZE].view(np.int32) == value)
        offsets[name] = 4 * int(places[0]) if len(places) == 1 else -1
    for name in ARRAYS:
        offsets[name] = getattr(second, name).ctypes.data - start - stride
    second.label = PROBE.decode()
    offsets["label"] = memory.tobytes().find(PROBE)
    ends = [offset + _bytes_of(name) for name, offset in offsets.items()]
    if min(offsets.values()) < 0 or max(ends) > stride or second.rgba.dtype != np.float32:
        raise UnknownLayout(f"the memory of mjvGeom is not known in MuJoCo {mujoco.__version__}: {offsets}")
    formats: list[Any] = [_format_of(name) for name in offsets]
    return np.dtype({"names": list(offsets), "formats": formats, "offsets": list(offsets.values()), "itemsize": stride})


def _format_of(name: str) -> Any:
    if name in NUMBERS:
        return "<i4"
    return ("<f4", ARRAYS[name]) if name in ARRAYS else ("u1", LABEL_BYTES)


def _bytes_of(name: str) -> int:
    return int(np.dtype(_format_of(name)).itemsize)


def _bytes_from(address: int, count: int) -> NDArray[np.uint8]:
    return np.frombuffer(memoryview((ctypes.c_char * count).from_address(address)), np.uint8)


# Texts of MuJoCo's labels, and their numbers in `Scene.labels`: of `opt.label`, and of geoms of the user's own.
#
# Names of a model's things are few and stay, so each text gets a number once, and the scene is replaced only when a
# text is new. Numbers that change with every state, such as contact forces, are no labels here.
#
# Always: a text keeps its number; beyond `MOST_TEXTS` texts there are no labels.


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
