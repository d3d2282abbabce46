"""The row of one frame: what was planned, what happened, and what was shown. Pure."""

from __future__ import annotations

from twixt.ipc.snapshot import Head
from twixt.render.measure.frames import FrameRow
from twixt.render.picture.part import AS_PUBLISHED
from twixt.render.picture.picture import Shown


def with_shown(row: FrameRow, shown: Shown, newest: Head, last: FrameRow) -> FrameRow:
    """`row` with what its frame shows. newest: of the snapshots known; last: the frame before."""
    main = shown.main
    previous = main.pair.previous.head
    following = previous if main.pair.next is None else main.pair.next.head
    blended = main.pair.next is not None and main.method not in AS_PUBLISHED and not main.is_beyond
    used = newest if main.method == "latest" else following if blended else previous
    stands = main.draw_time_ns == last.draw_time_ns and last.mode != "none"
    return row._replace(
        draw_time_ns=main.draw_time_ns,
        alpha=main.pair.alpha if blended else 0.0,
        mode="extrapolated" if main.is_beyond else "held" if stands and not blended else "interpolated",
        method=main.method,
        previous_tick=previous.tick,
        next_tick=-1 if main.pair.next is None else following.tick,
        used_published_ns=used.published_ns,
        draw_due_ns=shown.due_ns,
        group_due_ns=min(shown.group_due_ns.values(), default=0),
    )
