"""Solids of triangles: (vertices, faces), faces counter-clockwise from outside."""

from __future__ import annotations

import itertools

import numpy as np

Solid = tuple[np.ndarray, np.ndarray]


def cube(half: float = 0.5) -> Solid:
    """Eight corners, twelve triangles."""
    corners = np.array(list(itertools.product((-half, half), repeat=3)))
    faces = [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]  # fmt: skip
    return corners, np.array(faces)


def icosahedron() -> Solid:
    """Radius 1."""
    golden = (1 + 5**0.5) / 2
    places = np.array(
        [p for a, b in itertools.product((-1, 1), (-golden, golden)) for p in ((0, a, b), (a, b, 0), (b, 0, a))]
    )
    near = [
        face
        for face in itertools.combinations(range(12), 3)
        if all(abs(np.linalg.norm(places[i] - places[j]) - 2) < 0.01 for i, j in itertools.combinations(face, 2))
    ]
    faces = np.array([face if np.linalg.det(places[list(face)]) > 0 else face[::-1] for face in near])
    return places / np.linalg.norm(places[0]), faces


def sphere(halvings: int) -> Solid:
    """Radius 1: an icosahedron, each face of which is cut into four so many times."""
    places, faces = icosahedron()
    for _ in range(halvings):
        pairs = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        edges, number = np.unique(pairs, axis=0, return_inverse=True)
        middles = places[edges].sum(axis=1)
        a, b, c = faces.T
        ab, bc, ca = number.reshape(3, -1) + len(places)
        places = np.concatenate([places, middles / np.linalg.norm(middles, axis=1, keepdims=True)])
        faces = np.concatenate(
            [np.stack(part, axis=1) for part in ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))]
        )
    return places, faces
