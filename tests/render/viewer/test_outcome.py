"""What a viewer leaves at its end, on files that cannot be written. Real runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FULL = "/dev/full"


@pytest.mark.skipif(not os.path.exists(FULL), reason="skipped: no file that is always full")
def test_a_report_that_does_not_fit_is_said_and_the_other_files_are_written(tmp_path: Path) -> None:
    plot = tmp_path / "plot.png"
    command = [
        sys.executable, "-P", str(ROOT / "twixt.py"), "measure", "metronome", "--offscreen", "--seconds", "0.2",
        "--json", FULL, "--plot", str(plot),
    ]  # fmt: skip
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 2, ran.stderr
    assert f"twixt: cannot write '{FULL}': No space left on device" in ran.stderr
    assert plot.stat().st_size > 0
    assert "fps" in ran.stdout
