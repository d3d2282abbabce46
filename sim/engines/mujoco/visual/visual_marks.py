"""This module makes the marks for the states of one model. Marks show user-defined geoms, and MuJoCo's visual geoms
that do not belong to bodies.

There are two steps. First, the user's thread calls `copy_geoms` for each state. This method copies the geoms of the
current state into a private scene. It calls MuJoCo's `mjv_updateScene`, which takes microseconds. Second, `marks`
converts a copy into marks when the state is published. Most states are never published.

The key of an object stays the same while the object exists. The key of a tendon, a joint and so on is its number in
the model; all segments of a tendon have the same key. The key of a contact is a number from `ContactKeys`. The key of
a user-defined geom is its index or its label.

Always: `data` is only read. If no geoms are requested (`geom_marks`), `copy_geoms` does not call MuJoCo and returns
None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from twixt.sim.engines.mujoco.mujoco_package import mujoco
from twixt.sim.engines.mujoco.visual.geom_marks import RequestedGeoms, is_drawn, mark_records
from twixt.sim.engines.mujoco.visual.geom_memory import LabelTexts, geom_records
from twixt.sim.engines.mujoco.visual.user_geoms import PIECE, UserGeoms, UserMarks
from twixt.sim.world.marks import Marks

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjvCamera, MjvOption, MjvPerturb, MjvScene


# Initial and largest capacity of the private scene, in geoms of 256 bytes.
FIRST_GEOMS, MOST_GEOMS = 1_000, 1_000_000
ALL_CATEGORIES = 7
# Kinds of MuJoCo's objects that this module distinguishes.
OBJECTS = ("UNKNOWN", "TENDON", "ACTUATOR", "CAMERA", "SENSOR")
# Bits of a key that identify the source of a mark. These bits are below the bits that give the kind of the mark.
OF_MODEL, OF_CONTACT, OF_USER, OF_NAMED_USER = (source << 52 for source in range(1, 5))
OBJECT_BITS = 32
# A contact's pair may have an element or a vertex of a flex in place of a geom. In the number of such an object, the
# lower FLEX_BITS + ELEMENT_BITS bits are for the element or vertex, and the bits above are for the flex.
FLEX_BITS, ELEMENT_BITS = 4, 13


class GeomBuffer:
    """Copies of the geoms of one state: MuJoCo's geoms, followed by the geoms of contacts. The user's geoms are stored
    separately.

    decor: number of MuJoCo's geoms. contacts: number of geoms of contacts. users: number of the user's geoms. pairs:
    the two geoms of each contact, shape (c, 2). positions: position of each contact, shape (c, 3). user_geoms: the
    user's geoms, or None if they are unchanged since the last marks.
    """

    def __init__(self, model: MjModel) -> None:
        self._model = model
        self._scene, self._all = _new_scene(model, FIRST_GEOMS)
        self.decor = self.contacts = self.users = 0
        self.user_geoms: NDArray[np.void] | None = None
        self._copies: NDArray[np.void] | None = None
        self.pairs, self.positions = np.zeros((0, 2), np.int64), np.zeros((0, 3))

    def __len__(self) -> int:
        return self.decor + self.contacts + self.users

    @property
    def records(self) -> NDArray[np.void]:
        """Returns the geoms of the model and of contacts, as in `geom_records`."""
        return self._all[: self.decor + self.contacts]

    def read_decor(self, data: MjData, opt: MjvOption, perturb: MjvPerturb, camera: MjvCamera) -> None:
        """Copies all geoms except the geoms of contacts."""
        while True:
            mujoco.mjv_updateScene(self._model, data, opt, perturb, camera, ALL_CATEGORIES, self._scene)
            if not self._is_full():
                break
        self.decor = self._scene.ngeom

    def read_contacts(self, data: MjData, opt: MjvOption, perturb: MjvPerturb) -> None:
        """Appends the geoms of contacts. Call this method after `read_decor` or `clear`."""
        while True:
            self._scene.ngeom = self.decor
            mujoco.mjv_addGeoms(self._model, data, opt, perturb, ALL_CATEGORIES, self._scene)
            if not self._is_full():
                break
        self.contacts = self._scene.ngeom - self.decor
        contact = data.contact
        self.pairs, self.positions = _sides(contact), np.array(contact.pos)

    def read_user_geoms(self, geoms: NDArray[np.void], is_lasting: bool) -> None:
        """Stores the user's geoms. is_lasting: True for a copy, False for a reference."""
        self.users = len(geoms)
        if not is_lasting:
            self.user_geoms = geoms
            return
        if self._copies is None or self.users > len(self._copies):
            self._copies = np.empty(max(self.users, 0 if self._copies is None else 2 * len(self._copies)), geoms.dtype)
        self.user_geoms = copy = self._copies[: self.users]
        copy.view(np.uint32)[...] = geoms.view(np.uint32)

    def clear(self) -> None:
        """Drops all geoms."""
        self.decor = self.contacts = self.users = 0
        self.user_geoms = None

    def _is_full(self) -> bool:
        """Doubles the capacity if the scene is full. Returns True if the scene was full."""
        if self._scene.ngeom < self._scene.maxgeom or self._scene.maxgeom >= MOST_GEOMS:
            return False
        self._grow(2 * self._scene.maxgeom)
        return True

    def _grow(self, count: int) -> None:
        kept = self.records.copy()
        self._scene, self._all = _new_scene(self._model, count)
        self._all[: len(kept)] = kept


class VisualMarks:
    """Reads the visual geoms of `data`, and converts them into marks.

    opt, perturb: MuJoCo's structs, which the user's code may change; by default new structs. users: the user's geoms.
    note: function that is called with a text about geoms that are not drawn. texts: texts of labels.
    """

    def __init__(
        self,
        model: MjModel,
        data: MjData,
        opt: MjvOption | None = None,
        perturb: MjvPerturb | None = None,
        users: UserGeoms | None = None,
        note: Callable[[str], object] = str,
        texts: LabelTexts | None = None,
    ) -> None:
        self._texts = LabelTexts() if texts is None else texts
        self._model, self._data, self._note = model, data, note
        self._perturb: MjvPerturb = mujoco.MjvPerturb() if perturb is None else perturb
        self._users = UserGeoms(model) if users is None else users
        self._asked = RequestedGeoms(model, mujoco.MjvOption() if opt is None else opt)
        self._camera = mujoco.MjvCamera()
        self._contact_keys, self._quaternion = ContactKeys(), data.xquat
        # Bounding radii of geoms. The radius of a plane is infinite. The last entry is for flexes and is infinite as
        # well.
        self._radii = np.append(np.where(model.geom_rbound > 0, model.geom_rbound, np.inf), np.inf)
        self._kinds = {name: int(getattr(mujoco.mjtObj, f"mjOBJ_{name}")) for name in OBJECTS}
        self._label, self._decor = int(mujoco.mjtGeom.mjGEOM_LABEL), int(mujoco.mjtCatBit.mjCAT_DECOR)
        self._marks = Marks()
        self._user_marks = UserMarks(self._marks, self._texts, OF_USER, OF_NAMED_USER)
        # These are lists, because `pop` and `append` are atomic. So two threads need no lock.
        self._spare: list[GeomBuffer] = []
        self._not_drawn: list[str] = []  # texts that the user's thread will report

    @property
    def is_quiet(self) -> bool:
        """True if `copy_geoms` will return None until the options, the selected body or the user's geoms change."""
        asked = self._asked
        has_decor = asked.has_decor or (asked.has_perturbed and self._perturb.select > 0)
        return not (has_decor or asked.has_contacts or self._users.is_made)

    def present(self) -> Marks | None:
        """Returns the marks of the current state, which are valid until the next call. Returns None if there are no
        geoms."""
        copied = self.copy_geoms()
        self.release_geoms(copied)
        return None if copied is None else self.marks(copied)

    def copy_geoms(self, is_lasting: bool = True) -> GeomBuffer | None:
        """Copies the geoms of the current state. Returns None if there are no geoms. Call this method on the user's
        thread, and release the copy later. is_lasting: False if `marks` is called immediately afterwards. The
        user's geoms are then not copied."""
        asked, users = self._asked, self._users.count
        asked.is_changed()
        has_decor = asked.has_decor or (asked.has_perturbed and self._perturb.select > 0)
        if not (has_decor or asked.has_contacts or users):
            return None
        if self._not_drawn:
            for text in self._not_drawn:
                self._note(text)
            self._not_drawn.clear()
        try:
            copied = self._spare.pop()
        except IndexError:
            copied = GeomBuffer(self._model)
        copied.clear()
        if self._perturb.select >= self._model.nbody:  # with such an index MuJoCo would read beyond its arrays
            self._perturb.select = 0
        if self._quaternion.item(0) != 0:  # the quaternion is 0 after `mj_resetData`, when there are no poses yet
            if has_decor:
                copied.read_decor(self._data, asked.decor, self._perturb, self._camera)
            if asked.has_contacts:
                copied.read_contacts(self._data, asked.contacts, self._perturb)
        if users:
            copied.read_user_geoms(self._users.records(), is_lasting)
        if not len(copied):
            self._spare.append(copied)
            return None
        return copied

    def release_geoms(self, copied: GeomBuffer | None) -> None:
        """Makes the memory of a copy available for another state."""
        if copied is not None:
            self._spare.append(copied)

    def marks(self, copied: GeomBuffer) -> Marks:
        """Returns the marks of a state, which are valid until the next call. Call this method on one thread at a time,
        and in the order of the states."""
        if copied.users:
            self._user_marks.show(copied.user_geoms)
            copied.user_geoms, self._not_drawn = None, self._user_marks.not_drawn
        else:
            self._user_marks.clear()
        geoms = copied.records
        keys = np.empty(len(geoms), np.uint64)
        is_shown = is_drawn(geoms["type"])
        is_shown[: copied.decor] |= geoms["label"][: copied.decor, 0] != 0
        if copied.decor:
            decor = slice(copied.decor)
            keys[decor], shown = self._of_model(geoms[decor])
            is_shown[decor] &= shown
        if copied.contacts:
            contacts = slice(copied.decor, len(geoms))
            keys[contacts], shown = self._of_contacts(geoms[contacts], copied)
            is_shown[contacts] &= shown
        if not is_shown.all():
            rows = np.flatnonzero(is_shown)
            geoms, keys = geoms.view(f"V{geoms.itemsize}")[rows].view(geoms.dtype), keys[rows]
        for begin in range(0, len(geoms), PIECE):
            piece = slice(begin, begin + PIECE)
            labels = geoms["label"][piece]
            numbers = self._texts.numbers(labels) if labels[:, 0].any() else None
            self._marks.extend(mark_records(geoms[piece], keys[piece], numbers))
        return self._marks

    def _of_model(self, geoms: NDArray[np.void]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Returns the keys of geoms of the model. Also returns a mask of the geoms that are shown as marks because no
        body shows them."""
        objects, kinds = geoms["objtype"], self._kinds
        keys = objects.astype(np.uint64)
        keys <<= np.uint64(OBJECT_BITS)
        keys |= geoms["objid"].astype(np.uint32)
        keys |= np.uint64(OF_MODEL)
        is_own = geoms["category"] == self._decor
        is_own |= (objects == kinds["TENDON"]) | (objects == kinds["ACTUATOR"])
        # The triangles of a camera's frustum are left out, because lines show the edges of the frustum.
        is_own &= (objects != kinds["CAMERA"]) | (geoms["type"] != int(mujoco.mjtGeom.mjGEOM_TRIANGLE))
        named = np.flatnonzero(~is_own & (geoms["label"][:, 0] != 0))
        geoms["type"][named] = self._label  # a body shows the geom itself, so this mark shows only the geom's label
        is_own[named] = True
        return keys, is_own

    def _of_contacts(self, geoms: NDArray[np.void], copied: GeomBuffer) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Returns the keys of the geoms that were copied with the contacts. Also returns a mask of the geoms to show,
        which are the geoms of contacts and of sensors."""
        reach = np.minimum(*(self._radii.take(side, mode="clip") for side in copied.pairs.T))
        pairs = (copied.pairs[:, 0] << OBJECT_BITS) | copied.pairs[:, 1]
        numbers = self._contact_keys.numbers(pairs, copied.positions, reach).astype(np.uint64) | np.uint64(OF_CONTACT)
        objects = geoms["objtype"]
        is_contact = objects == self._kinds["UNKNOWN"]
        if is_contact.all():
            return numbers[geoms["objid"]], is_contact
        # These are geoms of touch sensors and of slider-cranks. Slider-cranks appear here a second time.
        keys, _ = self._of_model(geoms)
        rows = np.flatnonzero(is_contact)
        keys[rows] = numbers[geoms["objid"][rows]]
        return keys, is_contact | (objects == self._kinds["SENSOR"])


def _new_scene(model: MjModel, count: int) -> tuple[MjvScene, NDArray[np.void]]:
    """Makes a scene with room for `count` geoms. Returns the scene and its memory."""
    scene = mujoco.MjvScene(model, count)
    scene.status = 1  # With another status MuJoCo would report a full scene; `_is_full` handles a full scene.
    return scene, geom_records(scene)


def _sides(contacts: object) -> NDArray[np.int64]:
    """Returns the two objects of each contact, an array of shape (c, 2). An object is the number of a geom, or a
    larger number for an element or vertex of a flex."""
    sides = np.array(contacts.geom, np.int64)  # type: ignore[attr-defined]
    if len(sides) and sides.min() < 0:
        flex, element, vertex = (np.array(getattr(contacts, name), np.int64) for name in ("flex", "elem", "vert"))
        place = np.where(vertex >= 0, vertex, element) & ((1 << ELEMENT_BITS + FLEX_BITS) - 1)
        number = 1 << 30 | (vertex >= 0) << 29 | (flex & 0xFFF) << (ELEMENT_BITS + FLEX_BITS) | place
        sides = np.where(sides < 0, number, sides)
    return sides


# The code below gives each contact a number that stays the same as long as the contact lasts.
#
# MuJoCo's index of a contact changes whenever another contact begins or ends. Here a contact is identified by its pair
# of geoms. Within a pair, each contact gets the number of the nearest contact at the last call. The contacts with the
# smallest distance are matched first, and each number is used only one time.
#
# Always: two contacts of one call have different numbers. A contact that is farther than `reach` from all previous
# contacts of its pair gets a new number. A number is reused only after 2**32 contacts. This code reads neither a clock
# nor the model.


NUMBER_MASK = 0xFFFF_FFFF


class ContactKeys:
    """Numbers of contacts. A contact keeps its number over successive calls."""

    def __init__(self) -> None:
        self._pairs = np.zeros(0, np.int64)  # pairs of the last call, sorted
        self._positions = np.zeros((0, 3))
        self._numbers = np.zeros(0, np.int64)
        self._next = 0

    def numbers(
        self, pairs: NDArray[np.int64], positions: NDArray[np.float64], reach: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Returns the numbers of n contacts, an array of shape (n,) with integers from 0 to 2**32 - 1.

        pairs: for each contact the number of its pair of geoms, shape (n,). The same pair always has the same number.
        positions: positions of the contacts, shape (n, 3), in metres. reach: largest distance that each contact may
        have moved since the last call, shape (n,), in metres.
        """
        order = np.argsort(pairs, kind="stable")
        now, there = pairs[order], positions[order]
        first, end = np.searchsorted(self._pairs, now), np.searchsorted(self._pairs, now, side="right")
        many = end - first
        # Candidates for a match: each contact, combined with each contact of the same pair at the last call.
        news = np.repeat(np.arange(len(now)), many)
        olds = np.arange(len(news)) - np.repeat(np.cumsum(many) - many - first, many)
        way = there[news] - self._positions[olds]
        squares = np.einsum("ij,ij->i", way, way)
        nearest_first = np.argsort(squares, kind="stable")
        nearest_first = nearest_first[(squares <= reach[order][news] ** 2)[nearest_first]]
        found = np.full(len(now), -1, np.int64)
        for new, old in _mutual(news[nearest_first], olds[nearest_first], len(now), len(self._pairs)):
            found[new] = self._numbers[old]
        is_new = found < 0
        count = int(np.count_nonzero(is_new))
        found[is_new] = (self._next + np.arange(count)) & NUMBER_MASK
        self._next += count
        self._pairs, self._positions, self._numbers = now, there, found
        numbers = np.empty_like(found)
        numbers[order] = found
        return numbers


def _mutual(
    news: NDArray[np.intp], olds: NDArray[np.intp], new_count: int, old_count: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Matches new contacts with old contacts. Each contact is matched at most one time. news, olds: candidates, sorted
    by distance. In each round, two contacts match if each is the nearest candidate of the other. So the number of
    rounds is at most the number of contacts of one pair. Returns the matches of each round."""
    matches = []
    while len(news):
        place = np.arange(len(news))
        nearest_of_new, nearest_of_old = np.zeros(new_count, np.intp), np.zeros(old_count, np.intp)
        # If an index is repeated, numpy keeps the last assignment. In this reversed order, the last assignment is that
        # of the nearest candidate.
        nearest_of_new[news[::-1]] = place[::-1]
        nearest_of_old[olds[::-1]] = place[::-1]
        is_match = (nearest_of_new[news] == place) & (nearest_of_old[olds] == place)
        matches.append((news[is_match], olds[is_match]))
        is_taken_new, is_taken_old = np.zeros(new_count, bool), np.zeros(old_count, bool)
        is_taken_new[news[is_match]] = is_taken_old[olds[is_match]] = True
        is_left = ~(is_taken_new[news] | is_taken_old[olds])
        news, olds = news[is_left], olds[is_left]
    return matches
