"""This module converts MuJoCo's visual geoms to marks, many in one call. It converts kinds, sizes, orientations,
colours and keys.

Kinds and sizes come from tables with a row for each kind of geom, and all matrices are converted to quaternions in one
call. So a hundred marks cost about as much as one. A geom that MuJoCo draws as several shapes becomes several marks
with the same key. An arrow with two heads becomes two arrows, a box of lines becomes twelve lines, and a triangle
becomes three lines. Viewers match marks with the same key by their order.

Sizes are the same as in MuJoCo's renderer (`render_gl3.c`). Sizes of geoms are half sizes, but sizes of lines are full
sizes. An arrow is half as long as the size of its geom. The head of an arrow has 1.75 times the radius of the shaft.
For some kinds of arrows, head and shaft have the same radius. An arrow with two heads extends by this length in both
directions.

Always: the highest byte of a key is the kind of the mark, as in `Marks.add`. Geoms of kinds without a mark are left
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import MARK, MARK_KINDS, RECORD
from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.visual.geom_memory import is_shown, option_bytes
from twixt.sim.world.marks import KEY_BITS

if TYPE_CHECKING:
    from mujoco import MjModel, MjvOption


KIND = {name: number for number, name in enumerate(MARK_KINDS)}
NO_KIND = 255
# Upper limit of the numbers of geom kinds. The kind mjGEOM_NONE has the number 1001.
MOST_TYPES = 1024

# Matrices that convert a geom's size to the size of its mark.
_RADIUS = ((1, 0, 0), (0, 0, 0), (0, 0, 0))
_EDGES = ((2, 0, 0), (0, 2, 0), (0, 0, 2))
_RADIUS_AND_LENGTH = ((1, 0, 0), (0, 0, 0), (0, 2, 0))
_ARROW = ((1, 0, 1.75), (0, 0, 0), (0, 0.5, 0))
_PENCIL = ((1, 0, 1), (0, 0, 0), (0, 0.5, 0))
_LINE = ((0, 0, 0), (0, 0, 0), (0, 1, 0))
_NOTHING = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
_AS_IT_IS = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
# For each kind of geom: the kind of its mark, and the matrix that converts its size. In the first table, each geom has
# one mark. In the second table, each geom has several marks.
SHAPES = {
    "SPHERE": ("sphere", _RADIUS),
    "CAPSULE": ("capsule", _RADIUS_AND_LENGTH),
    "ELLIPSOID": ("ellipsoid", _EDGES),
    "CYLINDER": ("cylinder", _RADIUS_AND_LENGTH),
    "BOX": ("box", _EDGES),
    "ARROW": ("arrow", _ARROW),
    "ARROW1": ("arrow", _PENCIL),
    "LINE": ("line", _LINE),
    "LABEL": ("line", _NOTHING),
}
COMPOUNDS = {"ARROW2": ("arrow", _ARROW), "LINEBOX": ("line", _AS_IT_IS), "TRIANGLE": ("line", _AS_IT_IS)}

# Corners of a box with half sizes of 1, and the edges between these corners.
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
_EDGES_OF_BOX = np.array(
    [[a, b] for a in range(8) for b in range(a, 8) if np.abs(_CORNERS[a] - _CORNERS[b]).sum() == 2]
)
_BOX_SIDES = _CORNERS[_EDGES_OF_BOX]
# A triangle has a corner at its position. Its two sides along x and y have the lengths size[0] and size[1].
_TRIANGLE_SIDES = np.array([[(0, 0, 0), (1, 0, 0)], [(1, 0, 0), (0, 1, 0)], [(0, 1, 0), (0, 0, 0)]], float)


def _products() -> NDArray[np.float32]:
    """Returns a matrix of shape (9, 16). It maps the entries of a rotation matrix to 4 q q^T minus the identity. Here
    q is the rotation's quaternion (x, y, z, w) (Bar-Itzhack 2000, for exact rotations)."""
    found = np.zeros((9, 4, 4), np.float32)
    for axis in range(3):
        found[4 * axis] = np.diag([1 if each in (axis, 3) else -1 for each in range(4)])
        after, last = (axis + 1) % 3, (axis + 2) % 3
        for entry, sign in ((3 * last + after, 1), (3 * after + last, -1)):
            found[entry, axis, 3] = found[entry, 3, axis] = sign
            found[entry, after, last] = found[entry, last, after] = 1
    return found.reshape(9, 16)


_PRODUCTS = _products()
# Signs of a quaternion's components. Reversing the order of the components and applying these signs rotates by 180
# degrees about the own x axis.
_HALF_A_TURN = np.array((1, 1, -1, -1), np.float32)
_PRODUCTS = _PRODUCTS.reshape(9, 16)
# This matrix is added so that, for a matrix of zeros, w is the largest component.
_OF_ONE = np.diag((1, 1, 1, 1 + 1e-6)).astype(np.float32).reshape(16)


class _Tables:
    """Tables whose index is the number of a geom's kind. They have kinds and sizes of marks, and the kinds of geoms
    that have several marks."""

    def __init__(self) -> None:
        self.kind = np.full(MOST_TYPES, NO_KIND, np.uint8)
        self.size = np.zeros((MOST_TYPES, 3, 3), np.float32)
        self.is_compound = np.zeros(MOST_TYPES, bool)
        for shapes in (SHAPES, COMPOUNDS):
            for name, (kind, size) in shapes.items():
                number = int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}"))
                self.kind[number], self.size[number] = KIND[kind], size
                self.is_compound[number] = shapes is COMPOUNDS
        # An entry is True for a kind with one mark, and False for a kind with no mark or several marks.
        self.marks_each = (self.kind != NO_KIND) & ~self.is_compound
        sides = {"ARROW2": None, "LINEBOX": _BOX_SIDES, "TRIANGLE": _TRIANGLE_SIDES}
        self.compounds = [(int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}")), each) for name, each in sides.items()]


_tables: _Tables | None = None


def kinds_of(types: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Returns the kinds of marks for these kinds of geoms, as numbers. Kinds that are not drawn give `NO_KIND`."""
    # The index is clipped, because uninitialized memory may have any value.
    return _loaded().kind.take(types, mode="clip")


def is_drawn(types: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Returns a mask of the kinds of geoms that have marks."""
    return np.asarray(kinds_of(types) != NO_KIND)


def are_one_each(types: NDArray[np.int32]) -> bool:
    """True if each geom of these kinds has exactly one mark."""
    return bool(_loaded().marks_each.take(types, mode="clip").all())


def mark_records(
    geoms: NDArray[np.void], keys: NDArray[np.uint64], labels: NDArray[np.uint32] | None = None
) -> NDArray[np.void]:
    """Converts `geoms` to marks. geoms: records in the form of `geom_records`, shape (n,). All must be of kinds that
    are drawn. keys: keys without the kind, shape (n,). labels: numbers of label texts, shape (n,). If a geom has
    several marks, only the first mark has the label.

    Returns records of dtype `MARK`, an array of shape (m,) with m >= n. The marks of geoms that have several marks
    come last.
    """
    tables, types = _loaded(), geoms["type"]
    marks = np.zeros(len(geoms), MARK)
    kinds = tables.kind.take(types)
    marks["kind"] = kinds
    marks["key"] = keys | (kinds.astype(np.uint64) << np.uint64(KEY_BITS))
    marks["position"] = geoms["pos"]
    marks["orientation"] = quaternions(geoms["mat"])
    if len(types) and (types == types[0]).all():
        marks["size"] = geoms["size"] @ tables.size[types[0]]
    else:
        marks["size"] = np.einsum("ni,nij->nj", geoms["size"], tables.size.take(types, axis=0))
    marks["color"] = np.rint(np.fmin(np.fmax(geoms["rgba"], 0), 1) * 255)  # NaN counts as 0
    if labels is not None:
        marks["label"] = labels
    is_compound = tables.is_compound.take(types)
    if not is_compound.any():
        return marks
    blocks = marks.view(RECORD)
    parts = [blocks[~is_compound]]
    for number, sides in tables.compounds:
        rows = np.flatnonzero(types == number)
        if len(rows):
            of_it = blocks[rows].view(MARK)
            made = _both_ways(of_it) if sides is None else _lines(of_it, geoms["mat"][rows].reshape(-1, 3, 3), sides)
            parts.append(made.view(RECORD))
    return np.concatenate(parts).view(MARK)


def quaternions(matrices: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the unit quaternions (x, y, z, w) of rotation matrices, an array of shape (n, 4). matrices: entries row
    by row, shape (n, 9). A matrix of zeros gives the identity."""
    products = matrices @ _PRODUCTS
    products += _OF_ONE
    rows = np.argmax(products[:, ::5], axis=1)  # the row with the largest value on the diagonal
    rows += np.arange(0, 4 * len(products), 4)
    turns = products.reshape(-1, 4).take(rows, axis=0)
    turns /= np.sqrt(np.einsum("ij,ij->i", turns, turns))[:, None]
    return turns


def _lines(marks: NDArray[np.void], turns: NDArray[np.float32], sides: NDArray[np.float64]) -> NDArray[np.void]:
    """Replaces each mark by k lines. sides: start and end of each line in the frame of the mark, shape (k, 2, 3). They
    are multiples of the mark's size. turns: rotation matrices of the marks."""
    lines = np.repeat(marks.view(RECORD), len(sides)).view(MARK)
    lines["label"][np.arange(len(lines)) % len(sides) != 0] = 0
    ends = np.einsum("nij,nj,kej->nkei", turns, marks["size"], sides).reshape(-1, 2, 3)
    spans = ends[:, 1] - ends[:, 0]
    lengths = np.sqrt(np.einsum("ij,ij->i", spans, spans))
    lines["position"] += ends[:, 0]
    lines["size"] = np.stack((np.zeros_like(lengths), lengths, np.zeros_like(lengths)), axis=1)
    lines["orientation"] = _towards(spans / np.maximum(lengths, 1e-30)[:, None])
    return lines


def _towards(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns quaternions (x, y, z, w) of the shortest rotations of the z axis to these unit vectors, shape (n, 3)."""
    x, y, z = directions.T
    turns = np.stack((-y, x, np.zeros_like(x), 1 + z), axis=1)
    turns[z < -1 + 1e-9] = 1, 0, 0, 0
    return turns / np.linalg.norm(turns, axis=1)[:, None]


def _both_ways(marks: NDArray[np.void]) -> NDArray[np.void]:
    """Replaces each mark by two marks: one along the mark's z axis, one in the opposite direction."""
    both = np.repeat(marks.view(RECORD), 2).view(MARK)
    both["label"][1::2] = 0
    both["orientation"][1::2] = marks["orientation"][:, ::-1] * _HALF_A_TURN
    return both


def _loaded() -> _Tables:
    global _tables
    if _tables is None:
        _tables = _Tables()
    return _tables


# A user's `mjvOption` requests visual geoms from MuJoCo. The code below finds them, except the geoms that are parts of
# twixt's bodies.
#
# MuJoCo's visualizer is called with a copy of the user's options. The copy excludes geoms, sites, skins and flexes,
# because twixt draws them as bodies. Contacts need a separate call, in which each contact is identified by its index.
# A call is left out if it would return no geoms because of the options or the model.
#
# Always: the user's options are only read. The copy is changed only if the bytes of the user's options have changed.


GROUPS = ("geomgroup", "sitegroup", "jointgroup", "tendongroup", "actuatorgroup", "flexgroup", "skingroup")
# Flags that show contacts, and flags that change how contacts look.
CONTACT_FLAGS = ("CONTACTPOINT", "CONTACTFORCE")
LOOK_FLAGS = ("STATIC", "CONTACTSPLIT", "ISLAND")
# Flags of objects that are bodies in twixt, or that are not drawn at all. These flags are never set in the copy of the
# options.
BODY_FLAGS = ("SKIN", "FLEXVERT", "FLEXEDGE", "FLEXFACE", "FLEXSKIN")
# Flags that mark the selected body and the point at which it is selected or pulled.
PERTURB_FLAGS = ("PERTOBJ", "SELECT")
# Flags that show the bounds of geoms. If one of them is set, the groups of geoms have an effect.
BOUND_FLAGS = ("BODYBVH", "MESHBVH", "SDFITER")


class RequestedGeoms:
    """Visual geoms that one `mjvOption` requests in one model. decor, contacts: options for the first and the second
    call of MuJoCo's visualizer.

    has_decor, has_contacts: True if the call with these options is needed. has_perturbed: True if the call with
    `decor` is needed as soon as a body is selected.
    """

    def __init__(self, model: MjModel, opt: MjvOption) -> None:
        self.decor, self.contacts = mujoco.MjvOption(), mujoco.MjvOption()
        self.has_decor = self.has_contacts = self.has_perturbed = False
        self._opt, self._bytes, self._seen = opt, option_bytes(opt), b""
        sensors = model.sensor_type.tolist()
        self._has_slider_cranks = int(mujoco.mjtTrn.mjTRN_SLIDERCRANK) in model.actuator_trntype.tolist()
        self._has_plugins = bool(model.nplugin)
        kinds = mujoco.mjtSensor
        counts = {
            # a fixed tendon has no path to draw
            "TENDON": int(mujoco.mjtWrap.mjWRAP_SITE) in model.wrap_type.tolist(),
            "JOINT": model.njnt,
            "ACTUATOR": model.nu,
            "CAMERA": model.ncam,
            "LIGHT": model.nlight,
            "CONSTRAINT": model.neq,
            "RANGEFINDER": not {int(kinds.mjSENS_RANGEFINDER), int(kinds.mjSENS_GEOMFROMTO)}.isdisjoint(sensors),
        }
        self._always = ("INERTIA", "PERTFORCE", "AUTOCONNECT", "COM", *BOUND_FLAGS)
        self._flags = [name for name, count in counts.items() if count] + list(self._always)

    def is_changed(self) -> bool:
        """Compares the user's options with the options at the last call. If they differ, reads the user's options and
        returns True."""
        now = self._bytes.tobytes()
        if now == self._seen:
            return False
        self._seen = now
        self._read()
        return True

    def _read(self) -> None:
        opt, frames = self._opt, mujoco.mjtFrame
        frame, flags = int(opt.frame), opt.flags
        on = {name for name in (*self._flags, *CONTACT_FLAGS, *PERTURB_FLAGS) if flags[_flag(name)]}
        has_contact_frames = frame == int(frames.mjFRAME_CONTACT)
        self.has_contacts = has_contact_frames or not on.isdisjoint(CONTACT_FLAGS)
        has_frames = not has_contact_frames and frame != int(frames.mjFRAME_NONE)
        label = int(opt.label) if is_shown(int(opt.label)) else 0
        self.has_decor = (
            label != 0 or has_frames or self._has_slider_cranks or self._has_plugins or not on.isdisjoint(self._flags)
        )
        self.has_perturbed = not on.isdisjoint(PERTURB_FLAGS)

        decor, contacts = self.decor, self.contacts
        bounds = on.intersection(BOUND_FLAGS)
        shown = {"jointgroup", "tendongroup", "actuatorgroup"}
        if bounds:
            shown |= {"geomgroup", "flexgroup"}
        shown |= {frames.mjFRAME_GEOM: {"geomgroup"}, frames.mjFRAME_SITE: {"sitegroup"}}.get(
            _member(frames, frame), set()
        )
        labels = mujoco.mjtLabel
        shown |= {labels.mjLABEL_GEOM: {"geomgroup"}, labels.mjLABEL_SITE: {"sitegroup"}}.get(
            _member(labels, label), set()
        )
        for name in GROUPS:
            getattr(decor, name)[:] = getattr(opt, name) if name in shown else 0
            getattr(contacts, name)[:] = 0
        decor.flags[:], contacts.flags[:] = flags, 0
        for name in (*CONTACT_FLAGS, *BODY_FLAGS):
            decor.flags[_flag(name)] = 0
        for name in (*CONTACT_FLAGS, *LOOK_FLAGS):
            contacts.flags[_flag(name)] = flags[_flag(name)]
        decor.frame = 0 if has_contact_frames else frame
        decor.label = label
        contacts.frame = frame if has_contact_frames else 0
        decor.bvh_depth, decor.flex_layer = opt.bvh_depth, opt.flex_layer


def _flag(name: str) -> int:
    return int(getattr(mujoco.mjtVisFlag, f"mjVIS_{name}"))


def _member(enum: Any, number: int) -> Any:
    return next((member for member in enum.__members__.values() if int(member) == number), None)
