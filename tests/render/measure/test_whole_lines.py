"""A file of whole lines ends between two of them, wherever the room ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.full_disk import no_file_larger_than
from twixt.render.measure.frame_log import WholeLines

LINES = [f"line {number} of many\r\n" for number in range(300)]


@pytest.mark.parametrize("piece_bytes", [1, 100, 1 << 16])
def test_every_line_is_there_in_order(tmp_path: Path, piece_bytes: int) -> None:
    file = WholeLines(str(tmp_path / "lines"), piece_bytes)
    for line in LINES:
        file.write(line)
    file.close()
    file.close()
    assert (tmp_path / "lines").read_bytes().decode() == "".join(LINES)


@pytest.mark.parametrize("piece_bytes", [1, 100, 1 << 16])
@pytest.mark.parametrize("room", [0, 5, 999, 1000, 1001, 2000])
def test_where_there_is_no_more_room_it_ends_with_a_whole_line(tmp_path: Path, piece_bytes: int, room: int) -> None:
    file = WholeLines(str(tmp_path / "lines"), piece_bytes)
    with no_file_larger_than(room), pytest.raises(OSError, match="File too large"):
        for line in LINES:
            file.write(line)
        file.close()
    file.close()
    text = (tmp_path / "lines").read_bytes().decode()
    assert "".join(LINES).startswith(text)
    assert not text or text.endswith("\r\n")
    assert room - len(text) < max(map(len, LINES)), "what fits is kept"
