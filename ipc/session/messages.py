"""This module checks a simulation's status, description and report. It also stores the simulation's scene, camera,
images and figures for a viewer.

Each field that a viewer uses has a rule, found by the field's name. Other fields are passed on unchanged.

Always: a value that breaks its rule raises WireError. So a checked value has the type that the physics process sends,
and its integers fit into 64 bits. A text for display has at most `LONGEST_TEXT` characters.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

from twixt.ipc.config.troubles import FIELDS, breaks_rule
from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction import controls, overlay, plots
from twixt.ipc.interaction.overlay import OverlayFigure, OverlayImage, OverlayText, texts_from_message
from twixt.ipc.interaction.plots import OverlayPlot
from twixt.ipc.process import fork
from twixt.ipc.process.user_code import CODE_FOLDERS, MOST_FOLDERS
from twixt.ipc.scene import Camera, Scene
from twixt.ipc.scene.groups import ParentEntry, ParentLog, from_field, merged
from twixt.ipc.scene.scene import unpacked_scene, with_camera
from twixt.ipc.session import wire
from twixt.ipc.session.screenshots import MOST_REQUESTS, ScreenshotRequest
from twixt.ipc.session.viewers import AttachedViewer, WrittenOverlay
from twixt.ipc.session.wire import WireError
from twixt.ipc.system import memory

NUMBERS = ("tick", "rate", "time_scale", "dt_ms", "step_ms", "lead_ms", "step_multiple", "late", "dropped", "lost")
TEXTS = ("world", "warning", "step_reason")
TROUBLES = ("trouble", "trouble_asked")
# Largest number of keys that belong to the program, and of bodies that the user may drag without Ctrl.
MOST_OWN_KEYS, MOST_DRAGGABLE = 200, 10_000
# Longest text for display, in characters. Longer texts are cut.
LONGEST_TEXT = 4000


def status(value: Any) -> dict[str, Any]:
    """Check a status message and return its fields. For None, return an empty dict. Raises WireError for an invalid
    field."""
    fields = dict(_named("status", value))
    for name in NUMBERS:
        if name in fields and not (_is_number(fields[name]) and math.isfinite(fields[name])):
            raise _wrong(f"status.{name}", "a finite number", fields[name])
    if fields.get("time_scale", 1) <= 0:
        raise _wrong("status.time_scale", "> 0", fields["time_scale"])
    for name in TEXTS:
        if name in fields and not isinstance(fields[name], str):
            raise _wrong(f"status.{name}", "text", fields[name])
        if name in fields:
            fields[name] = text(fields[name])
    if "texts" in fields:
        fields["texts"] = _texts(fields["texts"])
    diagnostics = _named("diagnostics", fields.get("diagnostics"))
    for name, value in diagnostics.items():
        if not _is_number(value):
            raise _wrong(f"the diagnostic {name[:40]!r}", "a number", value)
    if diagnostics:
        fields["diagnostics"] = {text(name): value for name, value in diagnostics.items()}
    if "controls" in fields and not controls.is_status(fields["controls"]):
        raise _wrong("status.controls", "a list of kind, name, value, low, high, section", fields["controls"])
    if not _is_list(fields.get("own_keys", []), str, MOST_OWN_KEYS):
        raise _wrong("status.own_keys", "a list of key names", fields["own_keys"])
    if not _is_list(fields.get("draggable", []), int, MOST_DRAGGABLE):
        raise _wrong("status.draggable", "a list of bodies", fields["draggable"])
    for figures in (fields, *(_named(name, fields.get(name)) for name in TROUBLES)):
        for kind, name in FIELDS.items():
            if breaks_rule(kind, figures.get(name)):
                raise _wrong(f"status.{name}", "valid values of injected trouble", figures[name])
    return {
        name: value for name, value in fields.items() if value is not None or name not in ("diagnostics", *TROUBLES)
    }


def description(value: Any) -> dict[str, Any]:
    """Check the description that a viewer receives when it attaches. Raises WireError for an invalid description."""
    fields = _named("description", value)
    folders = fields.get(CODE_FOLDERS, [])
    if not (isinstance(folders, list) and len(folders) <= MOST_FOLDERS and all(map(_is_folder, folders))):
        raise _wrong(f"description.{CODE_FOLDERS}", f"a list of at most {MOST_FOLDERS} absolute paths", folders)
    return fields


def blocks(value: Any) -> dict[str, dict[str, Any]] | None:
    """Check the report's blocks and return them. For None, return None. A block maps names to figures. A figure is a
    single value, or a dict of values for a distribution. Raises WireError for invalid blocks."""
    if value is None:
        return None
    fields = {name: _named(f"the block {name[:40]}", block) for name, block in _named("report", value).items()}
    return {
        text(name): {text(key): _figure(key, figure) for key, figure in block.items()} for name, block in fields.items()
    }


def text(value: Any) -> str:
    """Return the value, cut to `LONGEST_TEXT` characters, for display. Return an empty text if the value is no
    text."""
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[OverlayText, ...]:
    try:
        return texts_from_message(value)
    except TwixtError as error:
        raise WireError(f"the simulation sent invalid status.texts ({error}); restart it") from error


def _figure(name: str, value: Any) -> Any:
    """Check a figure: a single value, or a dict of values. Texts are cut."""
    if isinstance(value, dict):
        return {text(key): _single_figure(name, figure) for key, figure in value.items()}
    return _single_figure(name, value)


def _single_figure(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool) or _is_number(value):
        return value
    raise _wrong(f"the figure {name[:40]!r}", "a number, text, null, or an object of these", value)


def _named(what: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(what, "an object", value)
    return value


def _is_list(value: Any, kind: type, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(type(item) is kind for item in value)


def _is_folder(value: Any) -> bool:
    return isinstance(value, str) and os.path.isabs(value) and "\0" not in value


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63)


def _wrong(what: str, rule: str, got: Any) -> WireError:
    shown = repr(got)[:40] if isinstance(got, str | int | float | None) else f"a {type(got).__name__}"
    return WireError(f"the simulation sent {what} as {shown}, which must be {rule}; restart it")


# A viewer's copy of the simulation's scene, camera, images and figures, built from the simulation's messages.
#
# When the simulation moves the camera, it sends a separate message of about a hundred bytes. Scene messages and camera
# messages have a camera version; one counter gives the versions of both. So the newest camera applies, in whatever
# order the messages arrive.
#
# Always: the scene is complete and has the newest camera. A camera that is sent again counts as new, even if it is
# equal to the previous camera. A camera that is older than the scene's own camera is ignored. Invalid messages raise
# TwixtError.


class ReceivedScene:
    """Scene of one simulation. version: the scene's version; 0 before the first scene. camera_version: version of the
    camera. cameras: number of applied camera messages. images, figures, plots: images, figures and plots that are drawn
    over the picture; each message replaces the whole tuple. parents: the parents of the bodies in this scene and in
    earlier scenes. screenshots: requested screenshots that the viewer has not taken yet."""

    scene: Scene

    def __init__(self) -> None:
        self.version = self.camera_version = self.cameras = 0
        self.images: tuple[OverlayImage, ...] = ()
        self.figures: tuple[OverlayFigure, ...] = ()
        self.plots: tuple[OverlayPlot, ...] = ()
        self.parents: ParentLog = ()
        self.screenshots: list[ScreenshotRequest] = []

    def apply_scene(self, fields: dict[str, Any], packed: bytes) -> None:
        """Applies a scene message. If its field `since` is not 0, the message does not contain the meshes and textures
        that are in the scene of version `since`."""
        version, camera_version, since = (
            wire.whole_number(fields, name) for name in ("version", "camera_version", "since")
        )
        if since not in (0, self.version):
            raise wire.WireError("the simulation sent changes of a scene that it did not send; restart it")
        before = from_field(fields.get("parents_before", []))
        self.scene = unpacked_scene(packed, self.scene if since else None)
        self.parents = merged(self.parents, (*before, ParentEntry(version, self.scene.parents)))
        self.version, self.camera_version = version, camera_version

    def apply_camera(self, fields: dict[str, Any]) -> None:
        """Applies a camera message."""
        version, camera = wire.whole_number(fields, "version"), camera_of(fields.get("camera"))
        if not self.version:
            raise wire.WireError("the simulation sent a camera before its scene; restart it")
        if version <= self.camera_version:
            return
        self.scene = with_camera(self.scene, camera)
        self.camera_version = version
        self.cameras += 1

    def apply_screenshot(self, fields: dict[str, Any]) -> None:
        """Adds a requested screenshot."""
        if len(self.screenshots) >= MOST_REQUESTS:
            raise wire.WireError(f"the simulation requested more than {MOST_REQUESTS} screenshots at once; restart it")
        self.screenshots.append(ScreenshotRequest.from_fields(fields))

    def apply_overlay(self, message: wire.Message) -> None:
        """Applies a message whose kind is one of `OVERLAYS`."""
        setattr(self, message.kind, received(message))


def camera_of(fields: Any) -> Camera | None:
    """Return the camera in a message. None stands for a view of all bodies. Raises WireError for an invalid camera."""
    if fields is None:
        return None
    try:
        return Camera(**fields)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise wire.WireError(f"the simulation sent an invalid camera ({error}); restart it") from error


# Images, figures and plots are drawn over the picture. Their bytes are in a file in memory, and the message carries the
# descriptor of this file.
#
# Megabytes of pixels in the stream would delay all later messages, even the message about the simulation's end. A
# descriptor is short, and the viewer reads all bytes in one call.
#
# Always: the kernel frees the bytes when the last descriptor is closed; a viewer closes its descriptor after reading.
# The bytes are checked like all other values of a message. Reading never waits.

# For each kind of message, the function that decodes it.
OVERLAYS: dict[str, Callable[[dict[str, Any], bytes], Any]] = {
    "images": overlay.images_from_message,
    "figures": overlay.figures_from_message,
    "plots": plots.plots_from_message,
}
# Largest number of bytes in one message.
MOST_BYTES = max(overlay.MOST_IMAGE_BYTES, overlay.MOST_FIGURE_BYTES, plots.MOST_PLOT_BYTES)
# Shortest interval between two messages of the same kind to one viewer, in ns. The interval is shorter for images,
# because images may be the stream of a camera.
INTERVALS_NS = {"images": 33_000_000, "figures": 100_000_000, "plots": plots.PERIOD_NS}


def post(viewer: AttachedViewer, kind: str, overlay: WrittenOverlay) -> None:
    """Queues images or figures for a viewer. Raises OSError if this process cannot open another descriptor."""
    fields, content = overlay.fields | {"size": len(overlay.content)}, overlay.content
    if not content:
        viewer.post(kind, wire.encode(kind, fields, content))
        return
    with fork.LOCK:
        descriptor = memory.make_file(content, kind)
        viewer.post(kind, wire.encode(kind, fields, descriptors=1), [descriptor])


def received(message: wire.Message) -> Any:
    """Decodes a message whose kind is one of `OVERLAYS`. The caller still owns the message's descriptor. Raises
    TwixtError for an invalid message, and OSError if the bytes cannot be read."""
    size = wire.whole_number(message.fields, "size")
    if not 0 <= size <= MOST_BYTES:
        raise wire.WireError(f"a {message.kind} message must have at most {MOST_BYTES} bytes, got {size}")
    try:
        (descriptor,) = message.descriptors or (None,)
        content = message.raw if descriptor is None else memory.read_file(descriptor, size)
    except ValueError:
        raise wire.WireError("images or figures were sent without their memory") from None
    if len(content) != size:
        raise wire.WireError(f"a {message.kind} message must have {size} bytes, got {len(content)}")
    return OVERLAYS[message.kind](message.fields, content)
