"""Cameras that the user cannot move: the field `locked`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from twixt.ipc.scene import Camera, Scene, SceneError
from twixt.ipc.scene.scene import packed_scene, unpacked_scene, with_camera
from twixt.ipc.session.messages import camera_of

LOCKED = Camera((1, 2, 3), locked=True)


@pytest.mark.parametrize(("given", "kept"), [(True, True), (False, False), (np.bool_(True), True), (0, False)])
def test_locked_is_kept_as_a_bool(given: Any, kept: bool) -> None:
    assert Camera(locked=given).locked is kept


@pytest.mark.parametrize("wrong", ["yes", None, 2, 1.0, [True], float("nan")])
def test_locked_must_be_true_or_false(wrong: Any) -> None:
    with pytest.raises(SceneError) as refused:
        Camera(locked=wrong)
    assert str(refused.value) == f"Camera.locked must be True or False, got {wrong!r}"


def test_a_camera_is_free_unless_it_is_locked_and_the_two_differ() -> None:
    assert Camera((1, 2, 3)).locked is False
    assert Camera((1, 2, 3)) != LOCKED
    assert replace(LOCKED, target=(0, 0, 1)).locked is True
    assert replace(LOCKED, locked=False) == Camera((1, 2, 3))


def test_a_locked_camera_travels_with_its_scene_and_alone() -> None:
    scene = Scene(camera=LOCKED)
    assert unpacked_scene(packed_scene(scene).to_bytes()).camera == LOCKED
    assert camera_of(asdict(LOCKED)) == LOCKED
    assert packed_scene(scene).to_bytes() != packed_scene(with_camera(scene, Camera((1, 2, 3)))).to_bytes()
