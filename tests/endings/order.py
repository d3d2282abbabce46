"""One kill order: real processes that are started, stopped, continued and ended, and what is left of them.

One idea: everything done to a process is remembered with it, so that at the end it can be said of each whether it had
to go on, had to end, and with which words (`verdict`). Always: after `finish` no process of the order is left, whatever
was found; what was found stands in `wrong`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.end_to_end.processes import FRONT_DOOR, Starter, xdotool
from tests.endings import kernel
from tests.endings.verdict import is_unborn, wrong_with
from twixt.ipc import session
from twixt.ipc.errors import TwixtError

HERE = Path(__file__).parent
NAME = "lab"
# What takes longer than this hangs.
PATIENCE_S = 20.0
LOOK_S = 0.01
SMALL = ("--size", "64x48", "--no-overlay")
ENDS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT}
ENDING_NAMES = {number.name for number in ENDS}
# What makes a simulation end as asked.
ENDED_WELL = {"close", "time over", *(f"viewer {name}" for name in ENDING_NAMES)}
# Snapshots, rows or words that whoever goes on makes while it is watched.
SIGNS_OF_LIFE = 2


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


class Order:
    """One of them. environ: of a display with Xvfb. told: counts endings by role."""

    def __init__(self, environ: Mapping[str, str], told: Counter[str]) -> None:
        self.mark, self.told = uuid.uuid4().hex, told
        self.wrong: list[str] = []
        self.history: list[str] = []
        self.clean_up_s = 0.0
        self.folder = Path(tempfile.mkdtemp(prefix="order-", dir="/tmp"))
        (self.folder / "runtime").mkdir(0o700)
        shutil.copy(HERE / "growing.py", self.folder)
        self._starter = Starter(self.folder, self.folder / "runtime", {**environ, kernel.MARK: self.mark})
        self._display = environ
        self._launchers: list[Actor] = []
        self._viewers: list[Actor] = []
        self._held_pids: set[int] = set()  # of viewers that launchers started
        self._began_s = self._last_act_s = time.monotonic()
        self._pids: set[int] = set()
        self._memories: dict[kernel.Memory, int] = {}
        self._previous = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder / "runtime")

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
                self._launcher.happened.add("time over")
                self._launcher.has_to_end = True
        else:
            self._launch(role, lambda: self._python("own_loop.py", NAME, *(() if has_window else ("offscreen",))))

    def attach(self, role: str, has_window: bool) -> None:
        """One more viewer. role: "view" the real one, "light" one that only reads."""
        number = len(self._viewers)
        if role == "view":
            where = () if has_window else ("--offscreen",)
            viewer = Actor(role, number, lambda: self._starter("view", NAME, *SMALL, *where, "--draw", "growing:count"))
        else:
            viewer = Actor(role, number, lambda: self._python("light_viewer.py", NAME))
        viewer.may_find_nobody = not (self.folder / "runtime" / "twixt" / f"{NAME}.socket").exists()
        self._viewers.append(viewer)
        self._note(f"{viewer.name} starts")

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    def await_end_of_launcher(self) -> None:
        """After something that ends it."""
        launcher = self._launcher
        if launcher.is_stopped:
            self.signal_physics(signal.SIGCONT)
        if not self._until(lambda: launcher.is_gone):
            self.wrong.append(f"hung: {launcher.name} did not end in {PATIENCE_S:g} s")

    def signal_physics(self, number: signal.Signals, whole_group: bool = False) -> None:
        launcher = self._launcher
        self._note(f"{number.name} to {launcher.name}{' and its viewer' if whole_group else ''}")
        if whole_group and self._own_pid():
            launcher.happened.add(f"viewer {number.name}")
        self._signal(launcher, number, (lambda pid: os.killpg(pid, number)) if whole_group else None)

    def signal_viewer(self, which: int, number: signal.Signals) -> None:
        """which: any number; that of the run's own viewer, or of one that was attached."""
        if (place := self._place(which)) is not None:
            viewer = self._viewers[place]
            self._note(f"{number.name} to {viewer.name}")
            self._signal(viewer, number)
        elif pid := self._own_pid():
            self._note(f"{number.name} to the viewer of {self._launcher.name}")
            if number == signal.SIGSTOP:
                self._held_pids.add(pid)
            self._end_own_viewer(f"viewer {number.name}", number in ENDS)
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def close(self, which: int) -> None:
        """As its user would: the close button of a window, a light viewer's own way to leave."""
        place = self._place(which)
        if place is not None and self._viewers[place].role == "light":
            viewer = self._viewers[place]
            self._note(f"{viewer.name} is to leave")
            viewer.happened.add("close")
            viewer.has_to_end = True
            self._send(viewer.run.process.pid, signal.SIGUSR1)
        elif place is not None:
            viewer = self._viewers[place]
            if self._press_close(viewer.run.process.pid, viewer.name):
                viewer.happened.add("close")
                viewer.has_to_end = True
        elif (pid := self._own_pid()) and self._press_close(pid, f"the viewer of {self._launcher.name}"):
            self._end_own_viewer("close", True)

    # -- the end

    def finish(self, last: str) -> None:
        """Everything goes on; who has to end ends, the others live; then `last` ends the rest, and nothing is left."""
        try:
            self._continue_all()
            self._those_that_have_to_end()
            self._those_that_go_on()
            self._end_the_rest(last)
            self._nothing_is_left()
            self._judge()
        finally:
            for pid in kernel.pids_of(self.mark):
                self._send(pid, signal.SIGKILL)
            for run in self._starter.runs:
                run.kill_all()
            if self._previous is None:
                del os.environ["XDG_RUNTIME_DIR"]
            else:
                os.environ["XDG_RUNTIME_DIR"] = self._previous
            shutil.rmtree(self.folder, ignore_errors=True)

    def story(self) -> str:
        """All that happened and was said."""
        said = [
            f"  {actor.name}: {sorted(actor.happened)}, code {actor.run.process.returncode}\n"
            f"    out: {actor.run.out[-300:]!r}\n    err: {actor.run.err[-3000:]!r}"
            for actor in (*self._launchers, *self._viewers)
        ]
        return "\n".join(["wrong: " + "; ".join(self.wrong), *("  " + line for line in self.history), *said])

    def _continue_all(self) -> None:
        for actor in (*self._launchers, *self._viewers):
            if actor.is_stopped:
                self._note(f"SIGCONT to {actor.name}")
                self._signal(actor, signal.SIGCONT)
        for pid in self._held_pids:
            self._note(f"SIGCONT to the viewer {pid} of a run")
            self._send(pid, signal.SIGCONT)

    def _those_that_have_to_end(self) -> None:
        """They do so by themselves."""
        if any(launcher.has_to_end for launcher in self._launchers):
            for viewer in self._viewers:  # of whichever launcher: one that came late may look at its successor
                viewer.has_to_end = viewer.has_to_end or self._launcher.has_to_end
        ending = [actor for actor in (*self._launchers, *self._viewers) if actor.has_to_end]
        is_late = any(not actor.is_gone for actor in ending) and "time over" not in self._launcher.happened
        if not self._until(lambda: all(actor.is_gone for actor in ending)):
            hung = [actor.name for actor in ending if not actor.is_gone]
            self.wrong.append(f"hung: {hung} did not end in {PATIENCE_S:g} s")
        elif is_late:
            self._took(f"{len(ending)} that had to end")

    def _those_that_go_on(self) -> None:
        """Who was not made to end is there and does its work."""
        launcher = self._launcher
        if launcher.has_to_end:
            return
        survivors = [launcher]
        if len(self._launchers) == 1:
            survivors += [viewer for viewer in self._viewers if not viewer.has_to_end]
        if launcher.role != "loop":
            self._physics_goes_on()
            survivors.remove(launcher)
        for actor in survivors:
            before = actor.signs()
            self._until(lambda: actor.is_gone or actor.signs() >= before + SIGNS_OF_LIFE)  # noqa: B023
            code = actor.run.process.returncode
            if code == 2 and actor.may_find_nobody:
                continue
            if actor.is_gone:
                self.wrong.append(f"{actor.name} ended with {code}, though nothing had happened to it")
            elif actor.signs() < before + SIGNS_OF_LIFE:
                self.wrong.append(f"hung: {actor.name} does not go on")
            else:
                self.told[f"{actor.role}: went on"] += 1

    def _physics_goes_on(self) -> None:
        deadline_s, link = time.monotonic() + PATIENCE_S, None
        while link is None:
            try:
                link = session.attach(NAME, PATIENCE_S)
            except TwixtError as error:  # it is still starting
                if self._launcher.is_gone or time.monotonic() > deadline_s:
                    self.wrong.append(f"physics does not go on: {error}")
                    return
                time.sleep(LOOK_S)
        seen: set[int] = set()

        def steps() -> bool:
            link.poll()
            seen.update(claim.head.tick for claim in link.unread(1 << 26))
            return link.ended is not None or len(seen) > SIGNS_OF_LIFE

        if not self._until(steps) or link.ended is not None:
            self.wrong.append(f"physics does not go on: {link.ended or 'no new snapshots'}")
        else:
            self.told[f"{self._launcher.role}: went on"] += 1
        link.close()

    def _end_the_rest(self, last: str) -> None:
        self._look()
        launcher = self._launcher
        if not launcher.is_gone:
            if last == "close" and launcher.role == "run":
                self.close(self.viewers)
            elif last == "close" and launcher.role == "loop":
                self._note("the loop is to end")
                launcher.happened.add("close")
                launcher.has_to_end = True
                self._send(launcher.run.process.pid, signal.SIGUSR1)
            if not launcher.has_to_end:
                number = signal.Signals[last] if last.startswith("SIG") else signal.SIGINT
                self.signal_physics(number, whole_group=last == "Ctrl-C")
        elif not kernel.pids_of(self.mark):
            return
        if self._until(lambda: not kernel.pids_of(self.mark) and not self._memory_left()):
            self._took("the end of all")
        else:
            self.wrong.append(f"hung: {list(kernel.pids_of(self.mark).values())} goes on {PATIENCE_S:g} s after all")

    def _nothing_is_left(self) -> None:
        self._until(lambda: not self._memory_left())
        if left := self._memory_left():
            self.wrong.append(f"memory left: {sum(self._memories[one] for one in left)} bytes")
        if named := kernel.named_memory(self._pids):
            self.wrong.append(f"memory left: {named}")
        files = sorted(path.name for path in (self.folder / "runtime").rglob("*") if not path.is_dir())
        killed = any("SIGKILL" in launcher.happened for launcher in self._launchers)
        if files and not (killed and files == [f"{NAME}.socket"]):
            self.wrong.append(f"files left: {files}")
        elif files:
            self.told["socket of a killed simulation, replaced by the next"] += 1
        try:
            session.open_door(NAME).close()
        except TwixtError as error:
            self.wrong.append(f"the next start is hindered: {error}")
        if files := [path.name for path in (self.folder / "runtime").rglob("*") if not path.is_dir()]:
            self.wrong.append(f"files left after the next start: {files}")

    def _memory_left(self) -> set[kernel.Memory]:
        return set(kernel.memories_of(kernel.all_pids()).keys() & self._memories.keys())

    def _judge(self) -> None:
        about_physics = {f"physics {what}" for one in self._launchers for what in one.happened if what in ENDING_NAMES}
        if any(one.happened & ENDED_WELL or one.role == "loop" for one in self._launchers):
            about_physics.add("physics ended")
        for viewer in self._viewers:
            viewer.happened |= about_physics | ({"nobody there"} if about_physics or viewer.may_find_nobody else set())
        for actor in (*self._launchers, *self._viewers):
            if not actor.is_gone:
                continue
            try:
                code = actor.run.end()
            except AssertionError as error:
                self.wrong.append(f"{actor.name}: {error}")
                continue
            said = actor.run.out + actor.run.err
            if wrong := wrong_with(actor.role, actor.happened, code, said):
                self.wrong.append(f"{actor.name}: {wrong}")
            if is_unborn(actor.happened, said):
                self.told["Ctrl-C in Python's own start"] += 1
            self.told[f"{actor.role}: ended with {code}"] += 1

    # -- parts

    @property
    def _launcher(self) -> Actor:
        return self._launchers[-1]

    def _launch(self, role: str, start: Callable[[], object]) -> None:
        self._launchers.append(Actor(role, len(self._launchers), start))
        self._note(f"{self._launcher.name} starts")

    def _python(self, program: str, *arguments: str) -> object:
        path = str(Path(FRONT_DOOR).parent)
        return self._starter.start([sys.executable, "-P", str(HERE / program), *arguments], PYTHONPATH=path)

    def _place(self, which: int) -> int | None:
        """Of the attached viewer that is meant; None: the own one of the run."""
        has_own = self._launcher.role != "sim"
        count = self.viewers + has_own
        if not count:
            return None
        place = which % count
        return place if place < self.viewers else None

    def _own_pid(self) -> int:
        """The process of the viewer that the launcher started; 0 where there is none (yet, or any more)."""
        pid = self._launcher.run.process.pid
        with suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                if b"_view" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                    return int(child)
        return 0

    def _end_own_viewer(self, what: str, ends: bool) -> None:
        launcher = self._launcher
        if launcher.role == "run":
            launcher.happened.add(what)
            launcher.has_to_end = launcher.has_to_end or ends

    def _press_close(self, pid: int, whose: str) -> bool:
        """Whether there was a window to close."""
        windows = xdotool(
            self._display, "search", "--all", "--onlyvisible", "--pid", str(pid), "--class", "twixt"
        ).split()
        if windows:
            self._note(f"{whose} is closed")
            xdotool(self._display, "windowquit", windows[0])
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

    def _send(self, pid: int, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    def _look(self) -> None:
        """Which processes and memories there are now."""
        pids = set(kernel.pids_of(self.mark))
        self._pids |= pids
        self._memories |= kernel.memories_of(pids)

    def _note(self, what: str) -> None:
        self._look()
        self._last_act_s = time.monotonic()
        self.history.append(f"{(self._last_act_s - self._began_s) * 1e3:6.0f} ms  {what}")

    def _took(self, what: str) -> None:
        took_s = time.monotonic() - self._last_act_s
        self.clean_up_s = max(self.clean_up_s, took_s)
        self.history.append(f"{(time.monotonic() - self._began_s) * 1e3:6.0f} ms  {what}: {took_s * 1e3:.0f} ms")

    def _until(self, condition: Callable[[], bool]) -> bool:
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline_s:
                return False
            time.sleep(LOOK_S)
        return True
