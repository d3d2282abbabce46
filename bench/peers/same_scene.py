"""Common scene and measurement of `python -m bench peers`. Runs in the viewer's process and prints one line of JSON.

If a viewer draws on the thread that steps, its `draw` makes a frame. If it has its own thread or process for drawing,
`draw` does nothing. `fps` counts drawn frames, not calls of `draw`.
"""

from __future__ import annotations

import importlib
import json
import math
import statistics
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.render.draw.frame import context

STATES_HZ = 30
SIZE_PX = (800, 600)
# Work in one step of the simulation: size of the matrices, and number of products. It takes one core about 2 ms.
MATRIX, PRODUCTS = 160, 8
SETTLING_S = 1.0

Positions = NDArray[np.float32]


class Viewer(Protocol):
    """Interface of a viewer. Its constructor takes the number of spheres and their radius in metres."""

    def push(self, positions: Positions) -> None:
        """Hands a state over to the viewer: positions, shape (n, 3), metres."""

    def draw(self) -> None:
        """Makes a frame. Does nothing if another thread or process draws."""

    def fps(self, begin_ns: int, end_ns: int) -> float:
        """Frames per second from `begin_ns` to `end_ns`."""

    def close(self) -> None:
        """Closes the viewer."""


def measure(name: str, count: int, seconds: float) -> None:
    """Measures the viewer of that name. Prints fps; publish_ms, the median time to hand over a state; shown_ms and
    alone_ms, the mean time of a step with the viewer and without."""
    context.prepare_driver()  # gives all viewers the same number of drawing threads
    alone_ms = _step_ms(seconds / 2, lambda: None)
    module = importlib.import_module(f"bench.peers.{name}")
    viewer: Viewer = module.open_viewer(count, radius_m(count))
    try:
        states = SwingingSpheres(count)
        pushed_ms: list[float] = []

        def push() -> None:
            positions = states.next()
            begin_ns = time.perf_counter_ns()
            viewer.push(positions)
            pushed_ms.append((time.perf_counter_ns() - begin_ns) / 1e6)

        _play(SETTLING_S, push, viewer.draw)
        begin_ns = time.perf_counter_ns()
        _play(seconds, push, viewer.draw)
        end_ns = time.perf_counter_ns()

        def show() -> None:
            push()
            viewer.draw()

        pushed_ms.clear()
        shown_ms = _step_ms(seconds, show)
        publish_ms = statistics.median(pushed_ms)
    finally:
        viewer.close()
    alone_ms = (alone_ms + _step_ms(seconds / 2, lambda: None)) / 2
    fps = viewer.fps(begin_ns, end_ns)
    print(json.dumps({"fps": fps, "publish_ms": publish_ms, "shown_ms": shown_ms, "alone_ms": alone_ms}), flush=True)


def radius_m(count: int) -> float:
    """Radius in metres of each of `count` spheres in a box of 2 m."""
    return 0.06 * (count / 1000) ** -0.26


class SwingingSpheres:
    """Spheres that swing about their places in a box of 2 m."""

    def __init__(self, count: int) -> None:
        random = np.random.default_rng(0)
        self._places = random.uniform(-1, 1, (count, 3)).astype(np.float32)
        self._swing = random.normal(0, 0.1, (count, 3)).astype(np.float32)
        self._number = 0

    def next(self) -> Positions:
        """Positions in the next state, shape (count, 3), metres."""
        self._number += 1
        positions: Positions = self._places + self._swing * np.float32(math.sin(self._number / STATES_HZ))
        return positions


def fps_of(instants_ns: ArrayLike, begin_ns: int, end_ns: int) -> float:
    """Frames per second from `begin_ns` to `end_ns`. instants_ns: one instant for each frame."""
    frames = np.asarray(instants_ns, np.int64)
    return np.count_nonzero((frames >= begin_ns) & (frames < end_ns)) / (end_ns - begin_ns) * 1e9


def _play(seconds: float, push: Callable[[], object], draw: Callable[[], object]) -> None:
    """Pushes states at STATES_HZ and draws without pause for `seconds`."""
    begin_s = next_s = time.perf_counter()
    while (now_s := time.perf_counter()) < begin_s + seconds:
        if now_s >= next_s:
            next_s += 1 / STATES_HZ
            push()
        before_s = time.perf_counter()
        draw()
        if time.perf_counter() - before_s < 1e-3:  # another thread or process draws
            time.sleep(1e-3)


def _step_ms(seconds: float, show: Callable[[], object]) -> float:
    """Mean time (ms) of a step of a simulation that never waits and calls `show` 30 times a second."""
    matrix = np.random.default_rng(0).random((MATRIX, MATRIX)) / MATRIX
    begin_s = next_s = time.perf_counter()
    steps = 0
    while (now_s := time.perf_counter()) < begin_s + seconds:
        if now_s >= next_s:
            next_s = max(next_s + 1 / STATES_HZ, now_s)
            show()
        for _ in range(PRODUCTS):
            matrix = np.einsum("ij,jk->ik", matrix, matrix) + 0.5  # einsum uses one core in every build of numpy
            matrix /= matrix.max() * MATRIX
        steps += 1
    return (time.perf_counter() - begin_s) / steps * 1e3
