"""Displays to test on: Xvfb (swap never blocks), a headless sway (swap blocks at a chosen rate), a weston in a window
of Xvfb (says when each frame was shown) and a virtual KWin (a desktop's compositor).

Each is a process of the test's own, ended by its pid; a watcher ends it where the test is killed. A missing program skips the test with the way to get it;
a display that does not come up fails it. `environ` is the whole environment for a program that draws there.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

SCREEN_PX = (1280, 800)
# A display that takes longer to come up than this will not.
START_LIMIT_S = 30.0
# sway refuses to run as root; any user without a process of its own will do.
SWAY_USER = 65534

# Waits for the end of a pipe that the test alone holds open. The kernel's own way (PR_SET_PDEATHSIG) is lost where a
# program has more rights than its user, and with programs that others start, as KWin's session does. SIGTERM is lost
# on a sway that takes connections already and is not in its main loop yet.
WATCHER = 'read -r line; kill -s TERM -- "$0"; sleep 2; kill -s KILL -- "$0"'

_OF_A_DISPLAY = {
    "DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_SESSION_TYPE", "PYGLFW_LIBRARY", "PYGLFW_LIBRARY_VARIANT"
}  # fmt: skip


@dataclass(frozen=True)
class Display:
    """A running display. screen_file: Xvfb's picture as a mapped file, where asked for. control: sway's socket."""

    environ: dict[str, str]
    process: subprocess.Popen[bytes]
    screen_file: Path | None = None
    control: str = ""

    def tell_sway(self, *command: str) -> None:
        subprocess.run(["swaymsg", "-s", self.control, *command], check=True, capture_output=True, timeout=30)


@contextmanager
def xvfb(map_screen: bool = False, size_px: tuple[int, int] = SCREEN_PX) -> Iterator[Display]:
    """An X server without a screen, on a free display number."""
    program = _program("Xvfb", "xvfb")
    with ExitStack() as stack:
        read_fd, write_fd = os.pipe()
        stack.callback(os.close, read_fd)
        screen = "{}x{}x24".format(*size_px)
        command = [program, "-noreset", "-nolisten", "tcp", "-displayfd", str(write_fd), "-screen", "0", screen]
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="xvfb-", dir="/tmp")) if map_screen else None
        if folder:
            command += ["-fbdir", folder]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = stack.enter_context(_ended(subprocess.Popen(command, pass_fds=[write_fd], **silent)))  # type: ignore[call-overload]
        os.close(write_fd)
        assert select.select([read_fd], [], [], START_LIMIT_S)[0], "Xvfb did not say its display number"
        number = os.read(read_fd, 16).decode().strip()
        assert number, f"Xvfb ended at once ({process.poll()})"
        screen_file = Path(folder) / "Xvfb_screen0" if folder else None
        yield Display(_environ(DISPLAY=f":{number}"), process, screen_file)


def set_density(display: Display, dpi: int) -> None:
    """What a desktop says of an X screen with so many dots an inch (`Xft.dpi`), for programs that start from now on."""
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.restype = x11.XDefaultRootWindow.restype = ctypes.c_ulong
    x11.XInternAtom.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    x11.XDefaultRootWindow.argtypes = x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    kinds = [ctypes.c_void_p, *[ctypes.c_ulong] * 3, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
    x11.XChangeProperty.argtypes = kinds
    server = x11.XOpenDisplay(display.environ["DISPLAY"].encode())
    assert server, "the X server is not there"
    name, string = (x11.XInternAtom(server, atom, 0) for atom in (b"RESOURCE_MANAGER", b"STRING"))
    text = f"Xft.dpi:\t{dpi}\n".encode()
    x11.XChangeProperty(server, x11.XDefaultRootWindow(server), name, string, 8, 0, text, len(text))
    x11.XCloseDisplay(server)


@contextmanager
def sway(hz: float) -> Iterator[Display]:
    """A Wayland compositor without a screen whose output runs at about `hz`, under a user of its own if we are root."""
    program = _program("sway", "sway")
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="sway-", dir="/tmp"))  # short: a socket's path ends at 107 bytes
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        config = folder / "config"
        config.write_text(
            f"xwayland disable\noutput HEADLESS-1 mode {SCREEN_PX[0]}x{SCREEN_PX[1]}@{hz:g}Hz\n"
            "seat seat0 fallback true\n"  # GLFW needs one
            'for_window [app_id=".*"] floating enable\n'  # else every window is made as large as the output
        )
        config.chmod(0o644)
        other_user: dict[str, object] = {}
        if os.geteuid() == 0:
            os.chown(folder, SWAY_USER, SWAY_USER)
            other_user = {"user": SWAY_USER, "group": SWAY_USER, "extra_groups": []}
        folder.chmod(0o700)
        environ = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder),
            "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman",
            "SWAYSOCK": str(folder / "control"),
        }  # fmt: skip
        process = stack.enter_context(_logging([program, "-c", str(config)], folder, env=environ, **other_user))
        path = _answering(folder, process)
        yield Display(_environ(WAYLAND_DISPLAY=str(path)), process, control=environ["SWAYSOCK"])


@contextmanager
def weston() -> Iterator[Display]:
    """A Wayland compositor in a window of an Xvfb of its own: it answers `wp_presentation`, about 50 times a second."""
    program = _program("weston", "weston")
    with ExitStack() as stack:
        screen = stack.enter_context(xvfb())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="weston-", dir="/tmp")))
        environ = screen.environ | {"XDG_RUNTIME_DIR": str(folder)}
        command = [program, "--backend=x11-backend.so", "--use-pixman", "--socket=wayland-1", "--idle-time=0"]
        process = stack.enter_context(_logging(command, folder, env=environ))
        yield Display(_environ(WAYLAND_DISPLAY=str(_answering(folder, process))), process)


@contextmanager
def kwin() -> Iterator[Display]:
    """A desktop's own compositor without a screen."""
    program, session = _program("kwin_wayland", "kwin-wayland"), _program("dbus-run-session", "dbus-daemon")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kwin-", dir="/tmp")))
        shutil.copyfile(program, folder / "kwin_wayland")  # the installed one has a capability that not all may grant
        (folder / "kwin_wayland").chmod(0o700)
        environ = _environ(XDG_RUNTIME_DIR=str(folder), HOME=str(folder))
        size = ["--width", str(SCREEN_PX[0]), "--height", str(SCREEN_PX[1])]
        command = [session, "--", str(folder / "kwin_wayland"), "--virtual", *size, "--socket", "wayland-1",
                   "--no-lockscreen"]  # fmt: skip
        process = stack.enter_context(_logging(command, folder, env=environ, start_new_session=True))
        stack.callback(_end_group, process)  # a session that ends leaves what it started
        yield Display(_environ(WAYLAND_DISPLAY=str(_answering(folder, process))), process)


@pytest.fixture
def weston_display() -> Iterator[dict[str, str]]:
    """The environment of a weston in a window."""
    with weston() as display:
        yield display.environ


@pytest.fixture
def kwin_display() -> Iterator[dict[str, str]]:
    """The environment of a virtual KWin."""
    with kwin() as display:
        yield display.environ


@pytest.fixture
def xvfb_display() -> Iterator[dict[str, str]]:
    """The environment of an Xvfb of this test's own."""
    with xvfb() as display:
        yield display.environ


@pytest.fixture
def xvfb_screen() -> Iterator[Display]:
    """An Xvfb whose picture is a mapped file (`screen_file`)."""
    with xvfb(map_screen=True) as display:
        yield display


@pytest.fixture
def sway_rig() -> Iterator[Callable[[float], Display]]:
    """Starts a sway of so many Hz."""
    with ExitStack() as stack:
        yield lambda hz: stack.enter_context(sway(hz))


@pytest.fixture
def sway_display(sway_rig: Callable[[float], Display]) -> Callable[[float], dict[str, str]]:
    """Starts a sway of so many Hz: its environment."""
    return lambda hz: sway_rig(hz).environ


def _program(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name}; on Debian: apt-get install {package}")
    return path


def _environ(**display: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OF_A_DISPLAY} | display


@contextmanager
def _ended(process: subprocess.Popen[bytes], is_group: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """Ended with the block, or with this process. is_group: it leads a group, all of which ends with this process."""
    target = f"-{process.pid}" if is_group else str(process.pid)
    watcher = subprocess.Popen(["/bin/sh", "-c", WATCHER, target], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield process
    finally:
        watcher.kill()  # before the pid is free for another process
        watcher.communicate()
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)


@contextmanager
def _logging(command: list[str], folder: Path, **how: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process that says everything into the folder's log."""
    with (folder / "log").open("wb") as log:
        started = subprocess.Popen(command, cwd="/", stdout=log, stderr=log, **how)  # type: ignore[call-overload]
    with _ended(started, is_group=bool(how.get("start_new_session"))) as process:
        yield process


def _answering(folder: Path, process: subprocess.Popen[bytes]) -> Path:
    """The compositor's socket, once it takes connections."""
    end_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end_s:
        assert process.poll() is None, f"the compositor ended at once:\n{(folder / 'log').read_text()[-2000:]}"
        for path in folder.glob("wayland-*[0-9]"):
            with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
                probe.connect(str(path))
                return path
        select.select([], [], [], 0.02)
    raise AssertionError(f"the compositor took no connection:\n{(folder / 'log').read_text()[-2000:]}")
