"""Meshes and textures travel to a viewer that lacks them, and to no other: bytes on the wire, counted."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from twixt.ipc import session
from twixt.ipc.scene import Camera, Material, Mesh, Scene, Sphere, Texture
from twixt.ipc.scene.scene import packed_scene
from twixt.ipc.session import wire
from twixt.ipc.session.messages import ReceivedScene
from twixt.ipc.session.viewers import AttachedViewer, WrittenScene

GROUND = Mesh.height_field(np.random.default_rng(1).normal(size=(300, 300)), (10, 10))
OTHER = Mesh.height_field(np.ones((100, 100)), (1, 1))
IMAGE = Texture(np.random.default_rng(2).integers(0, 255, (512, 512, 3), np.uint8))
GROUND_BYTES, OTHER_BYTES = (sum(array.nbytes for array in mesh.arrays) for mesh in (GROUND, OTHER))
CONTENT_BYTES = GROUND_BYTES + IMAGE.pixels.nbytes
# What a scene of some bodies takes without contents.
LITTLE = 4000

Until = Callable[[Callable[[], Any]], Any]


def scene(color: tuple[float, float, float], *more: Mesh, **options: Any) -> Scene:
    return Scene([GROUND.recolored(color), Sphere(material=Material(IMAGE)), *more], **options)


@pytest.fixture
def received_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the raw parts of the scene messages that came, in their order."""
    sizes: list[int] = []
    take = ReceivedScene.apply_scene

    def counted(self: ReceivedScene, fields: dict[str, Any], packed: bytes) -> None:
        sizes.append(len(packed))
        take(self, fields, packed)

    monkeypatch.setattr(ReceivedScene, "apply_scene", counted)
    return sizes


def test_a_scene_that_comes_again_brings_what_is_new_alone(
    channel: Any, received_bytes: list[int], until: Until
) -> None:
    host: session.Host = channel.open(1)
    host.write_scene(scene((1, 0, 0)))
    link = channel.attach()

    def shows(version: int) -> Scene:
        until(lambda: link.poll() or link.scene_version == version)
        return link.scene

    first = shows(2)
    assert received_bytes[-1] >= CONTENT_BYTES
    for changed in (
        scene((0, 1, 0)),
        scene((0, 1, 0), camera=Camera((1, 2, 3))),
        scene((0, 1, 0), labels=["a", "b"]),
    ):
        now = shows(host.write_scene(changed))
        assert received_bytes[-1] < LITTLE
        assert packed_scene(now).to_bytes() == packed_scene(changed).to_bytes()
        assert now.shapes[0].vertices is first.shapes[0].vertices  # type: ignore[union-attr]
    with_other = scene((0, 1, 0), OTHER)
    assert shows(host.write_scene(with_other)).shapes == with_other.shapes
    assert OTHER_BYTES <= received_bytes[-1] < OTHER_BYTES + LITTLE
    shows(host.write_scene(Scene([OTHER])))
    assert received_bytes[-1] < LITTLE
    assert shows(host.write_scene(with_other)).shapes == with_other.shapes  # what it gave up comes again
    assert CONTENT_BYTES <= received_bytes[-1] < CONTENT_BYTES + LITTLE


def test_a_viewer_that_attaches_late_gets_all(channel: Any, received_bytes: list[int], until: Until) -> None:
    host: session.Host = channel.open(1)
    early = channel.attach()
    for color in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        version = host.write_scene(scene(color))
        until(lambda version=version: early.poll() or early.scene_version == version)
    late = channel.attach()
    assert received_bytes[-1] >= CONTENT_BYTES
    assert (
        packed_scene(late.scene).to_bytes()
        == packed_scene(early.scene).to_bytes()
        == packed_scene(scene((0, 0, 1))).to_bytes()
    )


@pytest.fixture
def ends(nothing_left: None) -> Iterator[tuple[AttachedViewer, socket.socket]]:
    """A viewer as the simulation sees it, and the other end of its socket."""
    ours, theirs = socket.socketpair()
    viewer = AttachedViewer(ours, 0)
    with theirs:
        yield viewer, theirs
        viewer.close()


def test_a_scene_replaced_in_the_queue_is_not_counted_as_sent(ends: tuple[AttachedViewer, socket.socket]) -> None:
    viewer, theirs = ends
    received, inbox = ReceivedScene(), wire.Inbox(wire.HOST_JSON_LIMIT, wire.HOST_RAW_LIMIT)
    written = [
        Scene([Sphere()]), scene((1, 0, 0)), scene((1, 0, 0), OTHER), Scene([OTHER]),
        scene((0, 1, 0), OTHER), scene((0, 0, 1)), Scene([Sphere()]), scene((1, 1, 1)),
    ]  # fmt: skip
    # After these many scenes as much is sent as the socket takes; a large one is then under way when the next come.
    sent_after = {1, 2, 5, 6}
    for number, one in enumerate(written, 1):
        viewer.post_scene(WrittenScene(number, packed_scene(one), number))
        if number in sent_after:
            viewer.flush()
    while viewer.has_more or received.version != len(written):
        viewer.flush()
        for message in wire.receive(theirs, inbox) or []:
            received.apply_scene(message.fields, message.raw)
            assert packed_scene(received.scene).to_bytes() == packed_scene(written[received.version - 1]).to_bytes()


def test_scenes_that_a_stopped_viewer_does_not_take_cost_one_scene(ends: tuple[AttachedViewer, socket.socket]) -> None:
    viewer, _ = ends
    for number in range(1, 50):
        viewer.post_scene(WrittenScene(number, packed_scene(scene((number / 50, 0, 0))), number))
        viewer.flush()
    waiting = [viewer._sending, *viewer._unsent.values()]
    assert [message is not None for message in waiting] == [True, True]
    assert (
        CONTENT_BYTES - (1 << 20) < sum(len(message._rest) for message in waiting if message) < CONTENT_BYTES + LITTLE
    )
