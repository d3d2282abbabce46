"""Files of results: what a flag may name, what JSON holds, and the way out where nothing can be written."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from twixt.ipc.config.files import check_file, write_json, write_text
from twixt.ipc.config.rules import ConfigError
from twixt.ipc.errors import TwixtError


def test_only_a_picture_has_to_be_named_as_one(tmp_path: Path) -> None:
    check_file("--log", str(tmp_path / "frames"))
    with pytest.raises(ConfigError) as refused:
        check_file("--plot", str(tmp_path / "frames"), is_picture=True)
    path = str(tmp_path / "frames")
    assert str(refused.value) == f"--plot writes a PNG file, got {path!r}; name it {path}.png"


def test_json_has_plain_numbers_and_null_for_those_that_are_not_finite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    document = {"p99": math.nan, "counts": (np.int64(3), math.inf), 7: np.float32(0.5)}
    for name, text in ((str(path), path.read_text), ("-", lambda: capsys.readouterr().out)):
        write_json(document, name)
        assert json.loads(text()) == {"p99": None, "counts": [3, None], "7": 0.5}


def test_a_file_that_cannot_be_written_gives_reason_and_way_out(tmp_path: Path) -> None:
    path = str(tmp_path / "no" / "page.md")
    for flag, write in (
        ("--json", lambda: write_json({}, path)),
        ("--out", lambda: write_text(path, "# Title\n")),
        ("--record", lambda: write_text(path, "{}", "--record")),
    ):
        with pytest.raises(TwixtError) as refused:
            write()
        assert str(refused.value) == (
            f"cannot write {path!r}: No such file or directory; for {flag}, name a file in an existing folder with free space"
        )
