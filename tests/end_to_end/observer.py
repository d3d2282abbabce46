"""An outsider's eye: times every picture on an Xvfb screen from its pixels alone. Imports nothing of twixt.

Xvfb's `-fbdir` keeps the screen as a memory-mapped file (XWD format). A band of rows is read each
millisecond; a picture counts when two reads in a row are equal (one read may catch a half-copied frame),
and its instant is that of the first of the two. Of each picture the bright pixels' centroid is kept.

    observer.py SCREEN_FILE TOP_PX BOTTOM_PX OUT.npz    prints "ready", then watches until standard input ends
"""

from __future__ import annotations

import mmap
import sys
import threading
import time

import numpy as np

POLL_NS = 1_000_000
# Brighter than any background and darker than the lit body, 0..255.
BRIGHT = 100


def open_screen(path: str) -> np.ndarray:
    """The screen's pixels as a live view, shape (height, width, 4), channels blue, green, red, unused."""
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    header = np.frombuffer(mapped, ">u4", 25)
    header_size, width, height, bytes_per_line, colors = (int(header[i]) for i in (0, 4, 5, 12, 19))
    start = header_size + colors * 12
    rows = np.frombuffer(mapped, np.uint8, height * bytes_per_line, start).reshape(height, bytes_per_line)
    return rows[:, : width * 4].reshape(height, width, 4)


def centroid_x(band: np.ndarray) -> float:
    """The mean column of the bright pixels, in pixels from the left edge to pixel centres; NaN without any."""
    brightness = band[:, :, 1].astype(np.float64)
    weight = np.where(brightness > BRIGHT, brightness, 0.0).sum(axis=0)
    total = weight.sum()
    return float((weight * (np.arange(len(weight)) + 0.5)).sum() / total) if total else float("nan")


def watch(band: np.ndarray, over: threading.Event) -> tuple[list[int], list[float]]:
    """Instants (ns of perf_counter) and centroids of the distinct pictures seen until `over`."""
    seen_ns: list[int] = []
    centroids: list[float] = []
    accepted = band.copy()
    candidate, candidate_ns = accepted, 0
    next_ns = time.perf_counter_ns()
    while not over.is_set():
        now_ns = time.perf_counter_ns()
        current = band.copy()
        if np.array_equal(current, accepted):
            candidate = accepted
        elif np.array_equal(current, candidate):
            accepted = current
            seen_ns.append(candidate_ns)
            centroids.append(centroid_x(current))
        else:
            candidate, candidate_ns = current, now_ns
        next_ns = max(next_ns + POLL_NS, now_ns)
        over.wait(max(0, next_ns - time.perf_counter_ns()) / 1e9)
    return seen_ns, centroids


def main() -> None:
    screen_file, top, bottom, out = sys.argv[1:]
    band = open_screen(screen_file)[int(top) : int(bottom)]
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    print("ready", flush=True)
    seen_ns, centroids = watch(band, over)
    np.savez(out, seen_ns=np.array(seen_ns, np.int64), centroid_x=np.array(centroids))


if __name__ == "__main__":
    main()
