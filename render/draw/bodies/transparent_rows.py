"""Back-to-front order of transparent rows, and the runs of it that are draw calls.

Blending is right only from back to front ("over", Porter and Duff 1984), and few bodies are transparent. So only these
are sorted, by the distance of their centres. Planes divide the order instead: bodies beyond a plane come before it,
bodies on the eye's side after it (binary space partition: Fuchs, Kedem, Naylor 1980). So the order is right for a
floor or a pane of glass of any size.

Weighted blending without an order (McGuire and Bavoil 2013) was the alternative. It needs two more framebuffers with
the window's depth, which a window does not share, and a pass over the whole picture, 2 ms in software at 800x600. A
pixel with two bodies gets a mixed colour; with sorting it is exact.

Always: a row is transparent if the colour of its record or of its shape has an alpha below 255. Where two such bodies
intersect, the one whose centre is farther lies behind. With more than MOST_RUNS runs, rows are sorted only among rows
of the same key. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.snapshot import BODY, VISIBLE
from twixt.render.draw.frame.snapshot_ring import NO_ROWS, TransparentRows

# Most planes that divide the rows around them. Each takes a pass over the rows.
MOST_PARTING = 32
# Most draw calls of a picture while rows of all keys are sorted together: a draw call takes 20 us.
MOST_RUNS = 512


class SortedRuns(NamedTuple):
    """Rows from back to front, (n,), and the places in that order at which a draw call begins, (r,)."""

    order: NDArray[np.intp]
    begins: NDArray[np.intp]


def newest(older: TransparentRows | None, newer: TransparentRows | None) -> TransparentRows:
    """Rows of either of two snapshots, with the newer one's record where both have it; hidden rows are left out."""
    if older is not None:
        is_hidden = (older.records["flags"] & VISIBLE) == 0
        if is_hidden.any():
            hidden = older.rows[is_hidden]
            older = TransparentRows(older.rows[~is_hidden], older.records[~is_hidden])
            if newer is not None:
                seen = ~np.isin(newer.rows, hidden)
                newer = TransparentRows(newer.rows[seen], newer.records[seen])
    found = [one for one in (newer, older) if one is not None]
    if not found:
        return TransparentRows(NO_ROWS, np.zeros(0, BODY))
    if len(found) == 1 or np.array_equal(found[0].rows, found[1].rows):
        return found[0]
    rows, first = np.unique(np.concatenate([one.rows for one in found]), return_index=True)
    return TransparentRows(rows, np.concatenate([one.records for one in found])[first])


def sorted_runs(order: NDArray[np.intp], keys: NDArray[np.intp], alone: NDArray[np.bool_]) -> SortedRuns:
    """Runs of rows that one draw call draws, in an order from back to front.

    keys: (n,), the same for rows that one draw call may draw. alone: (n,), True for a row that needs its own draw call.
    """
    begins = _begins(keys[order], alone[order])
    if len(begins) > MOST_RUNS:
        order = order[np.argsort(keys[order], kind="stable")]
        begins = _begins(keys[order], alone[order])
    return SortedRuns(order, begins)


def _begins(keys: NDArray[np.intp], alone: NDArray[np.bool_]) -> NDArray[np.intp]:
    """First rows of runs of equal keys, and all rows that are alone."""
    is_first = alone.copy()
    is_first[:1] = True
    is_first[1:] |= keys[1:] != keys[:-1]
    return np.flatnonzero(is_first)


def back_to_front(
    place: NDArray[np.float64],
    to_eye: NDArray[np.float64] | None,
    planes: NDArray[np.intp],
    normals: NDArray[np.float64],
) -> NDArray[np.intp]:
    """Order in which transparent bodies are drawn: the farthest first.

    place: (n, 3), middles from the eye, metres. to_eye: the direction to an orthographic camera's eye; None for
    perspective. planes: (p,), which of them are planes. normals: (p, 3), theirs.
    """
    with np.errstate(all="ignore"):  # records may hold anything; rows that are not finite are not drawn
        nearness = -(place * place).sum(axis=1) if to_eye is None else place @ to_eye
        order = np.argsort(nearness, kind="stable")
        parting = dict(zip(planes[:MOST_PARTING].tolist(), normals, strict=False))
        return _parted(order, place, to_eye, parting)


def _parted(
    order: NDArray[np.intp],
    place: NDArray[np.float64],
    to_eye: NDArray[np.float64] | None,
    parting: dict[int, NDArray[np.float64]],
) -> NDArray[np.intp]:
    """The order, with the bodies beyond each dividing plane before it and all others after it."""
    if not parting or len(order) < 2:
        return order
    plane = next((row for row in parting if (order == row).any()), None)
    if plane is None:
        return order
    left = {row: normal for row, normal in parting.items() if row != plane}
    normal, others = parting[plane], order[order != plane]
    if (normal @ (-place[plane] if to_eye is None else to_eye)) < 0:
        normal = -normal
    is_beyond = (place[others] - place[plane]) @ normal < 0
    beyond, before = (_parted(others[side], place, to_eye, left) for side in (is_beyond, ~is_beyond))
    return np.concatenate([beyond, [plane], before])
