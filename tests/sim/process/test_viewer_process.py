"""The viewer's process: start, order, end and exit code, also where other code reaps children."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

import twixt
from tests.ipc.ring.test_memory import in_forked_child
from twixt.ipc.config.flags import Config
from twixt.sim.process.viewer_command import NoViewerProgram
from twixt.sim.process.viewer_process import ViewerProcess, early_viewer, start_viewer

# Generous: these processes start and end within a fraction of a second.
PATIENCE_S = 30.0


def children() -> set[psutil.Process]:
    return set(psutil.Process().children())


@pytest.fixture(autouse=True)
def others() -> Iterator[set[psutil.Process]]:
    """Children of this process that no test here has started. All others are killed in the end, if a test has failed."""
    before = children()
    yield before
    for child in children() - before:
        with suppress(psutil.NoSuchProcess):
            child.kill()


def python(code: str, on_end: object = None) -> ViewerProcess:
    return ViewerProcess([sys.executable, "-c", code], on_end)  # type: ignore[arg-type]


def test_the_exit_code_comes_back_and_says_how_it_ended() -> None:
    viewer = python("raise SystemExit(3)")
    assert viewer.wait(PATIENCE_S) == 3
    assert viewer.poll() == 3
    assert viewer.ending == "exited with code 3"


def test_a_running_viewer_has_no_exit_code_and_ends_when_asked() -> None:
    viewer = python("import time; time.sleep(600)")
    assert viewer.poll() is None
    assert viewer.wait(0.0) is None
    assert viewer.ending == "is running"
    viewer.terminate()
    assert viewer.wait(PATIENCE_S) == -signal.SIGTERM
    assert viewer.ending == "was killed by SIGTERM"


def handles_of_processes() -> set[int]:
    found = set()
    for entry in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{entry}") == "anon_inode:[pidfd]":
                found.add(int(entry))
    return found


def test_its_end_is_noticed_where_other_code_closed_its_descriptors() -> None:
    before = handles_of_processes()
    viewer = python("import time; time.sleep(600)")
    (handle,) = handles_of_processes() - before
    os.close(handle)
    viewer.terminate()  # by a descriptor that is closed: harmless
    os.kill(viewer.pid, signal.SIGTERM)
    assert viewer.wait(PATIENCE_S) == -signal.SIGTERM


def test_one_that_will_not_leave_is_killed() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    viewer = python(code)
    viewer.stop(0.3)
    assert viewer.wait(PATIENCE_S) is not None
    # By SIGTERM if that arrives before the child ignores it.
    assert viewer.ending in ("was killed by SIGKILL", "was killed by SIGTERM")


def test_a_frozen_one_is_killed_at_once_however_patient_the_caller_is() -> None:
    viewer = python("import time; time.sleep(600)")
    os.kill(viewer.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, viewer.pid, os.WSTOPPED | os.WNOWAIT)
    ending = threading.Thread(target=viewer.stop, args=(1e6,), daemon=True)
    ending.start()
    assert viewer.wait(PATIENCE_S) == -signal.SIGKILL
    ending.join(PATIENCE_S)
    assert not ending.is_alive()


def test_one_that_leaves_by_itself_is_not_pushed() -> None:
    assert python("pass").stop(PATIENCE_S) == 0


def test_no_zombie_stays_though_nobody_asks() -> None:
    ended = threading.Event()
    viewer = python("pass", lambda _: ended.set())
    assert ended.wait(PATIENCE_S)
    assert not psutil.pid_exists(viewer.pid) or psutil.Process(viewer.pid).ppid() != os.getpid()


def test_whoever_wants_to_know_is_told_of_the_end() -> None:
    told: list[str] = []
    ended = threading.Event()

    def on_end(viewer: ViewerProcess) -> None:
        told.append(viewer.ending)
        ended.set()

    viewer = python("import os; os.kill(os.getpid(), 9)", on_end)
    assert ended.wait(PATIENCE_S)
    assert told == ["was killed by SIGKILL"]
    viewer.terminate()  # harmless now
    viewer.kill()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """File in which a viewer without a window writes its arguments and its order, once it has received the order."""
    front_door = tmp_path / "front_door.py"
    front_door.write_text(
        "import json, os, sys\n"
        "heard = [sys.argv[1:], os.environ['TWIXT_OWNED'], os.getpid(), sys.stdin.readline(), sys.stdin.read()]\n"
        f"open({str(tmp_path / 'said')!r}, 'w').write(json.dumps(heard))\n"
    )
    monkeypatch.setattr(twixt, "__file__", str(front_door))
    return tmp_path / "said"


def test_the_viewer_is_started_as_an_owned_process_and_told_name_and_config(said: Path) -> None:
    viewer = start_viewer("lab", Config(seed=5))
    assert viewer.wait(PATIENCE_S) == 0
    arguments, owned, _, told, more = json.loads(said.read_text())
    assert (arguments, owned, more) == (["_view"], "1", "")
    assert json.loads(told)["name"] == "lab"
    assert Config.from_json(json.loads(told)["config"]).seed == 5


def test_a_viewer_that_was_begun_early_is_the_one_that_is_told(said: Path) -> None:
    with early_viewer():
        viewer = start_viewer("lab", Config())
        assert viewer.wait(PATIENCE_S) == 0
    _, _, pid, told, _ = json.loads(said.read_text())
    assert pid == viewer.pid
    assert json.loads(told)["name"] == "lab"
    another = start_viewer("lab", Config())
    assert another.wait(PATIENCE_S) == 0
    assert another.pid != viewer.pid


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_one_begun_early_that_nobody_wants_is_gone_at_once_and_shows_nothing(
    said: Path, others: set[psutil.Process]
) -> None:
    with early_viewer():
        assert children() - others
    assert not children() - others
    assert not said.exists()


def test_one_begun_early_whose_run_never_begins_is_ended_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    front_door = tmp_path / "front_door.py"
    front_door.write_text("import time\ntime.sleep(600)\n")
    monkeypatch.setattr(twixt, "__file__", str(front_door))
    with early_viewer():
        viewer = start_viewer("lab", Config())
    assert viewer.wait(PATIENCE_S) == -signal.SIGTERM


def test_a_viewer_that_dies_before_it_is_told_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, others: set[psutil.Process]
) -> None:
    front_door = tmp_path / "front_door.py"
    front_door.write_text("raise SystemExit(3)\n")
    monkeypatch.setattr(twixt, "__file__", str(front_door))
    with early_viewer():
        for child in children() - others:
            with suppress(ChildProcessError):  # reaped already
                os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert start_viewer("lab", Config()).wait(PATIENCE_S) == 3


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This process does not know its own program, and there is no other Python."""
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))


@pytest.mark.usefixtures("no_python")
def test_where_there_is_no_python_no_process_is_started_and_the_way_out_is_told(
    others: set[psutil.Process],
) -> None:
    with early_viewer(), pytest.raises(NoViewerProgram, match="set TWIXT_PYTHON to a Python"):
        start_viewer("lab", Config())
    assert not children() - others


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_a_program_that_cannot_be_started_is_named_and_nothing_is_left_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "python3"
    broken.write_bytes(b"\x7fELF and no more")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.raises(NoViewerProgram, match=f"cannot start the viewer's program '{broken}'"):
        start_viewer("lab", Config())
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_forked_child_never_ends_its_parents_viewer() -> None:
    viewer = python("import time; time.sleep(600)")
    child = os.fork()
    if child == 0:
        viewer.terminate()
        os._exit(0)
    os.waitpid(child, 0)
    assert viewer.poll() is None
    viewer.kill()
    assert viewer.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_forked_child_waits_for_no_viewer_however_patient_it_is() -> None:
    viewer = python("import time; time.sleep(600)")
    assert in_forked_child(lambda: f"{viewer.stop(1e6)} {viewer.wait(1e6)} {viewer.poll()}") == "None None None"
    viewer.kill()
    assert viewer.wait(PATIENCE_S) == -signal.SIGKILL


@contextmanager
def nobody_learns_of_ends() -> Iterator[None]:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, before)


@contextmanager
def a_loop_that_waits_for_all() -> Iterator[None]:
    """A loop of the user's own that reaps all children, and so takes their exit codes."""
    is_over = threading.Event()

    def reap() -> None:
        while not is_over.wait(0.0001):
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)

    thread = threading.Thread(target=reap)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


UNKNOWN = "ended with an unknown exit code, because this process ignores SIGCHLD or waits for every child"


def test_a_viewer_ends_where_nobody_learns_of_the_ends_of_children() -> None:
    with nobody_learns_of_ends():
        viewer = python("import time; time.sleep(600)")
        viewer.kill()
        assert viewer.wait(PATIENCE_S) == 1
        assert viewer.ending == UNKNOWN
        assert viewer.stop(1e6) == 1
        viewer.terminate()  # harmless


def test_a_viewer_ends_where_a_loop_of_the_users_own_waits_for_all_children() -> None:
    with a_loop_that_waits_for_all():
        viewer = python("import time; time.sleep(600)")
        viewer.kill()
        assert viewer.wait(PATIENCE_S) is not None
        assert viewer.ending in (UNKNOWN, "was killed by SIGKILL")  # by which of the two reaped it first
        assert viewer.stop(1e6) is not None


def test_the_exit_code_that_a_viewer_says_itself_is_known_all_the_same(said: Path) -> None:
    front_door = Path(str(twixt.__file__))
    front_door.write_text("import os, sys\nsys.stdin.readline()\nos.write(0, b'3')\nraise SystemExit(3)\n")
    with nobody_learns_of_ends():
        viewer = start_viewer("lab", Config())
        assert viewer.wait(PATIENCE_S) == 3
        assert viewer.ending == "exited with code 3"
