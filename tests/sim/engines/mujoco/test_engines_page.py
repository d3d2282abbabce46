"""docs/engines.md names all that MuJoCo's viewer has, and what it says holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import twixt
from tests.sim.engines.mujoco.models import Launch

mujoco = pytest.importorskip("mujoco")
viewer = pytest.importorskip("mujoco.viewer")

PAGE = (Path(twixt.__file__).parent / "docs" / "engines.md").read_text()
NEWEST = mujoco.__version__.startswith("4.0.")
VERDICTS = {"works", "differs", "no effect"}


def table(head: str) -> dict[str, str]:
    """Names and verdicts of the table whose first column is headed so."""
    lines = PAGE[PAGE.index(f"| {head} |") :].splitlines()[2:]
    found: dict[str, str] = {}
    for line in lines:
        if not line.startswith("|"):
            break
        names, verdict = line.strip("|").split("|")[:2]
        found |= dict.fromkeys(re.findall(r"`([^`]+)`", names), verdict.strip())
    return found


def names_of(kind: Any) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def flags() -> set[str]:
    enums = mujoco.mjtVisFlag, mujoco.mjtRndFlag
    return {name for enum in enums for name in enum.__members__ if not name.startswith("mjN")}


def geoms() -> set[str]:
    """Those that a model can have; kinds from 100 on are for drawing alone."""
    return {name for name, kind in mujoco.mjtGeom.__members__.items() if int(kind) < 100 and not name.startswith("mjN")}


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("launcher", {"launch", "launch_from_path", "launch_passive"}),
        ("handle", names_of(viewer.Handle)),
        ("field of `cam`", names_of(mujoco.MjvCamera)),
        ("field of `opt`", names_of(mujoco.MjvOption)),
        ("flag", flags()),
        ("kind of geom", geoms()),
    ],
)
def test_every_name_stands_in_its_table(head: str, names: set[str]) -> None:
    listed = table(head)
    assert sorted(names - listed.keys()) == []
    assert set(listed.values()) <= VERDICTS
    if NEWEST:
        assert sorted(listed.keys() - names) == []


def test_a_flag_that_has_no_effect_says_so(launch: Launch, capfd: pytest.CaptureFixture[str]) -> None:
    handle, reader = launch(publish_hz=1e6)
    unsaid = {name for name, verdict in table("flag").items() if verdict == "no effect"}
    handle.opt.flags[:] = 1 - handle.opt.flags
    handle.user_scn.flags[:] = 1 - handle.user_scn.flags
    handle.opt.label = mujoco.mjtLabel.mjLABEL_CONTACTFORCE
    said = ""

    def is_said() -> bool:
        nonlocal said
        handle.sync()  # one that comes while another thread publishes says nothing
        said += capfd.readouterr().err
        return "user_scn.flags" in said

    reader.until(is_said)
    for name in unsaid & set(mujoco.mjtVisFlag.__members__):
        assert f"opt.flags[{name}]: no effect yet" in said
    assert unsaid & set(mujoco.mjtRndFlag.__members__)
    for name in mujoco.mjtRndFlag.__members__.keys() - {"mjNRNDFLAG"}:
        assert (f"user_scn.flags[{name}]: no effect yet" in said) == (name in unsaid)
    assert f"opt.label={int(mujoco.mjtLabel.mjLABEL_CONTACTFORCE)}: no effect yet" in said
