from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.scene import Scene
from twixt.render.draw.flat.background import grid_levels
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.frame_block import FRAME_BLOCK, LAYER_BLOCK, frame_block, quaternion_of

ANGLES = st.floats(-4, 4)


def rotated(quaternion, vector):
    axis, w = np.array(quaternion[:3]), quaternion[3]
    return vector + 2 * np.cross(axis, np.cross(axis, vector) + w * vector)


@given(ANGLES, ANGLES, st.permutations([0, 1, 2]))
def test_the_quaternion_of_a_rotation_always_turns_as_its_matrix(azimuth, elevation, order):
    matrix = OrbitCamera(azimuth_rad=azimuth, elevation_rad=elevation).matrices((4, 3)).view[:3, :3].astype(np.float64)
    matrix = matrix[order]
    matrix[0] *= np.sign(np.linalg.det(matrix))
    quaternion = quaternion_of(matrix)
    assert abs(np.linalg.norm(quaternion) - 1) < 1e-6
    for vector in np.eye(3):
        np.testing.assert_allclose(rotated(quaternion, vector), matrix @ vector, atol=1e-5)


def test_the_block_is_laid_out_as_std140_has_it():
    assert FRAME_BLOCK.itemsize % 16 == 0
    assert all(offset % 16 == 0 for _, offset in (FRAME_BLOCK.fields[name][:2] for name in FRAME_BLOCK.names))
    camera = OrbitCamera(distance_m=3)
    block = frame_block(Scene(look="unlit"), camera.matrices((200, 100)), (7, 9, 200, 100))
    assert block["picture"][:2].tolist() == [200, 100]
    assert block["light_eye"][3] == 1
    assert block["grid"][2:].tolist() == [7, 9]
    assert LAYER_BLOCK.size == 48


@given(st.floats(1e-2, 1e5))
def test_the_grid_is_never_dense_and_never_jumps_as_the_camera_leaves(distance_m):
    for level in grid_levels(distance_m):
        assert level.radius_m / level.spacing_m < 60
        assert 0 < level.alpha <= 0.4
        alphas = {round(math.log10(other.spacing_m)): other.alpha for other in grid_levels(distance_m * 1.001)}
        change = abs(alphas.get(round(math.log10(level.spacing_m)), 0.0) - level.alpha)
        assert change < 0.01 or level.spacing_m > 50 * distance_m / 8
