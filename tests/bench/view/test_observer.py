"""The observer of a screen, on screens whose pixels the test writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.view.codes import CODE_OF, MARKER_BITS
from bench.view.observer import Observer, open_screen
from bench.view.view_figures import Observed
from tests.bench.view.test_pixels import SIZE_PX, color_of, picture

BODY = (10, 20, 14, 23, color_of(3))
MARKER = (30, 9, 33, 12, color_of(7, MARKER_BITS))


def saved(observer: Observer, folder: Path) -> Observed:
    observer.save(str(folder / "seen.npz"))
    return Observed.read(str(folder / "seen.npz"))


def test_a_picture_counts_when_two_reads_in_a_row_are_equal(tmp_path: Path) -> None:
    screen = np.zeros(SIZE_PX[::-1], np.uint32)
    observer = Observer(screen)
    screen[:30] = picture(BODY)[:30]  # half copied
    observer.poll()
    screen[:] = picture(BODY, MARKER)
    observer.poll()
    assert not observer.seen_ns
    observer.poll()
    observer.poll()
    seen = saved(observer, tmp_path)
    assert len(seen.seen_ns) == len(seen.longest_gap_ns) == 1
    assert seen.marker_code.tolist() == [CODE_OF[7]]
    assert seen.marker_place.tolist() == [[31.5, 10.5]]


def test_samples_have_bodies_and_the_change_since_the_sample_before(tmp_path: Path) -> None:
    screen = picture(BODY, MARKER)
    observer = Observer(np.zeros_like(screen))
    observer.sample()  # without a window, there is nothing
    observer = Observer(screen)
    for line in (0, 0, 1):
        screen[40 : 40 + line] = 62 << 16 | 67 << 8 | 75
        screen[0, 0] ^= 1  # each picture differs
        observer.poll()
        observer.poll()
        observer.sample()
    observer.sample()
    seen = saved(observer, tmp_path)
    assert seen.sample_picture.tolist() == [0, 1, 2, 2]
    assert seen.changed_px.tolist() == [-1, 1, SIZE_PX[0] + 1, 0]
    assert seen.pixels[:, CODE_OF[3]].tolist() == [12] * 4
    assert seen.box.tolist() == [[10, 20, 14, 23]] * 4
    assert seen.size_px.tolist() == list(SIZE_PX)


def test_a_black_screen_is_no_picture(tmp_path: Path) -> None:
    screen = picture(BODY)
    observer = Observer(screen)
    screen[:] = 0
    observer.poll()
    observer.poll()
    observer.sample()
    seen = saved(observer, tmp_path)
    assert len(seen.seen_ns) == len(seen.sample_ns) == 0


def test_the_pixels_of_a_screen_file_are_found_after_its_header(tmp_path: Path) -> None:
    header = np.zeros(25, ">u4")
    header[[0, 4, 5, 12, 19]] = (100, 3, 2, 16, 1)  # header, width, height, bytes a line, colours
    lines = np.array([[1, 2, 3, 0], [4, 5, 6, 0]], "<u4")
    path = tmp_path / "screen"
    path.write_bytes(header.tobytes() + bytes(12) + lines.tobytes())
    assert open_screen(str(path)).tolist() == [[1, 2, 3], [4, 5, 6]]
