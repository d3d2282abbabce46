"""Watches a mapped screen in a process of its own, and keeps the bodies and markers in its pixels.

`python -m bench view` starts `observe`. It polls the whole screen. A picture counts when two reads in a row are equal,
because a read may catch a picture that is half copied. The instant of a picture is that of the first of these reads.
In each picture the markers are found. Samples are taken at fixed intervals. Only in them the bodies are found, and the
background is compared with that of the sample before. So this process takes about a fifth of a core.

Always: SIGTERM ends the process, which first writes its file.
"""

from __future__ import annotations

import mmap
import signal
import threading
import time
from typing import Any

import numpy as np

from bench.view.pixels import BodyPixels, Pixels, body_pixels, changed_background, marker_pixels

POLL_NS = 2_000_000
# Interval of the samples. At 60 frames a second, this is every fourth picture.
SAMPLE_NS = 66_666_667


def open_screen(path: str) -> Pixels:
    """Live view of the pixels of an Xvfb screen, (height, width). path: file that Xvfb keeps with `-fbdir` (XWD)."""
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    header = np.frombuffer(mapped, ">u4", 25)
    header_size, width, height, bytes_per_line, colors = (int(header[i]) for i in (0, 4, 5, 12, 19))
    start = header_size + colors * 12
    rows = np.frombuffer(mapped, "<u4", height * bytes_per_line // 4, start).reshape(height, bytes_per_line // 4)
    return rows[:, :width]


class Observer:
    """Keeps the pictures of a screen. picture: pixels of the newest picture that was accepted."""

    def __init__(self, screen: Pixels) -> None:
        self._screen = screen
        self.picture = screen.copy()
        self._candidate, self._candidate_ns = self.picture, 0
        self._polled_ns = time.perf_counter_ns()
        self._is_shown = False
        self._sampled: tuple[Pixels, BodyPixels] | None = None
        # One entry for each picture; markers have their own rows.
        self.seen_ns: list[int] = []
        self.longest_gap_ns: list[int] = [0]
        self._markers: list[Any] = []
        # One entry for each sample: its instant, and the number of its picture.
        self.sample_ns: list[int] = []
        self.sample_picture: list[int] = []
        self._samples: list[tuple[int, BodyPixels]] = []

    def poll(self) -> None:
        """Reads the screen once."""
        now_ns = time.perf_counter_ns()
        # Between two polls that are far apart, a picture may have been missed.
        self.longest_gap_ns[-1] = max(self.longest_gap_ns[-1], now_ns - self._polled_ns)
        self._polled_ns = now_ns
        if np.array_equal(self._screen, self.picture):
            self._candidate = self.picture
        elif self._candidate is not self.picture and np.array_equal(self._screen, self._candidate):
            self.picture = self._candidate
            self._is_shown = bool(self.picture.any())  # without a window, the screen is black
            if self._is_shown:
                self.seen_ns.append(self._candidate_ns)
                self.longest_gap_ns.append(0)
                self._markers.append(marker_pixels(self.picture))
        else:
            self._candidate, self._candidate_ns = self._screen.copy(), now_ns

    def sample(self) -> None:
        """Reads bodies and background of the newest picture. Does nothing while there is no window."""
        if not self._is_shown:
            return
        before = self._sampled
        if before is not None and before[0] is self.picture:
            changed, found = 0, before[1]
        else:
            found = body_pixels(self.picture)
            changed = -1
            if before is not None:
                changed = changed_background(before[0], self.picture, found.near | before[1].near)
        self._sampled = self.picture, found
        self.sample_ns.append(time.perf_counter_ns())
        self.sample_picture.append(len(self.seen_ns) - 1)
        self._samples.append((changed, found))

    def save(self, path: str) -> None:
        """Writes everything as numpy's npz."""
        markers, samples = self._markers, [found for _, found in self._samples]
        np.savez(
            path,
            size_px=self._screen.shape[::-1],
            seen_ns=np.array(self.seen_ns, np.int64),
            longest_gap_ns=np.array(self.longest_gap_ns[:-1], np.int64),
            marker_picture=np.repeat(np.arange(len(markers)), [len(found.code) for found in markers]),
            marker_code=np.concatenate([found.code for found in markers] or [np.zeros(0, int)]),
            marker_place=np.concatenate([found.place for found in markers] or [np.zeros((0, 2))]),
            marker_pixels=np.concatenate([found.pixels for found in markers] or [np.zeros(0, int)]),
            sample_ns=np.array(self.sample_ns, np.int64),
            sample_picture=np.array(self.sample_picture, np.int64),
            changed_px=np.array([changed for changed, _ in self._samples], np.int64),
            pixels=np.array([found.pixels for found in samples]),
            on_border=np.array([found.on_border for found in samples]),
            box=np.array([found.box for found in samples]),
            cells=np.array([found.cells for found in samples]),
        )


def observe(screen_file: str, out: str) -> None:
    """Watches a screen until SIGTERM, then writes the npz file `out`. Prints "ready" before its first look."""
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    observer = Observer(open_screen(screen_file))
    print("ready", flush=True)
    next_ns = sample_ns = time.perf_counter_ns()
    while not over.is_set():
        observer.poll()
        if time.perf_counter_ns() >= sample_ns:
            observer.sample()
            sample_ns = max(sample_ns + SAMPLE_NS, time.perf_counter_ns())
        next_ns = max(next_ns + POLL_NS, time.perf_counter_ns())
        time.sleep(max(0, next_ns - time.perf_counter_ns()) / 1e9)
    observer.save(out)
