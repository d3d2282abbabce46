"""Versions that twixt requires: pyproject.toml, the pinned versions, and what messages and pages tell to install."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.test_distribution import EXTRAS, NEEDED_BY, PROJECT, needed
from twixt.ipc.errors import PACKAGES, REQUIREMENTS
from twixt.sim.engines.mujoco.mujoco_package import TESTED

ROOT = Path(__file__).parents[2]
# A line that tells to install this distribution by its name. Until there is a release, it is installed from a checkout.
INSTALLS_TWIXT = re.compile(r"\bpip install\b[^`;()]*?[\s'\"]twixt\b(?!/)")


def test_messages_name_the_versions_of_pyproject() -> None:
    optional = [each for extra in EXTRAS.values() for each in extra]
    assert set(REQUIREMENTS.values()) - set(PROJECT["dependencies"]) == set(optional)
    assert {NEEDED_BY[extra] for extra in EXTRAS} == REQUIREMENTS.keys() - PACKAGES.keys()
    (oldest, newest), mujoco = TESTED, Requirement(REQUIREMENTS["mujoco"])
    assert str(mujoco.specifier) == f"<{newest[0] + 1},>={oldest[0]}.{oldest[1]}"


def pins(file: str) -> dict[str, str]:
    lines = [line.split("==") for line in (ROOT / file).read_text().splitlines() if "==" in line]
    return {canonicalize_name(name): version for name, version in lines}


def test_tested_versions_are_within_those_of_pyproject() -> None:
    tested = pins("requirements.txt") | pins("requirements-dev.txt")
    required = [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]
    for one in map(Requirement, required):
        assert one.specifier.contains(tested[canonicalize_name(one.name)]), one


def test_packages_in_one_environment_have_one_version() -> None:
    """`make docs` and `make mutants` install into the environment of `make setup`."""
    versions: dict[str, set[str]] = {}
    for file in ("requirements.txt", "requirements-dev.txt", "requirements-mutants.txt", "requirements-docs.txt"):
        for name, version in pins(file).items():
            versions.setdefault(name, set()).add(version)
    assert {"sphinx", "myst-parser", "furo", "griffelib", "numpy"} <= versions.keys()
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_make_run_installs_what_running_needs_and_what_installs_twixt_alone() -> None:
    extras = PROJECT["optional-dependencies"]
    assert (
        pins("requirements.txt").keys()
        == needed([*PROJECT["dependencies"], *extras["plot"], *extras["remote"], "hatchling"]).keys()
    )


def test_no_page_or_message_installs_twixt_from_an_index() -> None:
    folders = ("ipc", "sim", "render", "relay", "cli", "bench", "tests", "docs", "examples")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md")]
    files += [path for pattern in ("*.py", "*.md", "*.toml", "*.txt", "Makefile") for path in ROOT.glob(pattern)]
    assert len(files) > 400
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        if path.name != "CHANGELOG.md"
        for line in path.read_text().splitlines()
        if INSTALLS_TWIXT.search(line)
    ]
    assert wrong == []


def test_lines_that_install_twixt_from_an_index_are_found() -> None:
    for line in ("pip install '{name}[mesh]'", "pip install -U {name}", "`python -m pip install {name}-viewer`"):
        assert INSTALLS_TWIXT.search(line.format(name="twixt")), line
    for line in ("pip install '.[mesh]'", "pip uninstall {name} {name}-viewer", "then install {name}-viewer again"):
        assert not INSTALLS_TWIXT.search(line.format(name="twixt")), line
