"""What every test may ask for: the displays of `tests/displays/rigs.py`, and a folder in which the user stands.

Properties are tried without a clock: how fast a busy machine makes examples is nobody's fault.
The environment is no desktop's; names of simulations and the cache of meshes are in a folder of these tests' own.
Signals are as a terminal gives them, though a job in the background is made to ignore Ctrl-C, and so are its children.
No test needs another one before it: `make test ARGS=--reverse` runs them from the last to the first.
"""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.displays.rigs import sway_display, sway_rig, xvfb_display, xvfb_screen
from tests.forked import Forks, forks
from tests.starvation import skipped_where_starved
from twixt.ipc.process import user_code

__all__ = ["sway_display", "sway_rig", "xvfb_display", "xvfb_screen"]

settings.register_profile("untimed", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# What a desktop, a terminal, `make` or a developer sets, and what programs do or say differently for it. With these
# goes every PYTHON... of the environment.
DESKTOP = (
    "DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_SESSION_TYPE", "COLUMNS", "LINES",
    "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "MAKEFLAGS", "MFLAGS", "MAKELEVEL",
)  # fmt: skip

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by `nohup`
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())


def pytest_configure(config: pytest.Config) -> None:
    for name in [name for name in os.environ if name in DESKTOP or name.startswith("PYTHON")]:
        del os.environ[name]
    folder = tempfile.TemporaryDirectory(prefix="twixt-tests-", dir="/tmp")  # short: a socket's path ends at 107 bytes
    config.add_cleanup(folder.cleanup)
    os.environ["XDG_RUNTIME_DIR"] = folder.name
    os.environ["TWIXT_CACHE"] = os.path.join(folder.name, "cache")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reverse", action="store_true", help="from the last test to the first")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--reverse"):
        items.reverse()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Finds all tests without collections of garbage: of eleven thousand tests none is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("starvable") is None:
        return (yield)
    with skipped_where_starved():
        return (yield)


@pytest.fixture(scope="module", autouse=True)
def set_aside() -> None:
    """What earlier files left alive, the list of all tests above all, is not looked through at each collection of
    garbage: with nine thousand tests in the list one takes 0.35 s."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def forked() -> Iterator[Forks]:
    """Commands of twixt that end by themselves, without the time of a start."""
    with forks() as runs:
        yield runs


@pytest.fixture
def users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder in which the user stands; what is imported from it is forgotten afterwards. No simulation is
    viewed whose folders are searched too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(user_code, "_folders", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
