"""Velocities of bodies' origins, from MuJoCo's `cvel`.

`cvel` is about the centre of mass of a body's tree: v = cvel[3:] + cvel[:3] x (xpos - subtree_com[root]) (Featherstone,
"Rigid Body Dynamics Algorithms").

The one idea: numpy's own loops over three numbers a body are slow. Few bodies take one matrix product, in as few calls as
there can be; many bodies are computed component by component, in long loops (1,000 bodies 30 us instead of 75). Where
each body is a tree by itself, with its centre of mass at its origin, there is nothing to compute.

Always: the arrays of `data` are only read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

# Bodies from which components pay.
MANY = 150
# Distance of a centre of mass from an origin that counts as none, metres.
CENTERED_M = 1e-12
# The cross product a x b as a product of the nine a_j b_k with a matrix, (9, 3).
_CROSS = np.zeros((3, 3, 3))
for _axis in range(3):
    _after, _last = (_axis + 1) % 3, (_axis + 2) % 3
    _CROSS[_after, _last, _axis], _CROSS[_last, _after, _axis] = 1, -1
_CROSS_PRODUCT = _CROSS.reshape(9, 3)


class OriginVelocity:
    """Velocities of the origins of all bodies of `model` in `data`, whose arrays are kept."""

    def __init__(self, model: MjModel, data: MjData) -> None:
        count = int(model.nbody)
        root = np.array(model.body_rootid)
        self._position, self._cvel, self._centers = data.xpos, data.cvel, data.subtree_com
        self._root = None if np.array_equal(root, np.arange(count)) else root
        is_alone = (model.body_subtreemass == model.body_mass) & (np.abs(model.body_ipos) < CENTERED_M).all(axis=1)
        self._has_arms = not (is_alone | (model.body_weldid == 0)).all()
        # Views are made once: each costs as much as a product of few bodies.
        self._omega, self._linear = self._cvel[:, :3], self._cvel[:, 3:]
        self._own_centers, self._arm = np.zeros((count, 3)), np.zeros((count, 1, 3))
        self._omega_column, self._products = self._omega[:, :, None], np.zeros((count, 3, 3))
        self._flat_products = self._products.reshape(-1, 9)
        self._is_many = count >= MANY
        if self._is_many:  # components, the first two of them twice: those before and after an axis follow each other
            self._omegas, self._arms = np.zeros((5, count)), np.zeros((5, count))
            self._velocities, self._other = np.zeros((3, count)), np.zeros((3, count))

    def write(self, velocity: NDArray[np.float32], angular_velocity: NDArray[np.float32]) -> None:
        """Writes velocities and angular velocities of all bodies, (n, 3) each."""
        angular_velocity[...] = self._omega
        if not self._has_arms:
            velocity[...] = self._linear
            return
        centers = self._centers
        if self._root is not None:
            centers = centers.take(self._root, axis=0, out=self._own_centers, mode="clip")
        if self._is_many:
            self._write_components(velocity, centers)
        else:
            np.subtract(self._position, centers, out=self._arm[:, 0])
            np.multiply(self._omega_column, self._arm, out=self._products)
            np.matmul(self._flat_products, _CROSS_PRODUCT, out=self._own_centers)
            np.add(self._own_centers, self._linear, out=velocity, casting="same_kind")

    def _write_components(self, velocity: NDArray[np.float32], centers: NDArray[np.float64]) -> None:
        omegas, arms, crossed = self._omegas, self._arms, self._velocities
        for axis in range(3):
            np.subtract(self._position[:, axis], centers[:, axis], out=arms[axis])
            np.copyto(omegas[axis], self._cvel[:, axis])
        arms[3:], omegas[3:] = arms[:2], omegas[:2]
        np.multiply(omegas[1:4], arms[2:], out=crossed)
        np.multiply(omegas[2:], arms[1:4], out=self._other)
        np.subtract(crossed, self._other, out=crossed)
        for axis in range(3):
            np.add(crossed[axis], self._cvel[:, 3 + axis], out=velocity[:, axis], casting="same_kind")
