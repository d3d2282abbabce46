"""Whether a world's bodies are where something can be drawn: finds the first number that is none.

Always: changes nothing. Sums first, because looking at every number of a million bodies would be felt.
"""

from __future__ import annotations

import numpy as np

from twixt.sim.bodies import Bodies


def sickness(bodies: Bodies, tick: int, world: str) -> str:
    """What is wrong with the first visible body that is nowhere, and what to do; "" while all are well."""
    for name in ("position", "orientation"):
        values = getattr(bodies, name)
        with np.errstate(all="ignore"):
            sums = values.sum(axis=1)
        if np.isfinite(sums.sum()):
            continue
        sick = np.flatnonzero(~np.isfinite(values).all(axis=1) & bodies.visible)
        if len(sick):
            numbers = np.array2string(values[sick[0]], separator=", ")
            return (
                f"body {sick[0]} has the {name} {numbers} after step {tick}; "
                f"it is not drawn; look in {world}.step for a division by zero"
            )
    return ""
