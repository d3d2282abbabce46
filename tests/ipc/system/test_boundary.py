"""One boundary to the operating system: what only some systems have is named in `ipc/system` alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from tests.project.house_imports import PARTS, modules_of
from twixt.ipc import system
from twixt.ipc.errors import REFUSED
from twixt.ipc.system.interface import System

ROOT = Path(__file__).parents[3]
BOUNDARY = ROOT / "ipc" / "system"
OF_SOME_SYSTEMS = re.compile(r"(?i)memfd|\bF_\w*SEALS?\b|\bF_SEAL_|SCM_RIGHTS|SO_PEERCRED|pidfd|waitid\b|\bMSG_[A-Z_]+")


def named_outside(texts: dict[str, str]) -> list[str]:
    return [
        f"{place}:{number}: {line.strip()}"
        for place, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if OF_SOME_SYSTEMS.search(line)
    ]


def test_what_only_some_systems_have_is_found() -> None:
    lines = ["socket.SCM_RIGHTS", "os.memfd_create(n)", "fcntl.F_ADD_SEALS", "os.pidfd_open(1)", "os.waitid(1, 2, 3)"]
    lines += ["socket.SO_PEERCRED", "getattr(socket, 'MSG_DONTWAIT')", "F_SEAL_SHRINK", "fcntl.F_GET_SEALS"]
    assert len(named_outside({"a.py": "\n".join(lines)})) == len(lines)
    assert named_outside({"a.py": "MESSAGES = 1\nos.waitpid(1, 0)\nsealed = message"}) == []


def test_no_module_outside_names_what_only_some_systems_have() -> None:
    paths = [path for path in modules_of(ROOT, PARTS).values() if not path.is_relative_to(BOUNDARY)]
    assert len(paths) > 100
    assert named_outside({str(path.relative_to(ROOT)): path.read_text() for path in paths}) == []


def test_a_system_has_every_part_and_each_part_all_of_its_functions() -> None:
    missing = [
        f"{part}.{name}"
        for part, protocol in get_type_hints(System).items()
        for name in members_of(protocol)
        if not hasattr(getattr(system, part), name)
    ]
    assert (list(get_type_hints(System)), missing) == (["memory", "names", "wakes", "children"], [])


def members_of(protocol: type) -> list[str]:
    return [name for name in (*vars(protocol), *protocol.__annotations__) if not name.startswith("_")]


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_another_system_is_refused_with_the_way_out(platform: str) -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import twixt; sys.platform = {platform!r}\n"
    code += "sys.exit(twixt.main(['run', 'balls']))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == f"twixt: twixt runs only on Linux, and this system is {platform!r}; run it on Linux\n"
    assert done.returncode == REFUSED
