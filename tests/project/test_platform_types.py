"""Type errors for systems on which twixt does not run yet: calls that those systems lack."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Most errors of each system, by `sys.platform`. They only fall: lower a number where a change has made it smaller.
# Linux has none: `make check` runs mypy for it.
MOST_ERRORS = {"darwin": 6, "win32": 45}
ERROR = re.compile(r"^build/types/(twixt/(?:\w+/)*\w+\.py):\d+: error: ", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("platform", MOST_ERRORS)
def test_other_systems_lack_no_more_than_they_did(platform: str) -> None:
    """mypy keeps what it read in a folder of each system's own: all of the product takes half a minute, a change some
    seconds."""
    command = [sys.executable, "-m", "mypy", "--platform", platform, "--cache-dir", f".mypy_cache/{platform}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert re.search(r"^(Found|Success)", done.stdout, re.MULTILINE), done.stdout + done.stderr
    places = ERROR.findall(done.stdout)
    by_file = "\n".join(f"{places.count(place):3} {place}" for place in sorted(set(places)))
    assert len(places) <= MOST_ERRORS[platform], f"{len(places)} errors:\n{by_file}"
    assert len(places) == MOST_ERRORS[platform], f"lower MOST_ERRORS of {platform} to {len(places)}"
