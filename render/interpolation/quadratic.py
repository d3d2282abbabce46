"""Quadratic: the parabola through three snapshots, the interval's own two and the one before.

Needs no velocities and, unlike catmull, nothing newer than the interval: a snapshot that comes later never changes
what is drawn. In return the speed jumps a little where intervals join. Orientations go by rotation vectors, as in
catmull; gaps may be uneven (Lagrange 1795).

Always: exact at the snapshots. A body that came d metres in the gap before (a seconds) and rests in this one (b
seconds) passes its resting place by at most 1/4 d b^2 / (a (a + b)): 1/8 d with even gaps.
Where the snapshot before is missing, the parabola through the one after is drawn; without both, linear.
"""

from __future__ import annotations

import numpy as np

from twixt.render.interpolation.catmull import Catmull
from twixt.render.interpolation.hermite import Floats


class Quadratic(Catmull):
    """The parabola that goes on from the interval before."""

    def end_motions(self, start: Floats, mean: Floats, end: Floats) -> tuple[Floats, Floats]:
        return super().end_motions(start, mean, np.where(np.isnan(start), end, np.nan))
