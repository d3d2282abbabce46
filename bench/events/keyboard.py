"""Presses keys in the windows of viewers, with xdotool, as a user does."""

from __future__ import annotations

import shutil
import subprocess
import time

from twixt.ipc.errors import TwixtError

# Longest wait for a window and for one call of xdotool, in seconds.
PATIENCE_S = 30.0


class Keyboard:
    """The keyboard of a display. environ: environment of programs on this display. Raises TwixtError if xdotool is
    missing."""

    def __init__(self, environ: dict[str, str]) -> None:
        program = shutil.which("xdotool")
        if program is None:
            raise TwixtError("xdotool is missing, which presses the keys; on Debian: apt-get install xdotool")
        self._program, self._environ = program, environ
        self._windows: dict[int, str] = {}

    def press(self, pid: int, key: str) -> None:
        """Presses a key in the window of the process `pid`. key: its name in X, such as "space"."""
        if pid not in self._windows:
            self._windows[pid] = self._window_of(pid)
        self._xdotool("windowfocus", "--sync", self._windows[pid])
        self._xdotool("key", key)

    def _window_of(self, pid: int) -> str:
        ends_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends_s:
            for window in self._xdotool("search", "--onlyvisible", "--class", "twixt").split():
                if self._xdotool("getwindowpid", window) == str(pid):
                    return window
            time.sleep(0.05)
        raise TwixtError(f"waited {PATIENCE_S:g} s in vain for the window of process {pid}")

    def _xdotool(self, *words: str) -> str:
        done = subprocess.run(
            [self._program, *words], env=self._environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        return done.stdout.strip()
