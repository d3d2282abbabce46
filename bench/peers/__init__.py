"""`python -m bench peers`: compares twixt with other viewers on the same scene.

Each viewer runs in its own process and is used as its guide shows. If it hangs or is not installed, a row tells this.
same_scene: the scene and the measurement (frames per second at 30 states per second, cost of handing over a state,
slowdown of a loop). mujoco, twixt, vispy: adapters, which can be imported without the viewer.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.child_process import process, python
from bench.rows import Row
from twixt.cli.progress import Say
from twixt.ipc.errors import TwixtError

COUNTS, QUICK_COUNTS = (1_000, 10_000), (200,)
# Longest time to measure one viewer with one number of bodies, s.
TIMEOUT_S = 60.0
OURS = "twixt"


class Peer(NamedTuple):
    """Another viewer. module: name of its Python module. pip: argument for `pip install`. used: text for the row's
    note that tells how it is used here."""

    module: str
    pip: str
    used: str


# Name -> viewer. The module of the same name in this folder is its adapter.
PEERS = {
    "mujoco": Peer("mujoco", "mujoco", "launch_passive; fps by mjr_render in a window, as the viewer tells none"),
    "vispy": Peer("vispy", "vispy glfw", "scene.visuals.Markers(spherical=True), drawn by the thread that steps"),
}


def peer_rows(share: float = 1.0, say: Say = str) -> Iterator[Row]:
    """Three rows for each viewer and number of bodies, compared with twixt on the same scene. share: if below 1, few
    bodies and a short run."""
    counts, seconds = (COUNTS, 4.0) if share >= 1 else (QUICK_COUNTS, 0.3)
    there = {name: peer for name, peer in PEERS.items() if importlib.util.find_spec(peer.module) is not None}
    for name, peer in PEERS.items():
        if name not in there:
            yield Row(name, "", None, OURS, None, 0, f"not installed; to get it: pip install {peer.pip}")
    for count in counts if there else ():
        say(f"{OURS}, {count:,} spheres")
        ours = _measured(OURS, count, seconds)
        for name, peer in there.items():
            say(f"{name}, {count:,} spheres")
            what = f"{name}, {count:,} spheres"
            try:
                yield from _rows(what, _measured(name, count, seconds), ours, peer.used)
            except TwixtError as error:
                yield Row(what, "", None, OURS, None, 0, f"not measured: {error}")


def _rows(what: str, found: dict[str, Any], ours: dict[str, Any], used: str) -> Iterator[Row]:
    yield Row(f"{what}: drawn", "fps", found["fps"], OURS, ours["fps"], 1, used)
    yield Row(f"{what}: a state handed over", "ms", found["publish_ms"], OURS, ours["publish_ms"], 1)
    slowed = (found["shown_ms"] / found["alone_ms"] - 1, ours["shown_ms"] / ours["alone_ms"] - 1)
    yield Row(
        f"{what}: a step while shown", "ms", found["shown_ms"], "a step alone", found["alone_ms"], 1,
        f"slowed by {slowed[0]:.0%}; with {OURS} by {slowed[1]:.0%}",
    )  # fmt: skip


def _measured(name: str, count: int, seconds: float) -> dict[str, Any]:
    code = f"from bench.peers.same_scene import measure\nmeasure({name!r}, {count}, {seconds})"
    with process(python(code)) as child:
        child.wait(TIMEOUT_S)
        return dict(json.loads(child.out.splitlines()[-1]))
