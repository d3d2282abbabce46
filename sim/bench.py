"""What a publish through `twixt.show` costs, beside the same bytes copied plainly.

What a viewer takes from a loop that it watches is measured by `twixt bench guest`.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.bench import Memcpy, Row, Say, interleaved, rounds_of
from twixt.ipc.layout import MAX_SLOTS
from twixt.ipc.scene import Scene, Sphere
from twixt.ipc.snapshot import BODY
from twixt.sim.show import show

# Bodies shown, and rounds of each: half a second or so.
SHOWN = {1_000: 2000, 10_000: 800, 100_000: 100}
# What is wanted of a publish of `twixt.show`, us.
SHOW_BODY_US, SHOW_US = 0.012, 20


def rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """The rows of the simulation's side. share: of a whole run's rounds. say: told what is measured next."""
    for count, rounds in SHOWN.items():
        for kind in (np.float32, np.float64):
            say(f"twixt.show, {count:,} bodies, {np.dtype(kind).name}")
            yield _shown(count, np.dtype(kind), rounds_of(rounds, share))


def _shown(count: int, kind: np.dtype, rounds: int) -> Row:
    """A publish through `twixt.show`, position and orientation given as arrays of that kind."""
    random = np.random.default_rng(0)
    position = random.random((count, 3)).astype(kind)
    orientation: NDArray[np.floating] = random.normal(size=(count, 4)).astype(kind)
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    with contextlib.redirect_stderr(io.StringIO()):  # nobody is to look at it
        view = show(Scene([Sphere()]), count=count, name=f"bench-{os.getpid()}", viewer=False)
    with view:

        def publish() -> None:
            view.publish(position=position, orientation=orientation)

        for _ in range(MAX_SLOTS):  # a slot is first written whole
            publish()
        published, copied = interleaved(rounds, publish, Memcpy(count * BODY.itemsize))
    note = f"{(published - SHOW_US) / count * 1e3:.1f} ns a body and {SHOW_US} us"
    bar = f"figure <= {SHOW_BODY_US * count + SHOW_US:.0f}"
    return Row(f"show {count:,} bodies, {kind.name}", "us", published, "memcpy", copied, rounds, note, bar=bar)
