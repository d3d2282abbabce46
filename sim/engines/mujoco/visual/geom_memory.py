"""This module maps memory of MuJoCo's visual structs to arrays: geoms of `mjvScene`, `mjvOption` and `mjvCamera`. It
also stores the texts of labels.

Reading the Python attributes of 10,000 geoms takes 10 ms; a strided view of the same memory takes almost no time.
MuJoCo's versions have different offsets: a geom has 252 bytes in 3.17 and 256 bytes in 4.0. So the offset of each
field is found one time per run, by setting MuJoCo's own attributes.

Always: an unknown layout raises UnknownLayout. Memory is read only at offsets that were checked.
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


# Fields of `mjvGeom` that are used. NUMBERS: names of 32-bit integers. ARRAYS: names of arrays, with the number of
# values of each array.
NUMBERS = ("type", "objtype", "objid", "category")
ARRAYS = {"size": 3, "pos": 3, "mat": 9, "rgba": 4}
LABEL_BYTES = 100
# Number of bytes of a geom before its field `size`. All these bytes are 32-bit integers.
BEFORE_SIZE = 40
# Maximum size of a geom in bytes. The search for fields ends there.
MOST_BYTES = 512
# Label that is written to find the offset of labels in a geom.
PROBE = b"twixt probes label"
# 32-bit integers in `mjvOption`. OPTIONS_BEFORE: integers before the first array. OPTIONS_AFTER: integers after
# `flags`, which is padded to a multiple of 32 bits.
OPTIONS_BEFORE, OPTIONS_AFTER = ("label", "frame"), ("bvh_depth", "flex_layer")
# Fields of `mjvCamera`. CAMERA_BEFORE: 32-bit integers before `lookat`, which begins at a multiple of 64 bits.
# CAMERA_AFTER: 64-bit numbers after `lookat`. CAMERA_LAST: the last field.
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
    """Returns all geoms of `scene`, shape (maxgeom,). The fields are type, objtype, objid, category, size, pos, mat,
    rgba, label.

    The result is a view that is valid as long as `scene` exists. Only the first `scene.ngeom` geoms are set. Raises
    UnknownLayout.
    """
    global _layout
    if _layout is None:
        _layout = _found_layout()
    return _bytes_from(_address(scene), scene.maxgeom * _layout.itemsize).view(_layout)


def option_bytes(opt: MjvOption) -> memoryview:
    """The bytes of all fields of `opt`, as a view that is valid as long as `opt` exists. Two options with equal bytes
    are equal. Raises UnknownLayout."""
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
    """The bytes of all fields of `camera`, as a view that is valid as long as `camera` exists. Raises
    UnknownLayout."""
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
    """Finds the layout of a geom. Sets attributes of the second geom of a scene, and searches the values in that
    geom's memory."""
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


# This code stores the texts of MuJoCo's labels, and their numbers in `Scene.labels`. The labels come from `opt.label`
# and from user-defined geoms.
#
# A model has few names, and they do not change. So each text gets its number only one time, and the scene is replaced
# only when there is a new text. Labels that change with every state, such as contact forces, are not supported.
#
# Always: a text always has the same number. After `MOST_TEXTS` texts, new texts get no label.


# Maximum number of texts of one view. If a program writes a new text in each step, each text causes a new scene until
# this limit is reached.
MOST_TEXTS = 2_000
# Maximum number of labels that are read per state. Viewers do not show more labels.
MOST_LABELS = 500
# Kinds of `mjtLabel` that are shown: names of objects, and numbers of islands.
SHOWN = ("BODY", "JOINT", "GEOM", "SITE", "CAMERA", "LIGHT", "TENDON", "ACTUATOR", "CONSTRAINT", "ISLAND")


class LabelTexts:
    """Label texts of one view, in the order of their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self.texts: tuple[str, ...] = ()

    def numbers(self, labels: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """Returns the numbers of labels, an array of shape (n,). A number is 1 plus the index in `texts`, or 0 if
        there is no label. labels: zero-terminated bytes, shape (n, k)."""
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
    """True if labels of this kind are shown. label: number of the kind in `mjtLabel`."""
    return any(label == int(getattr(mujoco.mjtLabel, f"mjLABEL_{name}")) for name in SHOWN)
