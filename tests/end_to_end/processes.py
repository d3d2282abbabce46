"""The real command in processes of its own: started, spoken to, waited for, and what is left of it.

Each run carries a mark in its environment, which all its processes inherit: so what is left is found in /proc,
whoever its parent is by now. Always: every wait ends, at the event or with a failure that says what was missed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

import pytest

import twixt
from tests.forked import Forks
from tests.starvation import Starvation

# What takes longer than this hangs.
PATIENCE_S = 90.0
# How often something is looked at that tells nobody when it changes.
LOOK_S = 0.01
# "Within a second" is counted in looks: whatever holds this machine up holds the looks up too.
LOOKS_A_SECOND = round(1 / LOOK_S)

MARK = "TWIXT_TEST_RUN"
FRONT_DOOR = str(twixt.__file__)
T = TypeVar("T")


def until(condition: Callable[[], T], what: str, patience_s: float = PATIENCE_S) -> T:
    """The condition's answer, as soon as it is true."""
    for _ in range(round(patience_s / LOOK_S)):
        if answer := condition():
            return answer
        pause()
    raise AssertionError(f"waited {patience_s:g} s in vain: {what}")


def pause() -> None:
    """Until the next look."""
    threading.Event().wait(LOOK_S)


class Run:
    """A command that runs. Its words are kept as they come: `out` and `err`."""

    def __init__(self, command: list[str], environ: Mapping[str, str], folder: Path, runtime_folder: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.folder, self.runtime_folder = folder, runtime_folder
        self._said = {"out": "", "err": ""}
        self._silent = 0  # of its two streams, how many nobody can write to any more
        self._news = threading.Condition()
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**environ, MARK: self.mark, "PYTHONFAULTHANDLER": "1", "XDG_RUNTIME_DIR": str(runtime_folder)},
            start_new_session=True,
        )  # fmt: skip
        streams = {"out": self.process.stdout, "err": self.process.stderr}
        self._readers = [threading.Thread(target=self._read, args=item, daemon=True) for item in streams.items()]
        for reader in self._readers:
            reader.start()

    @property
    def out(self) -> str:
        return self._said["out"]

    @property
    def err(self) -> str:
        return self._said["err"]

    def hear(self, words: str) -> None:
        """Wait until it has said them."""
        with self._news:
            self._news.wait_for(lambda: words in self.out + self.err or self._silent == 2, PATIENCE_S)
        assert words in self.out + self.err, f"it never said {words!r}, but:\n{self.out}\n{self.err}"

    def pids(self) -> dict[int, str]:
        """Its processes that live, and their commands."""
        return {pid: command for pid, command in _processes(f"{MARK}={self.mark}")}

    def viewer(self) -> int:
        """The process id of the viewer that it started, once that is attached."""

        def attached() -> int:
            for pid, command in self.pids().items():
                if "_view" in command.split("\0") and memories({pid}):
                    return pid
            assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.err}"
            return 0

        return until(attached, "a viewer attaches")

    def left(self) -> list[str]:
        """Its processes that live, and files where simulations keep their names."""
        files = [str(path) for path in self.runtime_folder.rglob("*") if not path.is_dir()]
        return [f"{pid}: {command}" for pid, command in self.pids().items()] + files

    def end(self) -> int:
        """Wait for its end, and for its last word; the exit code as a shell calls it."""
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it goes on and on; it said:\n{self.out}\n{self.err}") from None
        for reader in self._readers:
            reader.join(PATIENCE_S)
            assert not reader.is_alive(), f"somebody still holds its output: {self.left()}"
        return code if code >= 0 else 128 - code

    def interrupt(self) -> None:
        """Ctrl-C: the terminal tells the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill_all(self) -> None:
        """Whatever a failed test has left."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def _read(self, name: str, stream: IO[str]) -> None:
        for line in stream:
            with self._news:
                self._said[name] += line
                self._news.notify_all()
        with self._news:
            self._silent += 1
            self._news.notify_all()


class ForkedRun(Run):
    """A command that has ended, in a fork: it was no start of its own."""

    def __init__(
        self, forked: Forks, arguments: tuple[str, ...], environ: Mapping[str, str], folder: Path, runtime_folder: Path
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.folder, self.runtime_folder = folder, runtime_folder
        ended = forked(folder, *arguments, **{**environ, MARK: self.mark, "XDG_RUNTIME_DIR": str(runtime_folder)})
        self._said = {"out": ended.stdout, "err": ended.stderr}
        self._code = ended.returncode

    def end(self) -> int:
        return self._code if self._code >= 0 else 128 - self._code


class Starter:
    """Starts commands in a folder of the test's own, with names of its own."""

    def __init__(self, folder: Path, runtime_folder: Path, display: Mapping[str, str]) -> None:
        self.folder, self.runtime_folder, self.display = folder, runtime_folder, display
        self.runs: list[Run] = []

    def __call__(self, *arguments: str, **environ: str) -> Run:
        """`twixt ARGUMENTS`, with these changes to the display's environment."""
        return self.start([sys.executable, FRONT_DOOR, *arguments], **environ)

    def forked(self, forked: Forks, *arguments: str) -> Run:
        """`twixt ARGUMENTS`, which is over when this returns, without the time of a start."""
        return ForkedRun(forked, arguments, self.display, self.folder, self.runtime_folder)

    def script(self, text: str, **environ: str) -> Run:
        """A user's own script; `twixt` is found as if installed."""
        path = self.folder / "script.py"
        path.write_text(text)
        return self.start([sys.executable, str(path)], PYTHONPATH=str(Path(FRONT_DOOR).parent), **environ)

    def start(self, command: list[str], **environ: str) -> Run:
        run = Run(command, {**self.display, **environ}, self.folder, self.runtime_folder)
        self.runs.append(run)
        return run


@contextmanager
def starter(folder: Path, display: Mapping[str, str]) -> Iterator[Starter]:
    """A `Starter`, whose processes all end with it."""
    runtime_folder = folder / "runtime"
    runtime_folder.mkdir(0o700)
    starts = Starter(folder, runtime_folder, display)
    try:
        yield starts
    finally:
        for run in starts.runs:
            run.kill_all()


def memories(pids: set[int]) -> set[tuple[int, int]]:
    """The snapshots' memory that these processes hold, mapped or by a descriptor: device and inode."""
    found: set[tuple[int, int]] = set()
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                fields = line.split(maxsplit=5)
                if len(fields) == 6 and fields[5].startswith("/memfd:twixt"):
                    major, minor = fields[3].split(":")
                    found.add((os.makedev(int(major, 16), int(minor, 16)), int(fields[4])))
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if os.readlink(descriptor).startswith("/memfd:twixt"):
                        status = descriptor.stat()
                        found.add((status.st_dev, status.st_ino))
    return found


def all_pids() -> set[int]:
    return {int(entry) for entry in os.listdir("/proc") if entry.isdigit()}


def gone_within_a_second(run: Run, memory: set[tuple[int, int]] | None = None) -> None:
    """Nothing is left of the run, nor of its memory, a second after the call at the latest; the time that its processes
    waited for a core is not counted."""
    looks, starvation = 0, Starvation()
    starvation.sample(set(run.pids()), began=False)
    while left := run.left():
        assert looks < LOOKS_A_SECOND + starvation.waited_s / LOOK_S, f"left after a second, {starvation}: {left}"
        looks += 1
        pause()
        starvation.sample(set(run.pids()))
    print(f"nothing left after {looks * LOOK_S:.2f} s")
    assert not (memory or set()) & memories(all_pids())


def one_line(run: Run, *parts: str) -> str:
    """What it said on standard error: one line of twixt's, which holds all these parts, and no traceback."""
    lines = run.err.splitlines()
    assert len(lines) == 1, run.err
    assert lines[0].startswith("twixt: ")
    for part in parts:
        assert part in lines[0]
    return lines[0]


def xdotool(display: Mapping[str, str], *command: str) -> str:
    """What xdotool answers."""
    program = shutil.which("xdotool")
    if program is None:
        pytest.skip("no xdotool; on Debian: apt-get install xdotool")
    done = subprocess.run(
        [program, *command], env=dict(display), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return done.stdout.strip()


def focus(run: Run, display: Mapping[str, str]) -> str:
    """Waits for the run's window and gives it the keyboard; its number."""

    def window() -> str:
        pids = run.pids()
        for number in xdotool(display, "search", "--onlyvisible", "--class", "twixt").split():
            if int(xdotool(display, "getwindowpid", number) or 0) in pids:
                return number
        return ""

    number = until(window, "a window of the run's")
    xdotool(display, "windowfocus", "--sync", number)
    return number


def _processes(mark: str) -> Iterator[tuple[int, str]]:
    for pid in all_pids():
        with suppress(OSError):
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                yield pid, Path(f"/proc/{pid}/cmdline").read_text(errors="replace").strip("\0")
