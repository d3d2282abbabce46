"""Whether a world's bodies are where something can be drawn: finds the first number that is none, or too large.

Always: changes nothing. Sums first, because looking at every number of a million bodies would be felt.
"""

from __future__ import annotations

import numpy as np

from twixt.sim.bodies import Bodies

# Viewers draw nothing beyond: squares of such numbers overflow.
FARTHEST = 1e30


def sickness(bodies: Bodies, tick: int, world: str) -> str:
    """What is wrong with the first visible body that is nowhere, and what to do; "" while all are well."""
    for name in ("position", "orientation"):
        values = getattr(bodies, name)
        with np.errstate(all="ignore"):
            sums = values.sum(axis=1)
            if len(sums) == 0 or (sums.max() < FARTHEST and sums.min() > -FARTHEST):  # false where one is none
                continue
            sick = np.flatnonzero(~(np.abs(values) < FARTHEST).all(axis=1) & bodies.visible)
        if len(sick):
            numbers = np.array2string(values[sick[0]], separator=", ")
            return (
                f"body {sick[0]} has the {name} {numbers} after step {tick}; "
                f"it is not drawn; look in {world}.step for a division by zero"
            )
    return ""
