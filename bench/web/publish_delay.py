"""Time from publishing a snapshot to its arrival in the page and to the first frame that it takes part in. Pure.

From the columns of the page's frame log: its instants are by the server's clock, which is that of the simulation. A
frame counts as drawn when its script has handed all drawing to the browser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

NAMES = (
    "presentNs", "refreshMs", "latenessMs", "workMs", "newestPublishedNs", "newestArrivalNs", "usedPublishedNs"
)  # fmt: skip
# Columns of the last seconds, as an expression for the page: their numbers by their names.
COLUMNS = f"Object.fromEntries({json.dumps(NAMES)}.map((name) => [name, [...twixt.frameLog.column(name, %s)]]))"


def publish_delays(columns: Mapping[str, ArrayLike]) -> dict[str, dict[str, float]]:
    """Quantiles in ms of the times from publishing to `arrival`, to `drawn` (the end of the first frame whose two
    snapshots include it), and to `present` (the instant for which that frame was drawn). Snapshots that no frame found
    as the newest, or used, do not count."""
    log = {name: np.asarray(columns[name], np.float64) for name in NAMES}
    drawn_ns = log["presentNs"] + (log["latenessMs"] + log["workMs"] - log["refreshMs"]) * 1e6
    newest, used = log["newestPublishedNs"], log["usedPublishedNs"]
    return {
        "arrival": _quantiles(_firsts(newest, log["newestArrivalNs"])),
        "drawn": _quantiles(_firsts(used, drawn_ns)),
        "present": _quantiles(_firsts(used, log["presentNs"])),
    }


def _firsts(published_ns: NDArray[np.float64], instants_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Times in ms from each publish instant to the instant of its first row. The first value of the log is left out,
    because its first row may have been before."""
    values, first = np.unique(published_ns, return_index=True)
    counts = (first > 0) & (values > 0)
    return (instants_ns[first] - values)[counts] / 1e6


def _quantiles(values_ms: NDArray[np.float64]) -> dict[str, float]:
    if not len(values_ms):
        return {}
    return {f"p{share}": float(np.percentile(values_ms, share)) for share in (50, 99)} | {"max": float(values_ms.max())}
