"""Runs displays for a measurement, and opens twixt's window on them. The displays are Xvfb, whose swap never blocks,
and sway, whose swap blocks.

Always: a display ends with its context. If the program of a display is missing, the error names the package to
install.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from bench.processes import process
from twixt.ipc.config.flags import Config
from twixt.ipc.errors import DISPLAY_VARIABLES, NO_DISPLAY, TwixtError
from twixt.render.display.display import open_display

SCREEN_PX = (1280, 800)
SWAY_HZ = 60
# Longest time, in seconds, that a display may take to end.
EXIT_GRACE_S = 10.0
# User id under which sway runs, because sway refuses to run as root. Any user without processes can be used.
SWAY_USER = 65534
_OF_A_DISPLAY = {
    "DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_SESSION_TYPE", "PYGLFW_LIBRARY", "PYGLFW_LIBRARY_VARIANT"
}  # fmt: skip


@dataclass(frozen=True)
class Screen:
    """A display. environ: environment for programs that draw on this display. pids: ids of the display's processes.
    pixels_file: file in which the display keeps its pixels (XWD), only for `mapped_screen`."""

    about: str
    environ: dict[str, str]
    pids: tuple[int, ...] = ()
    pixels_file: str = ""


@contextmanager
def screen(kind: str) -> Iterator[Screen]:
    """Runs a display for as long as the context lasts. kind: "xvfb" or "sway". For "here", the display of the
    environment is used. Raises TwixtError."""
    if kind == "xvfb":
        with _xvfb() as made:
            yield made
    elif kind == "sway":
        with _sway() as made:
            yield made
    else:
        if DISPLAY_VARIABLES and not any(os.environ.get(name) for name in DISPLAY_VARIABLES):
            raise TwixtError(f"{NO_DISPLAY}; leave out --here to measure on an Xvfb")
        yield Screen("this display", dict(os.environ))


@contextmanager
def mapped_screen(size_px: tuple[int, int]) -> Iterator[Screen]:
    """Runs an Xvfb that keeps its pixels in a file. Raises TwixtError."""
    with tempfile.TemporaryDirectory(prefix="xvfb-") as folder, _xvfb(size_px, "-fbdir", folder, "-nocursor") as made:
        yield replace(made, pixels_file=os.path.join(folder, "Xvfb_screen0"))


@contextmanager
def opened_window(config: Config = Config(pacing="unlimited")) -> Iterator[Any]:  # noqa: B008
    """Yields a display as a viewer opens it. By default, this is a display without pacing."""
    window = open_display(config)
    try:
        yield window
    finally:
        window.close()


@contextmanager
def _xvfb(size_px: tuple[int, int] = SCREEN_PX, *more: str) -> Iterator[Screen]:
    size = "{}x{}x24".format(*size_px)
    command = [_program("Xvfb", "xvfb"), "-noreset", "-nolisten", "tcp", "-displayfd", "1", "-screen", "0", size, *more]
    with process(command, is_apart=True, grace_s=EXIT_GRACE_S) as child:
        child.until(lambda: child.out.endswith("\n"), "it had a number; is /tmp/.X11-unix writable?")
        yield Screen(f"Xvfb, {size}", _environ(DISPLAY=f":{child.out.strip()}"), (child.pid,))


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
                # without this, sway makes every window as large as the output
                'for_window [app_id=".*"] floating enable\n'
            )
        os.chmod(config, 0o644)
        how: dict[str, Any] = {"cwd": "/"}
        if os.geteuid() == 0:
            os.chown(folder, SWAY_USER, SWAY_USER)
            how |= {"user": SWAY_USER, "group": SWAY_USER, "extra_groups": []}
        environ = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": folder, "XDG_RUNTIME_DIR": folder,
            "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman",
        }  # fmt: skip
        with process([program, "-c", config], environ, is_apart=True, grace_s=EXIT_GRACE_S, **how) as child:
            child.until(lambda: bool(_sockets(folder)), "it accepted connections")
            made = _environ(WAYLAND_DISPLAY=_sockets(folder)[0])
            yield Screen(f"sway without a screen, {SWAY_HZ} Hz", made, (child.pid,))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sockets(folder: str) -> list[str]:
    """Paths of a compositor's sockets that accept connections."""
    found = []
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
            if name.startswith("wayland-") and not name.endswith(".lock"):
                probe.connect(path)
                found.append(path)
    return found


def _program(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise TwixtError(f"no {name} here; on Debian install it with: apt-get install {package}")
    return path


def _environ(**display: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OF_A_DISPLAY} | display
