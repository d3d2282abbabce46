"""Who plays in a kill order: a launcher at a time, viewers, and what was done to each of them.

One idea: whatever is done to a process is remembered with it. What came of it is for `order` to find.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.end_to_end.processes import FRONT_DOOR, Starter, xdotool
from tests.long.endings import close_button, kernel

HERE = Path(__file__).parent
NAME = "lab"
SMALL = ("--size", "64x48", "--no-overlay")
ENDS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT}
ENDING_NAMES = {number.name for number in ENDS}
# What makes a simulation end as asked.
ENDED_WELL = {"close", "time over", *(f"viewer {name}" for name in ENDING_NAMES)}


class Actor:
    """A process of the order's own, and what happened to it."""

    def __init__(self, role: str, number: int, start: Callable[[], object]) -> None:
        self.role, self.name = role, f"{role} {number}"
        self.run = start()
        self.happened: set[str] = set()
        self.is_stopped = self.has_to_end = self.may_find_nobody = False

    @property
    def is_gone(self) -> bool:
        return self.run.process.poll() is not None

    def signs(self) -> int:
        """A number that grows while it does its work."""
        words = self.run.out.split()
        return int(words[-1]) if len(words) > 1 and words[-2] == "tick" else -1


class Cast:
    """The processes of one order, with a mark and a folder of their own. environ: of a display with Xvfb.

    While it is there, this process finds the order's simulations too.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.mark = uuid.uuid4().hex
        self.history: list[str] = []
        self.launchers: list[Actor] = []
        self.viewers: list[Actor] = []
        self.pids: set[int] = set()
        self.memories: dict[kernel.Memory, int] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="order-", dir="/tmp"))
        self.runtime_folder = self.folder / "runtime"
        self.runtime_folder.mkdir(0o700)
        shutil.copy(HERE / "growing.py", self.folder)
        self._starter = Starter(self.folder, self.runtime_folder, {**environ, kernel.MARK: self.mark})
        self._display = environ
        self._held_pids: set[int] = set()  # of viewers that launchers started
        self.began_s = self.last_act_s = time.monotonic()
        self._previous = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = str(self.runtime_folder)

    def dismiss(self) -> None:
        """Whoever is left is killed, and nothing of the order stays."""
        for pid in kernel.pids_of(self.mark):
            send(pid, signal.SIGKILL)
        for run in self._starter.runs:
            run.kill_all()
        if self._previous is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = self._previous
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- what may happen

    def wait(self, ms: int) -> None:
        """Until a random instant, which is what an order is about."""
        time.sleep(ms / 1e3)

    def launch(self, role: str, world: str, has_window: bool, seconds: float | None) -> None:
        """A simulation under the order's name. role: "run" with a viewer of its own, "sim" without, "loop" a script."""
        where = () if has_window else ("--offscreen",)
        if role == "run":
            self._launch(role, lambda: self._starter("run", world, "--name", NAME, *SMALL, *where))
        elif role == "sim":
            lasts = () if seconds is None else ("--seconds", str(seconds))
            self._launch(role, lambda: self._starter("sim", world, "--name", NAME, *lasts))
            if seconds is not None:
                self.launcher.happened.add("time over")
                self.launcher.has_to_end = True
        else:
            self._launch(role, lambda: self._python("own_loop.py", NAME, *(() if has_window else ("offscreen",))))

    def attach(self, role: str, has_window: bool) -> None:
        """One more viewer. role: "view" the real one, "light" one that only reads."""
        number = len(self.viewers)
        if role == "view":
            where = () if has_window else ("--offscreen",)
            viewer = Actor(role, number, lambda: self._starter("view", NAME, *SMALL, *where, "--draw", "growing:count"))
        else:
            viewer = Actor(role, number, lambda: self._python("light_viewer.py", NAME))
        viewer.may_find_nobody = not (self.folder / "runtime" / "twixt" / f"{NAME}.socket").exists()
        self.viewers.append(viewer)
        self.note(f"{viewer.name} starts")

    def signal_physics(self, number: signal.Signals, whole_group: bool = False) -> None:
        launcher = self.launcher
        self.note(f"{number.name} to {launcher.name}{' and its viewer' if whole_group else ''}")
        if whole_group and self._own_pid():
            launcher.happened.add(f"viewer {number.name}")
        self._signal(launcher, number, (lambda pid: os.killpg(pid, number)) if whole_group else None)

    def signal_viewer(self, which: int, number: signal.Signals) -> None:
        """which: any number; that of the run's own viewer, or of one that was attached."""
        if (place := self._place(which)) is not None:
            viewer = self.viewers[place]
            self.note(f"{number.name} to {viewer.name}")
            self._signal(viewer, number)
        elif pid := self._own_pid():
            self.note(f"{number.name} to the viewer of {self.launcher.name}")
            if number == signal.SIGSTOP:
                self._held_pids.add(pid)
            self._end_own_viewer(f"viewer {number.name}", number in ENDS)
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def close(self, which: int) -> None:
        """As its user would: the close button of a window, a light viewer's own way to leave."""
        place = self._place(which)
        if place is not None and self.viewers[place].role == "light":
            viewer = self.viewers[place]
            self.note(f"{viewer.name} is to leave")
            viewer.happened.add("close")
            viewer.has_to_end = True
            send(viewer.run.process.pid, signal.SIGUSR1)
        elif place is not None:
            viewer = self.viewers[place]
            if self._press_close(viewer.run.process.pid, viewer.name):
                viewer.happened.add("close")
                viewer.has_to_end = True
        elif (pid := self._own_pid()) and self._press_close(pid, f"the viewer of {self.launcher.name}"):
            self._end_own_viewer("close", True)

    def continue_all(self) -> None:
        for actor in (*self.launchers, *self.viewers):
            if actor.is_stopped:
                self.note(f"SIGCONT to {actor.name}")
                self._signal(actor, signal.SIGCONT)
        for pid in self._held_pids:
            self.note(f"SIGCONT to the viewer {pid} of a run")
            send(pid, signal.SIGCONT)

    # -- parts

    @property
    def launcher(self) -> Actor:
        return self.launchers[-1]

    def _launch(self, role: str, start: Callable[[], object]) -> None:
        self.launchers.append(Actor(role, len(self.launchers), start))
        self.note(f"{self.launcher.name} starts")

    def _python(self, program: str, *arguments: str) -> object:
        path = str(Path(FRONT_DOOR).parent)
        return self._starter.start([sys.executable, "-P", str(HERE / program), *arguments], PYTHONPATH=path)

    def _place(self, which: int) -> int | None:
        """Of the attached viewer that is meant; None: the own one of the run."""
        has_own = self.launcher.role != "sim"
        count = len(self.viewers) + has_own
        if not count:
            return None
        place = which % count
        return place if place < len(self.viewers) else None

    def _own_pid(self) -> int:
        """The process of the viewer that the launcher started; 0 where there is none (yet, or any more)."""
        pid = self.launcher.run.process.pid
        with suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                if b"_view" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                    return int(child)
        return 0

    def _end_own_viewer(self, what: str, ends: bool) -> None:
        launcher = self.launcher
        if launcher.role == "run":
            launcher.happened.add(what)
            launcher.has_to_end = launcher.has_to_end or ends

    def _press_close(self, pid: int, whose: str) -> bool:
        """Whether there was a window to close."""
        windows = xdotool(
            self._display, "search", "--all", "--onlyvisible", "--pid", str(pid), "--class", "twixt"
        ).split()
        if windows:
            self.note(f"{whose} is closed")
            close_button.press(self._display["DISPLAY"], int(windows[0]))
        return bool(windows)

    def _signal(self, actor: Actor, number: signal.Signals, send: Callable[[int], None] | None = None) -> None:
        actor.happened.add(number.name)
        if number == signal.SIGSTOP:
            actor.is_stopped = True
        elif number == signal.SIGCONT:
            actor.is_stopped = False
        elif number in ENDS:
            actor.has_to_end = True
        if actor.run.process.poll() is None:
            with suppress(ProcessLookupError):
                (send or (lambda pid: os.kill(pid, number)))(actor.run.process.pid)

    def look(self) -> None:
        """Which processes and memories there are now."""
        pids = set(kernel.pids_of(self.mark))
        self.pids |= pids
        self.memories |= kernel.memories_of(pids)

    def note(self, what: str) -> None:
        self.look()
        self.last_act_s = time.monotonic()
        self.history.append(f"{(self.last_act_s - self.began_s) * 1e3:6.0f} ms  {what}")


def send(pid: int, number: signal.Signals) -> None:
    """To a process that may have gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
