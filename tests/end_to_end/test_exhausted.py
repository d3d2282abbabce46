"""When something runs out (disk, descriptors, memory, the display), the run says so and goes on, or never begins."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from tests.displays.rigs import Display
from tests.end_to_end.processes import FRONT_DOOR, PATIENCE_S, Run, Starter, focus, memories, one_line, starter, until
from tests.newest import newest
from twixt.ipc.session import attach
from twixt.render.measure.frame_log import read_log

pytestmark = pytest.mark.slow

SMALL = ("--size", "160x120")

# Grows, by a hundred bodies a step, out of the memory that it began with. Its last steps wait until it was seen.
GROWS = """
import os
from time import sleep
from twixt import Bodies, Scene, Sphere, World

class Grows(World):
    def __init__(self):
        self.bodies, self.scene, self.made = Bodies(2200), Scene([Sphere()] * 2200), 0
    def step(self, dt):
        self.made += 1
        while self.made == 110 and not os.path.exists("seen"):
            sleep(0.002)
        self.bodies.position[:, 0] += dt
        for _ in range(100 if self.made > 10 else 0):
            self.bodies.spawn((self.made, 0, 0))
"""


GROWS_ON_CUE = """
import os
from twixt import Bodies, Scene, Sphere, World

class Cue(World):
    def __init__(self):
        self.bodies, self.scene = Bodies(1000), Scene([Sphere()] * 1000)
    def step(self, dt):
        if os.path.exists("grow") and len(self.bodies) == 1000:
            for _ in range(500):
                self.bodies.spawn()
"""


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Starter]:
    """Starts `twixt` without a display; links of this process find what it starts."""
    displayless = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with starter(tmp_path, displayless) as starts:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(starts.runtime_folder))
        yield starts


def limited(start: Starter, limit: str, *arguments: str) -> Run:
    """`twixt ARGUMENTS` under a limit of the shell's `ulimit`. Of modules that it compiles Python would keep a part."""
    command = shlex.join([sys.executable, FRONT_DOOR, *arguments])
    return start.start(["bash", "-c", f"ulimit {limit}; exec {command}"], PYTHONDONTWRITEBYTECODE="1")


def simulation(start: Starter, *arguments: str) -> Run:
    run = start("sim", *arguments, "--name", "lab")
    until(lambda: memories(set(run.pids())), "the simulation has made its memory")
    return run


def test_a_disk_that_fills_ends_the_log_with_a_whole_row_and_not_the_run(start: Starter) -> None:
    lab = simulation(start, "balls")
    files = ("--log", "frames.csv", "--screenshot", "picture.png", "--at", "1")
    # In units of 1024 bytes: some rows of the log fit, and no picture.
    view = limited(start, "-f 20", "view", "lab", "--offscreen", "--no-overlay", *files)
    log = start.folder / "frames.csv"
    until(lambda: log.exists() and log.stat().st_size > 19 * 1024, "the disk is full")  # after some two seconds
    view.interrupt()
    assert view.end() == 130, view.err
    assert len(view.err.splitlines()) == view.err.count("File too large") == 2, view.err
    assert "twixt: no screenshot: cannot write the screenshot 'picture.png'" in view.err
    assert "twixt: the frame log ends" in view.err
    assert not (start.folder / "picture.png").exists(), "half a picture is none"
    text = (start.folder / "frames.csv").read_bytes()
    assert len(text) <= 20 * 1024
    assert text.endswith(b"\n")
    rows = read_log(start.folder / "frames.csv")
    assert len(rows) == text.count(b"\n") - 1 > 20
    assert (np.diff(rows["frame"]) == 1).all()
    assert lab.process.poll() is None


@pytest.mark.parametrize("most", [6, 8, 10])
def test_a_simulation_that_may_open_no_more_files_is_refused_in_one_line(start: Starter, most: int) -> None:
    run = limited(start, f"-n {most}", "sim", "metronome", "--steps", "5")
    assert run.end() in (1, 2)
    assert "Too many open files" in one_line(run)
    assert run.left() == []


@pytest.mark.parametrize("most", [8, 14])
def test_a_viewer_that_may_open_no_more_files_harms_nobody(start: Starter, most: int) -> None:
    lab = simulation(start, "metronome")
    run = limited(start, f"-n {most}", "view", "lab", "--offscreen", "--no-overlay", *SMALL, "--seconds", "0.2")
    code = run.end()
    assert code in (0, 2), run.err
    assert "Traceback" not in run.err
    assert lab.process.poll() is None


def test_a_simulation_out_of_descriptors_goes_on_and_lets_viewers_in_when_there_are_some(start: Starter) -> None:
    lab = limited(start, "-n 24", "sim", "metronome", "--name", "lab")
    until(lambda: memories(set(lab.pids())), "the simulation has made its memory")
    links = []
    try:
        for _ in range(8):
            try:
                links.append(attach("lab", timeout_s=0.5))
            except Exception as error:
                refused = str(error)
                break
        else:
            pytest.fail("24 descriptors were enough for eight viewers")
        assert links
        assert "Traceback" not in refused
        for link in links:
            assert link.ended is None
    finally:
        for link in links:
            link.close()
    with closing(attach("lab", timeout_s=PATIENCE_S)) as link:
        begun = link.status.get("tick", 0)
        until(lambda: link.poll() or link.status.get("tick", 0) > begun + 20, "it goes on")
    lab.interrupt()
    assert lab.end() == 130
    assert "Traceback" not in lab.err
    assert lab.left() == []


@pytest.mark.parametrize("module", ["cli/flags", "sim/worlds/__init__"])
def test_a_compiled_module_that_a_full_disk_has_cut_is_named_and_is_no_ctrl_c(start: Starter, module: str) -> None:
    compiled = {"PYTHONPYCACHEPREFIX": str(start.folder / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    assert start("worlds", **compiled).end() == 0
    (cut,) = (start.folder / "compiled").rglob(f"{module}.*.pyc")
    os.truncate(cut, cut.stat().st_size // 2)
    run = start("worlds", **compiled)
    assert run.end() == 2, run.err
    assert "Traceback" not in run.err
    assert run.err.strip().startswith(f"twixt: the compiled Python module {str(cut)!r} is damaged (")
    cut.unlink()
    assert start("worlds", **compiled).end() == 0


def test_no_memory_to_begin_with_is_refused_before_anything_is_promised(start: Starter) -> None:
    run = limited(start, "-f 1000", "sim", "swarm", "--set", "count=100000", "--steps", "5")
    assert run.end() == 2
    one_line(run, "bytes of shared memory", "use fewer bodies")
    assert run.left() == []


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group whose processes may take 160 MiB together, where this machine lets one be made."""
    tops = {"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"}
    for top, limit in tops.items():
        group = Path(top, f"twixt-test-{os.getpid()}")
        with suppress(OSError):
            group.mkdir()
            try:
                if not (group / limit).exists():
                    continue  # a folder like any other
                (group / limit).write_text(str(160 << 20))
                yield group
                return
            finally:
                until(lambda group=group: not (group / "cgroup.procs").read_text(), "its processes have ended")  # type: ignore[misc]
                group.rmdir()
    pytest.skip("no memory control group can be made here; as root on Linux one can")


def test_more_than_its_control_group_leaves_is_refused_with_both_figures(start: Starter, memory_group: Path) -> None:
    command = shlex.join([sys.executable, FRONT_DOOR, "sim", "swarm", "--set", "count=1000000", "--steps", "3"])
    run = start.start(["bash", "-c", f"echo $$ > {memory_group}/cgroup.procs; exec {command}"])
    assert run.end() == 2
    one_line(run, "1,000,000 bodies would need 305 MiB", "MiB are free; use fewer bodies")
    assert run.left() == []


def test_no_memory_to_grow_into_is_said_once_and_the_old_segment_goes_on(start: Starter) -> None:
    (start.folder / "grows.py").write_text(GROWS)
    free = start("sim", "grows:Grows", "--steps", "120", "--hash", "--name", "free")
    # Of 1024 bytes each: 2,300 bodies in sixteen slots, and not 2,400. The ring buffer of events takes 2,068.
    run = limited(
        start, "-f 2400", "sim", "grows:Grows", "--steps", "120", "--hash", "--json", "figures.json", "--name", "lab"
    )
    until(lambda: memories(set(run.pids())), "the simulation has made its memory")
    with closing(attach("lab", timeout_s=PATIENCE_S)) as link:
        until(lambda: link.poll() or link.status.get("warning"), "viewers are told")
        # How many there are by then depends on how long the attempt to make room took.
        told = r"viewers are shown 2,300 of [\d,]+ bodies, because memory is insufficient"
        assert re.match(told, link.status["warning"]), link.status["warning"]
        until(lambda: link.poll() or len(link.newest_bodies()) == 2300, "the first are shown")
        shown_ns = newest(link).sim_time_ns
        (start.folder / "seen").touch()
        newest(link, lambda snapshot: snapshot.sim_time_ns > shown_ns)  # they go on
    assert (free.end(), run.end()) == (0, 0)
    one_line(run, "viewers are shown 2,300 of", "cannot allocate")
    assert run.out == free.out, "the world is as it would have been"
    assert json.loads((start.folder / "figures.json").read_text())["physics"]["published"] > 20
    assert run.left() == []


def test_no_descriptors_to_grow_with_are_said_and_once_there_are_some_it_grows(start: Starter) -> None:
    (start.folder / "cue.py").write_text(GROWS_ON_CUE)
    lab = simulation(start, "cue:Cue")
    with closing(attach("lab", timeout_s=PATIENCE_S)) as link:
        held = max(int(name) for name in os.listdir(f"/proc/{lab.process.pid}/fd"))
        before = resource.prlimit(lab.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(lab.process.pid, resource.RLIMIT_NOFILE, (held + 1, before[1]))
        (start.folder / "grow").touch()
        until(lambda: link.poll() or link.status.get("warning"), "viewers are told")
        assert "viewers are shown 1,000 of 1,500 bodies" in link.status["warning"]
        assert "Too many open files" in link.status["warning"]
        shown_ns = newest(link).sim_time_ns
        newest(link, lambda snapshot: snapshot.sim_time_ns > shown_ns)  # what fits goes on
        resource.prlimit(lab.process.pid, resource.RLIMIT_NOFILE, before)
        until(lambda: link.poll() or len(link.newest_bodies()) == 1500, "all are shown")
    lab.interrupt()
    assert lab.end() == 130
    one_line(lab, "viewers are shown 1,000 of 1,500 bodies")


@pytest.mark.display
def test_physics_goes_on_when_the_display_of_its_viewer_is_killed(
    xvfb_screen: Display, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with starter(tmp_path, xvfb_screen.environ) as start:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(start.runtime_folder))
        lab = simulation(start, "metronome", "--lead", "0")
        view = start("view", "lab", *SMALL)
        focus(view, start.display)
        with closing(attach("lab", timeout_s=PATIENCE_S)) as link:
            xvfb_screen.process.kill()
            assert view.end() == 2, view.err
            one_line(view, "the display (x11) closed the connection")
            shown_ns = newest(link).sim_time_ns
            newest(link, lambda snapshot: snapshot.sim_time_ns > shown_ns + 200_000_000)  # physics goes on
        lab.interrupt()
        assert lab.end() == 130
        assert lab.left() == []
