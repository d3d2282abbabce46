"""The final state of every built-in world, pinned where its arithmetic is the same on every processor.

Those worlds have the same hash everywhere: `twixt sim WORLD --steps 1000 --hash`. `swarm` is a product of matrices,
whose last bits depend on the machine: several runs here must have equal bytes, and its final state is compared within a
tolerance.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import twixt
from tests.sim.worlds.stepped import EXACT, SETTINGS, hashes, stepped
from twixt.ipc.snapshot import BODY
from twixt.sim.world.world import filled_bodies, state_hash
from twixt.sim.worlds import WORLDS

HOUSE = Path(twixt.__path__[0])
STEPS = 1000
# A process that hangs must fail, s.
PATIENCE_S = 120

PINNED = {
    "balls": "f71b5a299c43fe667596fa473672f786de02b0285d189748b378eeff2f973684",
    "circles": "cb60ec50405f7bab5e0e56677dd9a46a5990c2e995ef2976ddc9517774eb6337",
    "metronome": "7a8aa0cb995b7f2ad4f9859fce6e7b2a16a67a8ee20e24c616060e5c6774d606",
    "spinners": "6224fae93d5a78194c7609302745292647ea7c7da78d6c89ca12face5a190dab",
    "teleporters": "afe09be24ccb026435a68244e9ec23d33e22e68979ea27f3729cce4ecbd4fbc4",
    "verlet": "603da8d8fdfe05bdd239a24fe4bcc02f1b3b77597f90cd0fb030ab10564319d4",
    "wobble": "d88e9c7a57ef722702422b3cccdc81b462e6b63e15c8b2e57eb2a8e7a3d450ec",
}
# Bodies of the swarm of 2000 after `STEPS` steps: position, orientation, velocity, angular velocity.
FIELDS = ("position", "orientation", "velocity", "angular_velocity")
SWARM = {
    0: (
        (-0.4262885, -0.02249037, -0.05547695),
        (-0.2717131, -0.3867906, 0.6859508, 0.5532057),
        (0.03840083, -0.6548388, 0.0005523229),
        (-0.3860239, 0.2560746, -0.2012765),
    ),
    777: (
        (-1.613498, -1.741362, -0.01481923),
        (0.6764033, -0.2386911, -0.6833625, -0.136091),
        (0.6552404, -0.7387629, -0.01842489),
        (0.9818202, 1.321481, 1.083906),
    ),
    1999: (
        (3.546998, 2.682945, -0.2927356),
        (-0.04183927, -0.6072379, 0.5216119, -0.5978568),
        (-1.067241, 1.135616, -0.0455944),
        (-2.181187, 0.3606248, -0.06936198),
    ),
}
# Rounding of a float32 at the rim of the galaxy, at 6 m, is 5e-7; positions are results of several roundings.
SWARM_OFF = 2e-5

# Flags that must not change the state, others for each world: pacing, publishing, trouble.
HASTE = ("--time-scale", "100")
WORLD_FLAGS = {
    "balls": (*HASTE, "--drop", "30", "--publish-hz", "5"),
    "circles": (*HASTE, "--publish-hz", "1000"),
    "metronome": (*HASTE, "--stall", "50@4", "--delay", "20+-10"),
    "spinners": (*HASTE, "--drop", "50", "--lead", "10000"),
    "swarm": (*HASTE, "--publish-hz", "0.5"),
    "teleporters": ("--time-scale", "30", "--lead", "200"),
    "verlet": (*HASTE, "--trouble", "mobile"),
    "wobble": (*HASTE, "--slow-physics", "0.1-0.5"),
}
SLOW = {"balls", "verlet"}
# Oldest processor for which OpenBLAS has code, by machine; every processor of its kind can run that code.
PLAIN_CORE = {"x86_64": "Nehalem", "aarch64": "ARMV8"}
# Without these instructions glibc's sine of some angles differs. Other C libraries ignore the setting.
NO_FMA = "glibc.cpu.hwcaps=-FMA,-AVX2"
# Functions whose last bits differ between processors. `tan` is allowed: it only places cameras.
INEXACT = re.compile(
    r"sin|cos|exp2?|expm1|log(2|10|1p)?|pow(er)?|hypot|arctan2|atan2|uniform|(standard_)?normal|(standard_)?exponential"
    r"|sum|mean|average|einsum|matmul|inner|vdot|norm|argpartition|prod"
)


def dispatched() -> list[str]:
    """Instruction sets that numpy uses beyond its baseline, from the oldest to the newest."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])  # type: ignore[index]
    return list(found)


def disturbances() -> dict[str, dict[str, str]]:
    """Environments that make libraries compute as on another processor, as far as this one allows."""
    played = {"c-library": {"GLIBC_TUNABLES": NO_FMA}}
    if core := PLAIN_CORE.get(platform.machine()):
        played["c-library"]["OPENBLAS_CORETYPE"] = core
    features = dispatched()
    if features:
        played["numpy"] = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    if len(features) > 1:
        played["numpy-newest"] = {"NPY_DISABLE_CPU_FEATURES": " ".join(features[len(features) // 2 :])}
    return played


def test_there_is_a_disturbance_for_every_world_and_a_pin_for_all_but_the_swarm() -> None:
    assert set(WORLD_FLAGS) == set(WORLDS)
    assert sorted(PINNED) == EXACT


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in sorted(WORLDS)]
)
def test_the_state_after_a_thousand_steps_is_pinned(name: str) -> None:
    command = [sys.executable, str(twixt.__file__), "sim", name, "--name", f"pinned-{name}"]
    settings = [text for key, value in SETTINGS.get(name, ()) for text in ("--set", f"{key}={value}")]
    ended = subprocess.run(
        [*command, *settings, "--steps", str(STEPS), "--hash", *WORLD_FLAGS[name]],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == (PINNED[name] if name in PINNED else state_hash(stepped(name, STEPS)))


def test_a_world_stepped_by_hand_comes_to_the_same_state() -> None:
    for name in ("spinners", "teleporters"):
        assert state_hash(stepped(name, STEPS)) == PINNED[name]


def test_the_swarm_ends_where_it_is_to_end_within_what_rounding_takes() -> None:
    records = filled_bodies(stepped("swarm", STEPS)).records
    for body, there in SWARM.items():
        for field, numbers in zip(FIELDS, there, strict=True):
            assert records[field][body].tolist() == pytest.approx(numbers, abs=SWARM_OFF), (body, field)


@pytest.mark.parametrize("played", ["c-library", "numpy", "numpy-newest"])
def test_another_processor_comes_to_the_same_bytes_and_the_swarm_within_its_tolerance(
    played: str, tmp_path: Path
) -> None:
    environment = disturbances().get(played)
    if environment is None:
        pytest.skip(f"numpy uses nothing here that could be left out: {dispatched()}")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.sim.worlds.stepped", str(tmp_path / "swarm")],
        cwd=HOUSE,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == hashes()
    there, here = np.fromfile(tmp_path / "swarm", BODY), filled_bodies(stepped("swarm")).records
    for field in FIELDS:
        assert np.abs(there[field] - here[field]).max() <= SWARM_OFF


def test_pinned_worlds_call_nothing_whose_last_bits_are_the_processors() -> None:
    solver = [*(HOUSE / "sim" / "contacts").glob("*.py"), HOUSE / "sim" / "reproducible_math.py"]
    for path in sorted([*(HOUSE / "sim" / "worlds").glob("*.py"), *solver]):
        if path.name not in ("galaxy.py", "swarm.py"):
            calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            called = {function.attr for function in calls if isinstance(function, ast.Attribute)}
            assert not list(filter(INEXACT.fullmatch, called)), path.name
