"""Displays for a measurement: Xvfb, whose swap never blocks, and sway, whose swap does.

Always: a display ends with its context. If its program is missing, the error names the package to install.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from bench.child_process import end
from twixt.ipc.errors import DISPLAY_VARIABLES, NO_DISPLAY, TwixtError

SCREEN_PX = (1280, 800)
SWAY_HZ = 60
# Time limits for starting and for ending a display, seconds.
START_LIMIT_S = 30.0
EXIT_GRACE_S = 10.0
# sway refuses to run as root. Any user without processes can be used instead.
SWAY_USER = 65534
HERE, XVFB, SWAY = "here", "xvfb", "sway"
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_OF_A_DISPLAY = {
    "DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_SESSION_TYPE", "PYGLFW_LIBRARY", "PYGLFW_LIBRARY_VARIANT"
}  # fmt: skip


@dataclass(frozen=True)
class Screen:
    """A display. about: description. environ: environment for programs that draw there. pids: the display's
    processes."""

    about: str
    environ: dict[str, str]
    pids: tuple[int, ...] = ()


@contextmanager
def screen(kind: str) -> Iterator[Screen]:
    """Runs a display of this kind for as long as the context lasts. Raises TwixtError."""
    if kind == XVFB:
        with _xvfb() as made:
            yield made
    elif kind == SWAY:
        with _sway() as made:
            yield made
    else:
        if DISPLAY_VARIABLES and not any(os.environ.get(name) for name in DISPLAY_VARIABLES):
            raise TwixtError(f"{NO_DISPLAY}; add --xvfb to measure on a display of its own")
        yield Screen("this display", dict(os.environ))


@contextmanager
def _xvfb() -> Iterator[Screen]:
    program = _program("Xvfb", "xvfb")
    read_fd, write_fd = os.pipe()
    try:
        size = "{}x{}x24".format(*SCREEN_PX)
        command = [program, "-noreset", "-nolisten", "tcp", "-displayfd", str(write_fd), "-screen", "0", size]
        with _running(command, os.environ.copy(), pass_fds=(write_fd,)) as process:
            os.close(write_fd)
            write_fd = -1
            ready = select.select([read_fd], [], [], START_LIMIT_S)[0]
            number = os.read(read_fd, 16).decode().strip() if ready else ""
            if not number:
                raise TwixtError(f"Xvfb did not come up (exit code {process.poll()}); is /tmp/.X11-unix writable?")
            yield Screen(f"Xvfb, {size}", _environ(DISPLAY=f":{number}"), (process.pid,))
    finally:
        os.close(read_fd)
        if write_fd >= 0:
            os.close(write_fd)


@contextmanager
def _sway() -> Iterator[Screen]:
    program = _program("sway", "sway")
    folder = tempfile.mkdtemp(prefix="sway-", dir="/tmp")  # short, because a socket's path has at most 107 bytes
    try:
        config = os.path.join(folder, "config")
        with open(config, "w", encoding="ascii") as file:
            file.write(
                f"xwayland disable\noutput HEADLESS-1 mode {SCREEN_PX[0]}x{SCREEN_PX[1]}@{SWAY_HZ}Hz\n"
                "seat seat0 fallback true\n"  # GLFW needs a seat
                'for_window [app_id=".*"] floating enable\n'  # else sway makes every window as large as the output
            )
        os.chmod(config, 0o644)
        other_user = {}
        if os.geteuid() == 0:
            os.chown(folder, SWAY_USER, SWAY_USER)
            other_user = {"user": SWAY_USER, "group": SWAY_USER, "extra_groups": []}
        environ = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": folder, "XDG_RUNTIME_DIR": folder,
            "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman",
        }  # fmt: skip
        with _running([program, "-c", config], environ, cwd="/", **other_user) as process:
            path = _socket_in(folder, process)
            yield Screen(f"sway without a screen, {SWAY_HZ} Hz", _environ(WAYLAND_DISPLAY=path), (process.pid,))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _socket_in(folder: str, process: subprocess.Popen[bytes]) -> str:
    """Path of a compositor's socket, once it accepts connections. Raises TwixtError."""
    ends_s = time.monotonic() + START_LIMIT_S
    while time.monotonic() < ends_s and process.poll() is None:
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
                if name.startswith("wayland-") and not name.endswith(".lock"):
                    probe.connect(path)
                    return path
        time.sleep(0.02)
    raise TwixtError(f"sway did not come up (exit code {process.poll()}); try it with --xvfb")


@contextmanager
def _running(command: list[str], environ: dict[str, str], **how: object) -> Iterator[subprocess.Popen[bytes]]:
    # In its own process group, so that Ctrl-C ends first the measured program and then the display.
    try:
        process = subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            process_group=0, preexec_fn=end_with_parent, **how,
        )  # type: ignore[call-overload]  # fmt: skip
    except OSError as error:
        raise TwixtError(
            f"cannot start {command[0]}: {error.strerror}; install it anew, or see who may run it"
        ) from None
    try:
        yield process
    finally:
        end(process, EXIT_GRACE_S)


def end_with_parent() -> None:
    """Called in the child before its program starts. Makes the display end with its parent, however it ends
    (Linux)."""
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _program(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise TwixtError(f"no {name} here; on Debian install it with: apt-get install {package}")
    return path


def _environ(**display: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OF_A_DISPLAY} | display
