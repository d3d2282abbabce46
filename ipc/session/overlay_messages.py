"""Messages about images and figures over the picture: their bytes in a file of memory, sent by its descriptor.

The one idea: megabytes of pixels in the stream would hold up every message behind them, the end of the simulation too. A
descriptor passes in one piece, and the viewer reads all of the bytes at once.

Always: the bytes are freed with the last process that has the descriptor; a viewer closes its own once it has read. What
is read is checked like the rest of a message, and reading never waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twixt.ipc.interaction import overlay_figures, overlay_images
from twixt.ipc.process import fork
from twixt.ipc.session import wire
from twixt.ipc.session.attached_viewer import AttachedViewer, WrittenOverlay
from twixt.ipc.system import memory

# Kinds of these messages, and what makes values of their fields and bytes.
OVERLAYS: dict[str, Callable[[dict[str, Any], bytes], Any]] = {
    "images": overlay_images.from_message,
    "figures": overlay_figures.from_message,
}
# Most bytes of one message.
MOST_BYTES = max(overlay_images.MOST_BYTES, overlay_figures.MOST_BYTES)
# Shortest intervals between two messages of a kind to one viewer, ns: images may be a camera's, figures are read.
INTERVALS_NS = {"images": 33_000_000, "figures": 100_000_000}


def post(viewer: AttachedViewer, kind: str, overlay: WrittenOverlay) -> None:
    """Queues them for a viewer. Raises OSError where there is no descriptor left."""
    fields, content = overlay.fields | {"size": len(overlay.content)}, overlay.content
    if not content:
        viewer.post(kind, wire.encode(kind, fields, content))
        return
    with fork.LOCK:
        descriptor = memory.make_file(content, kind)
        viewer.post(kind, wire.encode(kind, fields, descriptors=1), [descriptor])


def received(message: wire.Message) -> Any:
    """The value of a message of one of `OVERLAYS`, whose descriptor stays the caller's. Raises TwixtError, OSError."""
    size = wire.whole_number(message.fields, "size")
    if not 0 <= size <= MOST_BYTES:
        raise wire.WireError(f"{message.kind} of {size} bytes came, of {MOST_BYTES} at most")
    try:
        (descriptor,) = message.descriptors or (None,)
        content = message.raw if descriptor is None else memory.read_file(descriptor, size)
    except ValueError:
        raise wire.WireError("images or figures came without memory to read them from") from None
    if len(content) != size:
        raise wire.WireError(f"{message.kind} came with {len(content)} of {size} bytes")
    return OVERLAYS[message.kind](message.fields, content)
