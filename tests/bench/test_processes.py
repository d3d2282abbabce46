"""Parts of the benchmark are measured in processes of their own, with the twixt that runs it."""

from __future__ import annotations

import os
import subprocess

import twixt
from bench.processes import python


def test_a_part_measures_this_very_twixt_wherever_another_is_installed() -> None:
    ran = subprocess.run(
        python("import twixt; print(twixt.__path__[0])"), capture_output=True, text=True, timeout=60, check=True
    )
    assert os.path.samefile(ran.stdout.strip(), twixt.__path__[0])
