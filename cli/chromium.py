"""A Chromium that a program drives through the DevTools protocol.

Always: the browser runs in its own process group, with a new profile in a temporary folder, and asks no host but those
in `hosts`. Both end with `close`, at the latest when this process exits; if this process is killed, a watcher ends them.
A `Chromium` belongs to one thread: messages of a page are collected while one of its methods waits.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

from twixt.ipc.errors import TwixtError

try:
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect
except ImportError:
    raise TwixtError("a browser is driven with websockets; install it with: pip install 'websockets>=13'") from None

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# These draw WebGL2 by Mesa's llvmpipe where there is no GPU: three to nine times as fast as SwiftShader. The last flag
# depends on whether there is an X display.
LLVMPIPE = ("--ignore-gpu-blocklist", "--use-gl=angle")
ON_X, WITHOUT_X = "--use-angle=gl", "--use-angle=gl-egl"
# Shows a frame 17 ms earlier and more evenly on a display without a GPU.
WITHOUT_COMPOSITING = "--disable-gpu-compositing"
ALWAYS = (
    "--remote-debugging-port=0", "--disable-quic", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-extensions", "--disable-breakpad", "--disable-domain-reliability", "--no-pings", "--no-proxy-server",
    "--disable-features=MediaRouter,Translate,OptimizationHints", "--password-store=basic", "--mute-audio",
    "--force-device-scale-factor=1", "--force-color-profile=srgb", "--window-position=0,0",
)  # fmt: skip
# Chromium's sandbox does not work for root. (Windows has no such user.)
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
# Longest time, in seconds, that the browser may take to start, and to answer a message.
START_LIMIT_S, ANSWER_LIMIT_S = 60.0, 60.0
POLL_S = 0.01
# Waits for the end of a pipe that this process alone holds open, then ends a process group and removes a folder, in
# which the group's last processes may still write for a moment.
WATCHER = 'read -r line; kill -s KILL -- "-$0" 2>&1; for _ in $(seq 99); do rm -rf -- "$1" && exit; sleep 0.02; done'
# Codes of the keys whose names are not a character: Windows' key code, and text that the key types.
KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), "Backspace": (8, ""), "Delete": (46, ""), " ": (32, " "),
    "ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""), "Home": (36, ""),
    "End": (35, ""), "PageUp": (33, ""), "PageDown": (34, ""), "Shift": (16, ""), "Control": (17, ""), "Alt": (18, ""),
}  # fmt: skip


class PageError(TwixtError):
    """An expression failed in the page, or the page could not be opened. The message is the page's own."""


def find_chromium() -> str:
    """Path of the browser's program: TWIXT_CHROMIUM, else one of `PROGRAMS`. Raises TwixtError if there is none."""
    if chosen := os.environ.get("TWIXT_CHROMIUM"):
        if found := shutil.which(chosen):
            return found
        raise TwixtError(f"TWIXT_CHROMIUM is {chosen!r}, which is no program; give the path of Chromium or Chrome")
    for name in PROGRAMS:
        if found := shutil.which(name):
            return found
    raise TwixtError(
        "no Chromium here; on Debian install it with: apt-get install chromium; "
        "or give the path of Chromium or Chrome in TWIXT_CHROMIUM"
    )


class Chromium:
    """A running browser. Raises TwixtError if there is none, or if it does not start.

    Args:
        display: X display to draw on, such as `:99`. None: the browser draws without a display.
        size_px: Width and height of the window, or of the page if there is no display.
        is_software: True to draw WebGL2 by llvmpipe; False: as the browser itself decides.
        flags: Further flags.
        hosts: Hosts that the browser may ask, besides the loopback.
        is_kiosk: True to fill the display with the page, without the browser's own controls.
    """

    def __init__(
        self, display: str | None = None, size_px: tuple[int, int] = (800, 600), is_software: bool = True,
        flags: Sequence[str] = (), hosts: Sequence[str] = (), is_kiosk: bool = False,
    ) -> None:  # fmt: skip
        self._program, self._size_px = find_chromium(), size_px
        self._folder = tempfile.mkdtemp(prefix="twixt-chromium-")
        excluded = ", ".join(f"EXCLUDE {host}" for host in ("127.0.0.1", "localhost", "[::1]", *hosts))
        command = [self._program, f"--user-data-dir={self._folder}"]
        command += [f"--host-resolver-rules=MAP * ~NOTFOUND, {excluded}"]
        command += [*ALWAYS, *flags, "--window-size={},{}".format(*size_px)]
        command += ["--headless=new"] if display is None else []
        command += [*LLVMPIPE, WITHOUT_X if display is None else ON_X] if is_software else []
        command += ["--kiosk"] if is_kiosk else []
        command += ["--no-sandbox", "--test-type"] if IS_ROOT else []
        environ = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environ |= {"TMPDIR": self._folder} | ({"DISPLAY": display} if display is not None else {})
        with open(os.path.join(self._folder, "stderr"), "wb") as errors:
            self._process = subprocess.Popen(
                [*command, "about:blank"], env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=errors, start_new_session=True,
            )  # fmt: skip
        self._is_headless = display is None
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", WATCHER, str(self._process.pid), self._folder], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        atexit.register(self.close)
        self._is_closed, self._owner, self._ends = False, os.getpid(), ExitStack()
        self._socket: Any = None
        self._pages: dict[str, Page] = {}
        self._count = 0
        try:
            port, path = self._address()
            channel = socket.create_connection(("127.0.0.1", port))
            url = f"ws://127.0.0.1:{port}{path}"
            connection = connect(url, sock=channel, max_size=None, compression=None, ping_interval=None)
            self._socket = self._ends.enter_context(connection)
            targets = self.call("Target.getTargets")["targetInfos"]
            self.page = self._attached(next(each["targetId"] for each in targets if each["type"] == "page"))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process id, and id of the process group, of the browser."""
        return self._process.pid

    def new_page(self) -> Page:
        """Opens another tab in front of the others, which are hidden from then on."""
        return self._attached(self.call("Target.createTarget", url="about:blank")["targetId"])

    def close(self) -> None:
        """Ends the browser and removes its folder. Does nothing if that was done, and in a forked copy of the process
        that started it."""
        atexit.unregister(self.close)
        if self._is_closed or os.getpid() != self._owner:
            return
        self._is_closed = True
        self._watcher.communicate()
        self._process.wait()
        self._ends.close()

    def call(
        self, method: str, session: str | None = None, limit_s: float = ANSWER_LIMIT_S, **parameters: Any
    ) -> dict[str, Any]:
        """Sends a message of the DevTools protocol and returns its result. Raises PageError, also if there is no answer
        within `limit_s`."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        until_s = time.monotonic() + limit_s
        with suppress(ConnectionClosed):  # `receive` says so
            self._socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while (answer := self.receive(until_s, method)).get("id") != message["id"]:
            pass
        if error := answer.get("error"):
            raise PageError(f"{method}: {error['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def receive(self, until_s: float, what: str) -> dict[str, Any]:
        """The next message of the browser; a page's event is noted in its page. Raises PageError if none comes before
        `until_s`, an instant of time.monotonic()."""
        try:
            message: dict[str, Any] = json.loads(self._socket.recv(max(0.0, until_s - time.monotonic())))
        except TimeoutError:
            raise PageError(f"{what}: the browser has not answered in time") from None
        except ConnectionClosed:
            raise PageError(f"{what}: the browser has ended") from None
        page = self._pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.note(message["method"], message["params"])
        return message

    def _attached(self, target: str) -> Page:
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, target, session)
        page.call("Page.enable")
        page.call("Page.setLifecycleEventsEnabled", enabled=True)
        page.call("Runtime.enable")
        page.call("Log.enable")
        if self._is_headless:  # whose window has room for the browser's own controls, which are not there
            page.emulate(*self._size_px, is_touch=False)
        return page

    def _address(self) -> tuple[int, str]:
        """Port and path of the DevTools protocol, as soon as the browser has written them."""
        file, until_s = os.path.join(self._folder, "DevToolsActivePort"), time.monotonic() + START_LIMIT_S
        while True:
            with suppress(FileNotFoundError):
                with open(file, encoding="ascii") as opened:
                    lines = opened.read().split()
                if len(lines) == 2:
                    return int(lines[0]), lines[1]
            if self._process.poll() is not None or time.monotonic() > until_s:
                with open(os.path.join(self._folder, "stderr"), encoding="utf-8", errors="replace") as opened:
                    said = " | ".join(opened.read().strip().splitlines()[-3:])
                raise TwixtError(f"{self._program} does not start: {said or 'it said nothing'}")
            time.sleep(POLL_S)


class Page:
    """A tab of a `Chromium`. console: its messages so far, each with its level, such as `warning: ...`. errors: its
    uncaught errors, and its messages of level error."""

    def __init__(self, chromium: Chromium, target: str, session: str) -> None:
        self.console: list[str] = []
        self.errors: list[str] = []
        self._chromium, self._target, self._session = chromium, target, session
        self._loaded: set[str] = set()

    def call(self, method: str, limit_s: float = ANSWER_LIMIT_S, **parameters: Any) -> dict[str, Any]:
        """Sends a message of the DevTools protocol to this page and returns its result. Raises PageError."""
        return self._chromium.call(method, self._session, limit_s, **parameters)

    def open(self, url: str) -> None:
        """Opens an address and waits until the page is loaded. Raises PageError."""
        answer = self.call("Page.navigate", url=url)
        if text := answer.get("errorText"):
            raise PageError(f"cannot open {url}: {text}")
        until_s = time.monotonic() + ANSWER_LIMIT_S
        while (loader := answer.get("loaderId")) and loader not in self._loaded:
            self._chromium.receive(until_s, f"opening {url}")

    def evaluate(self, expression: str, limit_s: float = ANSWER_LIMIT_S) -> Any:
        """The value of a JavaScript expression; a promise is awaited. The value must be what JSON can hold. Raises
        PageError with the page's own text if the expression throws or the promise is rejected."""
        how = {"awaitPromise": True, "returnByValue": True, "userGesture": True}
        answer = self.call("Runtime.evaluate", limit_s, expression=expression, **how)
        if details := answer.get("exceptionDetails"):
            raise PageError(_error_text(details))
        return answer["result"].get("value")

    def wait_for(self, expression: str, timeout_s: float = 30.0) -> Any:
        """The value of an expression as soon as it is true. The page itself looks, at each of its frames and every
        20 ms. Raises PageError after `timeout_s`, with the errors of the page."""
        promise = f"""new Promise((resolve, reject) => {{
            const untilMs = performance.now() + {timeout_s * 1e3};
            let isDone = false;
            const look = again => {{
                try {{
                    const value = isDone || ({expression});
                    isDone ||= value || performance.now() > untilMs;
                    isDone ? resolve(value) : again();
                }} catch (error) {{ isDone = true; reject(error); }}
            }};
            const onFrame = () => look(() => requestAnimationFrame(onFrame));
            const onTimer = () => look(() => setTimeout(onTimer, 20));
            onFrame(); onTimer();
        }})"""
        answer = self.evaluate(promise, timeout_s + ANSWER_LIMIT_S)
        if not answer:
            errors = f"; errors of the page: {' | '.join(self.errors[-3:])}" if self.errors else ""
            raise PageError(f"waited {timeout_s:g} s in vain for {expression}{errors}")
        return answer

    def screenshot(self) -> bytes:
        """Picture of the page, as a PNG file's bytes."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def emulate(self, width_px: int = 390, height_px: int = 844, scale: float = 1.0, is_touch: bool = True) -> None:
        """Shows the page as a device of this size does; by default a phone's, with a finger instead of a mouse."""
        size = {"width": width_px, "height": height_px, "deviceScaleFactor": scale}
        self.call("Emulation.setDeviceMetricsOverride", mobile=is_touch, **size)
        self.call("Emulation.setTouchEmulationEnabled", enabled=is_touch, maxTouchPoints=5 if is_touch else 1)

    def activate(self) -> None:
        """Brings this tab to the front; the others are hidden from then on."""
        self._chromium.call("Target.activateTarget", targetId=self._target)

    def send_mouse(self, kind: str, x_px: float, y_px: float, button: str = "none", **more: Any) -> None:
        """Moves or presses the mouse. kind: mousePressed, mouseReleased, mouseMoved or mouseWheel. button: left,
        middle, right or none. more: such as deltaY of the wheel, or modifiers (1 Alt, 2 Ctrl, 8 Shift)."""
        held = {"none": 0, "left": 1, "right": 2, "middle": 4}[button] if kind != "mouseReleased" else 0
        clicks = int(kind in ("mousePressed", "mouseReleased"))
        where: dict[str, Any] = {"x": x_px, "y": y_px, "button": button, "buttons": held, "clickCount": clicks}
        wheel = {"deltaX": 0, "deltaY": 0} if kind == "mouseWheel" else {}
        self.call("Input.dispatchMouseEvent", **{"type": kind, **where, **wheel, **more})

    def send_key(self, key: str, kinds: Sequence[str] = ("keyDown", "keyUp"), modifiers: int = 0) -> None:
        """Presses and releases a key. key: its name as in a KeyboardEvent, such as `a`, `Enter` or `ArrowLeft`."""
        number, text = KEYS.get(key, (ord(key[0].upper()), key if len(key) == 1 else ""))
        code = f"Key{key.upper()}" if len(key) == 1 and key.isalpha() else {" ": "Space"}.get(key, key)
        code = f"Digit{key}" if key.isdigit() else code
        for kind in kinds:
            typed: dict[str, Any] = {"text": text} if text and kind == "keyDown" else {}
            names: dict[str, Any] = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
            self.call("Input.dispatchKeyEvent", **{"type": kind, **names, **typed})

    def send_touch(self, kind: str, *points_px: tuple[float, float]) -> None:
        """Puts fingers on the page. kind: touchStart, touchMove, touchEnd or touchCancel. points_px: where each finger
        is from now on; none for touchEnd and touchCancel."""
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points_px)]
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    def note(self, event: str, values: dict[str, Any]) -> None:
        """Collects a message of the page."""
        if event == "Page.lifecycleEvent" and values["name"] == "load":
            self._loaded.add(values["loaderId"])
        elif event == "Runtime.exceptionThrown":
            self._add("error", _error_text(values["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled":
            self._add(values["type"], " ".join(_shown(each) for each in values["args"]))
        elif event == "Log.entryAdded":
            entry = values["entry"]
            self._add(entry["level"], f"{entry['text']} {entry.get('url', '')}".strip())
        elif event == "Inspector.targetCrashed":
            self._add("error", "the page has crashed")

    def _add(self, level: str, text: str) -> None:
        self.console.append(f"{level}: {text}")
        if level in ("error", "assert"):
            self.errors.append(text)


def _error_text(details: dict[str, Any]) -> str:
    thrown = details.get("exception", {})
    return str(thrown.get("description") or thrown.get("value") or details["text"])


def _shown(value: dict[str, Any]) -> str:
    return str(value.get("value", value.get("description", value["type"])))
