"""Scene, camera, images and figures of a simulation on the viewer's side, from its messages.

The one idea: a camera that the simulation moves is a message of its own, of some hundred bytes. Scenes and cameras count
their cameras together, so that of both the newer one counts, in whichever order they are sent.

Always: each scene is complete, with the newest camera. A camera that is sent again counts as news, also if it is equal;
one that is older than the scene's own is ignored. Invalid messages raise TwixtError.
"""

from __future__ import annotations

from typing import Any

from twixt.ipc.interaction.overlay_figures import OverlayFigure
from twixt.ipc.interaction.overlay_images import OverlayImage
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.parent_log import ParentEntry, ParentLog, from_field, merged
from twixt.ipc.session import overlay_messages, wire


class ReceivedScene:
    """Scene of one simulation. version: 0 before the first one. camera_version: of its camera. cameras: number of
    cameras that came by themselves. images, figures: over the picture; new ones are another tuple. parents: of this
    scene and of those before it."""

    scene: Scene

    def __init__(self) -> None:
        self.version = self.camera_version = self.cameras = 0
        self.images: tuple[OverlayImage, ...] = ()
        self.figures: tuple[OverlayFigure, ...] = ()
        self.parents: ParentLog = ()

    def take_scene(self, fields: dict[str, Any], packed: bytes) -> None:
        """Takes a scene message. Meshes and textures that the scene of version `since` has do not come again; 0: all
        come."""
        version, camera_version, since = (
            wire.whole_number(fields, name) for name in ("version", "camera_version", "since")
        )
        if since not in (0, self.version):
            raise wire.WireError("the simulation sent what changed in a scene that did not come; restart it")
        before = from_field(fields.get("parents_before", []))
        self.scene = Scene.from_bytes(packed, self.scene if since else None)
        self.parents = merged(self.parents, (*before, ParentEntry(version, self.scene.parents)))
        self.version, self.camera_version = version, camera_version

    def take_camera(self, fields: dict[str, Any]) -> None:
        """Takes a camera message."""
        version, camera = wire.whole_number(fields, "version"), camera_of(fields.get("camera"))
        if not self.version:
            raise wire.WireError("the simulation sent a camera before its scene; restart it")
        if version <= self.camera_version:
            return
        self.scene = self.scene.with_camera(camera)
        self.camera_version = version
        self.cameras += 1

    def take_overlay(self, message: wire.Message) -> None:
        """Takes a message of one of `overlay_messages.OVERLAYS`."""
        setattr(self, message.kind, overlay_messages.received(message))


def camera_of(fields: Any) -> Camera | None:
    """The camera of a message; None frames all bodies. Raises WireError."""
    if fields is None:
        return None
    try:
        return Camera(**fields)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise wire.WireError(f"a camera that cannot be used came ({error})") from error
