"""Memory of MuJoCo's visual structs, seen by numpy: the geoms of an `mjvScene`, and the bytes of an `mjvOption`.

The one idea: Python attributes of 10,000 geoms take 10 ms to read, and one strided view of the same memory none. The
place of each field is found out once, from MuJoCo's own attributes, as versions differ (a geom takes 252 bytes in
3.17, and 256 in 4.0).

Always: a layout that is not understood raises UnknownLayout; nothing is read from a place that was not checked.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjvOption, MjvScene

# Fields of `mjvGeom` that are used: numpy type, and number of values.
NUMBERS = ("type", "objtype", "objid", "category")
ARRAYS = {"size": 3, "pos": 3, "mat": 9, "rgba": 4}
LABEL_BYTES = 100
# Bytes of a geom before its `size`: whole numbers of 32 bits.
BEFORE_SIZE = 40
# Bytes of a geom at most, among which the fields are looked for.
MOST_BYTES = 512
# Text that is looked for in the memory of a geom whose label it is.
PROBE = b"twixt probes label"
# Fields of `mjvOption` before `flags`, from its first byte on.
OPTION_FIELDS = ("label", "frame")

_layout: np.dtype[np.void] | None = None


class UnknownLayout(TwixtError):
    """This version of MuJoCo has its geoms, or its options, in memory in a way that is not known."""


def geom_records(scene: MjvScene) -> NDArray[np.void]:
    """All geoms of `scene`, shape (maxgeom,), with fields type, objtype, objid, category, size, pos, mat, rgba, label.

    A view, valid as long as `scene`, of which the first `scene.ngeom` are set. Raises UnknownLayout.
    """
    global _layout
    if _layout is None:
        _layout = _found_layout()
    return _bytes_from(_address(scene), scene.maxgeom * _layout.itemsize).view(_layout)


def option_bytes(opt: MjvOption) -> memoryview:
    """The bytes of `opt` from its first field to its flags, a view that is valid as long as `opt`: equal bytes, equal
    options. Raises UnknownLayout."""
    probe = mujoco.MjvOption()
    start, length = _option_range(probe)
    seen = _bytes_from(start, length)
    for number, name in enumerate(OPTION_FIELDS):
        setattr(probe, name, 77 + number)
    probe.flags[-1] = 79
    if seen[: 4 * len(OPTION_FIELDS)].view(np.int32).tolist() != [77, 78] or seen[-1] != 79:
        raise UnknownLayout(f"the memory of mjvOption is not known in MuJoCo {mujoco.__version__}")
    start, length = _option_range(opt)
    return _bytes_from(start, length).data


def _option_range(opt: MjvOption) -> tuple[int, int]:
    start = opt.geomgroup.ctypes.data - 4 * len(OPTION_FIELDS)
    return start, opt.flags.ctypes.data + opt.flags.nbytes - start


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
