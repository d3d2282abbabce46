"""Snapshots through shared memory: one writer that never waits, readers that are never seen.

The one idea: "double-buffered" is a promise to the reader (the two newest snapshots, complete, always),
and a ring of N slots carries it. The writer goes round: slot k mod N holds snapshot k until k+N comes.
A reader looks at a slot before and after; what changed meanwhile it throws away.

Why two slots cannot carry it: while one is written, only one complete snapshot exists. With three a reader
must finish both before the writer starts again. With N it has N-2 publishes' time for the older of the
pair, so N is 4 to 16 (`layout`), as many as a bounded memory allows.

Always: snapshots are numbered 1, 2, 3, ..., across segments; a reader delivers each number once at most,
in order; readers own no word, so a stopped, killed or hostile one harms nobody.

Growth, without a lost or torn snapshot: the larger segment first gets the last two snapshots under their own
numbers, and the plan and scene version; then the old one's successor word is set, and nothing is
written in the old one any more, so that all it holds stays readable. A reader that comes at once or late
reads what it had not read from the old, the rest from the new.

Not here: why each store and load stands in its place (`sequence`), how segments reach a viewer (link).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twixt.ipc.ring_reader import Counters, RingReader
    from twixt.ipc.ring_writer import RingWriter, Stored
    from twixt.ipc.segment import Claim
from twixt.ipc.slot import OpenSlot, RecordsKept, RingError

__all__ = ["Claim", "Counters", "OpenSlot", "RecordsKept", "RingError", "RingReader", "RingWriter", "Stored"]

_WRITER = "twixt.ipc.ring_writer"
_READERS = {
    "Claim": "twixt.ipc.segment",
    "Counters": "twixt.ipc.ring_reader",
    "RingReader": "twixt.ipc.ring_reader",
}


def __getattr__(name: str) -> Any:
    # Each side loads its own half.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _READERS.get(name, _WRITER)
    return getattr(importlib.import_module(home), name)
