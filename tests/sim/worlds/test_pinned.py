"""The final state of every built-in world, pinned: `twixt sim WORLD --steps 1000 --hash` prints the same for ever.

What a CPU can do decides in which order numpy adds, and with that the last bits; so a pin belongs to a numpy, a kind of
machine and the instructions that numpy uses there. Elsewhere two runs are compared instead, and a warning says so.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import warnings

import numpy as np
import pytest

import twixt
from twixt.sim.world import load_world, state_hash
from twixt.sim.worlds import WORLDS

STEPS = 1000
# What hangs must fail.
PATIENCE_S = 60

EVERY_CPU = {
    "circles": "cb60ec50405f7bab5e0e56677dd9a46a5990c2e995ef2976ddc9517774eb6337",
    "metronome": "7a8aa0cb995b7f2ad4f9859fce6e7b2a16a67a8ee20e24c616060e5c6774d606",
    "spinners": "6224fae93d5a78194c7609302745292647ea7c7da78d6c89ca12face5a190dab",
    "swarm": "5830fa2c15d9a4bb1fc41ae9dc8613b8192b145fc929ed8a19ae006f526d250e",
    "teleporters": "1797c668d692fc6d5864eb5ce52ae1db9dd32638922cac1b052fa2a5d6ab9faf",
    "verlet": "3d63632d2fa9c0fa9de5c700b5a3fa8a867f40ab83121cef4528a90345a73dec",
    "wobble": "d88e9c7a57ef722702422b3cccdc81b462e6b63e15c8b2e57eb2a8e7a3d450ec",
}
# By numpy's version, the machine, and the widest x86-64 level that numpy finds (numpy.show_config).
PINNED = {
    ("2.4.6", "x86_64", "X86_V4"): EVERY_CPU
    | {"balls": "ed244dc98d15794ad32d0a3a2baadb1d12c7f7f84221b0e1be3b2856714c7f80"},
    ("2.4.6", "x86_64", "X86_V3"): EVERY_CPU
    | {"balls": "153bd15282167e74ac9f3cf9c16e1afe4f5c06c3b89cb975243ff5873cec93b0"},
    ("2.4.6", "x86_64", "X86_V2"): EVERY_CPU
    | {
        "balls": "147dc8e16530b8d020bf664da15a90f3687beea98a26ec09c0691e64420e7f78",
        "swarm": "3b3fc719caf4a8103fb3d5ef12fe0a21cebae3e7eba5b65d64410f15f14c7e17",
    },
}

# Each world is run with another thing that must not matter: pacing, publishing, trouble.
HASTE = ("--time-scale", "100")
WORLD_FLAGS = {
    "balls": (*HASTE, "--drop", "30", "--publish-hz", "5"),
    "circles": (*HASTE, "--publish-hz", "1000"),
    "metronome": (*HASTE, "--stall", "50@4", "--delay", "20+-10"),
    "spinners": (*HASTE, "--drop", "50", "--lead", "10000"),
    "swarm": ("--set", "count=2000", *HASTE, "--publish-hz", "0.5"),
    "teleporters": ("--time-scale", "30", "--lead", "200"),
    "verlet": (*HASTE, "--trouble", "mobile"),
    "wobble": (*HASTE, "--slow-physics", "0.1-0.5"),
}


def platform_key() -> tuple[str, str, str]:
    found = np.show_config(mode="dicts")["SIMD Extensions"]  # type: ignore[index]
    levels = [name for name in ("X86_V2", "X86_V3", "X86_V4") if name in [*found["baseline"], *found.get("found", [])]]
    return np.__version__, platform.machine(), levels[-1] if levels else ""


def test_there_is_a_pin_and_a_disturbance_for_every_world() -> None:
    assert set(WORLD_FLAGS) == set(WORLDS)
    assert all(set(pins) == set(WORLDS) for pins in PINNED.values())


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_the_state_after_a_thousand_steps_is_pinned(name: str) -> None:
    flags = WORLD_FLAGS[name]
    command = [sys.executable, str(twixt.__file__), "sim", name, "--name", f"pinned-{name}"]
    ended = subprocess.run(
        [*command, "--steps", str(STEPS), "--hash", *flags], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert ended.returncode == 0, ended.stderr
    pins = PINNED.get(platform_key())
    if pins is None:
        warnings.warn(f"no hashes are pinned for {platform_key()}: two runs are compared instead", stacklevel=1)
    assert ended.stdout.strip() == (hash_without_a_process(name, flags) if pins is None else pins[name])


def hash_without_a_process(name: str, flags: tuple[str, ...]) -> str:
    settings = [tuple(flags[at + 1].split("=")) for at, flag in enumerate(flags) if flag == "--set"]
    world = load_world(name, settings, seed=0)  # type: ignore[arg-type]  # two parts each
    for _ in range(STEPS):
        world.step(world.dt)
    return state_hash(world)


def test_a_world_stepped_by_hand_comes_to_the_same_state() -> None:
    for name in ("spinners", "teleporters"):
        pins = PINNED.get(platform_key(), {})
        made = hash_without_a_process(name, WORLD_FLAGS[name])
        assert pins.get(name, made) == made
