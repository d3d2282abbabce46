"""Some inputs of each kind in every run of the tests; `make fuzz` makes a hundred thousand."""

from __future__ import annotations

import pytest

from tests.long.hostile.fuzz import run
from tests.long.hostile.targets import SLOW, TARGETS

pytestmark = pytest.mark.slow

COUNT, SEED = 500, 1
# Of the process, over all inputs after the first: what an input allocates is given back.
MOST_GROWN_MIB = 150


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_crashes_hangs_or_takes_memory_without_bound(name: str) -> None:
    figures = run(name, COUNT, SEED)
    print(f"{name}, seed {SEED}: {figures}")
    assert figures["exit_code"] == 0, figures["said"]
    assert figures["inputs"] == -(-COUNT // SLOW.get(name, 1))
    assert 0 < figures["refused"] < COUNT or name == "to-host"  # both ways were gone
    assert figures["grown_mib"] < MOST_GROWN_MIB
