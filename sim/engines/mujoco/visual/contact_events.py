"""Events for contacts that begin: the option `events="contacts"` of `launch_passive`, and of the world of a model file.

A contact begins if MuJoCo lists a pair of geoms in `data.contact`, and did not list it in the last REST_S of simulated
time. So a resting contact that breaks for a few steps is one contact, and so is a bounce lower than about 3 mm.

Always: the contacts of the first state, and of the first state after simulated time went back, do not begin. Model and
data are only read. Not here: contacts between two calls of `look`, which are not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

# Value of the option, and name of the events.
CONTACTS, NAME = "contacts", "contact"
# Shortest time in seconds for which a pair must be apart so that its next contact begins. A ball that falls 3 mm is in
# the air for this time.
REST_S = 0.05
# Number of pairs that are apart of which the times are kept before old ones are removed.
MOST_APART = 4096

# Axes that follow an axis, and axes that precede it.
NEXT, LAST = [1, 2, 0], [2, 0, 1]

Pair = int  # the ids of both geoms, as one number


class BegunContacts(NamedTuple):
    """Contacts that have begun, as arguments of `World.emit_many`.

    body: (n,), the faster one of the two bodies. position: (n, 3), metres. strength: (n,), the impulse in N s that stops
    the approach: its speed times the effective mass of both bodies, which MuJoCo estimates (`body_invweight0`). values:
    (n, 2), the ids of the two geoms, -1 for a flex.
    """

    body: NDArray[np.int32]
    position: NDArray[np.float64]
    strength: NDArray[np.float64]
    values: NDArray[np.int32]


class ContactEvents:
    """Finds the contacts of `data` that begin."""

    def __init__(self, model: MjModel, data: MjData) -> None:
        self._data = data
        self._body_of = np.append(model.geom_bodyid, 0)  # the last one is for flexes, whose geom is -1
        self._root, self._inverse_mass = np.array(model.body_rootid), np.array(model.body_invweight0[:, 0])
        self._apart_s: dict[Pair, float] = {}  # pairs that are apart, and when they were last seen in contact
        self.restart()

    def restart(self) -> None:
        """Makes the next `look` treat all contacts as old ones."""
        self._content, self._pairs, self._time_s, self._is_first = b"", set[Pair](), 0.0, True
        self._apart_s.clear()

    def emit(self, emit_many: Callable[..., None]) -> None:
        """Emits the contacts of the current state that have begun. emit_many: `World.emit_many`, or the handle's."""
        if (begun := self.look()) is not None:
            emit_many(NAME, **begun._asdict())

    def look(self) -> BegunContacts | None:
        """The contacts of the current state that have begun, or None. If the pairs of geoms are those of the last call,
        this takes about one microsecond."""
        data, before_s = self._data, self._time_s
        self._time_s = time_s = data.time
        content = data.contact.geom.tobytes() if data.ncon else b""
        if time_s < before_s:
            self.restart()
            self._time_s = time_s
        elif content == self._content and not self._is_first:
            return None
        listed: list[Pair] = data.contact.geom.view(np.int64).ravel().tolist()
        pairs, old = set(listed), self._pairs
        self._content, self._pairs = content, pairs
        if self._is_first:
            self._is_first = False
            return None
        for pair in old - pairs:
            self._apart_s[pair] = before_s
        begun = {pair for pair in pairs - old if time_s - self._apart_s.pop(pair, -np.inf) > REST_S}
        if len(self._apart_s) > MOST_APART:
            self._apart_s = {pair: last_s for pair, last_s in self._apart_s.items() if time_s - last_s <= REST_S}
        return self._found(listed, begun) if begun else None

    def _found(self, listed: list[Pair], begun: set[Pair]) -> BegunContacts:
        """One contact for each pair in `begun`, the deepest one. listed: pairs of all contacts."""
        contacts = self._data.contact
        depth, deepest = contacts.dist.tolist(), dict[Pair, int]()
        for row, pair in enumerate(listed):
            if pair in begun and (pair not in deepest or depth[row] < depth[deepest[pair]]):
                deepest[pair] = row
        rows = list(deepest.values())
        geoms, points, normals = contacts.geom[rows], contacts.pos[rows], contacts.frame[rows, :3]
        bodies = self._body_of[geoms]
        velocities = self._velocities(bodies, points)
        with np.errstate(all="ignore"):  # the state may have diverged
            approach = ((velocities[:, 0] - velocities[:, 1]) * normals).sum(axis=1)
            inverse_mass = self._inverse_mass[bodies].sum(axis=1)
            impulses = np.where(inverse_mass > 0, np.maximum(approach, 0) / inverse_mass, 0.0)
            squares = (velocities * velocities).sum(axis=2)
        faster = np.where(squares[:, 1] >= squares[:, 0], bodies[:, 1], bodies[:, 0])
        return BegunContacts(faster, points, impulses, geoms)

    def _velocities(self, bodies: NDArray[np.int32], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Velocities of the points of n pairs of bodies, (n, 2, 3), in m/s, at the points, (n, 3). The bodies have not
        been slowed down by the contact yet."""
        cvel, arms = self._data.cvel[bodies], points[:, None] - self._data.subtree_com[self._root[bodies]]
        omega = cvel[..., :3]
        velocities: NDArray[np.float64] = cvel[..., 3:]
        velocities += omega[..., NEXT] * arms[..., LAST]
        velocities -= omega[..., LAST] * arms[..., NEXT]
        return velocities
