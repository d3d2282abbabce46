"""Type errors for systems on which twixt does not run yet: calls that those systems lack."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Most errors of each system that Linux does not have, by `sys.platform`. They only fall: lower a number where a change
# has made it smaller.
MOST_ERRORS = {"darwin": 6, "win32": 45}
ERROR = re.compile(r"^build/types/(twixt/(?:\w+/)*\w+\.py:\d+: error: .*)$", re.MULTILINE)
# In place of numpy, of which everything is Any: its types take four fifths of the time, and no system lacks them. Other
# libraries are not read at all. What mypy finds wrong because of that is found for Linux too.
UNTYPED_NUMPY = "tests/project/untyped_numpy"
CONFIG = """
[mypy]
python_version = 3.11
mypy_path = build/types
ignore_missing_imports = true
check_untyped_defs = true
[mypy-PIL.*,click.*,glfw.*,imgui_bundle.*,matplotlib.*,moderngl.*,mujoco.*,rich.*,trimesh.*,websockets.*]
follow_imports = skip
follow_imports_for_stubs = true
"""


def errors(platform: str, config: Path) -> Counter[str]:
    """mypy's errors in the product. It keeps what it read in a folder of each system's own: all of the product takes
    ten seconds, a change some."""
    options = f"-m mypy -p twixt --platform {platform} --cache-dir .mypy_cache/{platform}"
    command = [sys.executable, *options.split(), "--config-file", str(config)]
    environment = os.environ | {"MYPYPATH": UNTYPED_NUMPY}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert re.search(r"^(Found|Success)", done.stdout, re.MULTILINE), done.stdout + done.stderr
    return Counter(ERROR.findall(done.stdout))


@pytest.mark.slow
def test_other_systems_lack_no_more_than_they_did(tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"
    config.write_text(CONFIG)
    here = errors("linux", config)
    lacking = {platform: errors(platform, config) - here for platform in MOST_ERRORS}
    listed = "\n".join(
        f"{platform}: {error}" for platform, found in lacking.items() for error in sorted(found.elements())
    )
    assert {platform: found.total() for platform, found in lacking.items()} == MOST_ERRORS, listed
