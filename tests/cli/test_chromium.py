"""A driven Chromium: values, waits, errors, hands, and what is left when it ends. One browser for the whole file."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from twixt.cli.chromium import Chromium, Page, PageError, find_chromium
from twixt.ipc.errors import TwixtError

try:
    find_chromium()
except TwixtError as missing:
    pytest.skip(str(missing), allow_module_level=True)

PAGE = """data:text/html,<meta name=viewport content='width=device-width'><title>hands</title><input id=words>
<script>
window.heard = [];
for (const kind of ['mousedown', 'mousemove', 'touchstart', 'touchend', 'keydown'])
    addEventListener(kind, event => heard.push([kind, event.key ?? event.touches?.length ?? event.clientX]));
</script>""".replace("\n", " ")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as browser:
        yield browser


@pytest.fixture
def page(chromium: Chromium) -> Page:
    chromium.page.activate()
    chromium.page.open(PAGE)
    return chromium.page


def heard(page: Page) -> list[list[object]]:
    return page.evaluate("heard.splice(0)")


def test_values_and_promises_come_back(page: Page) -> None:
    assert page.evaluate("({a: [1, 'b'], title: document.title})") == {"a": [1, "b"], "title": "hands"}
    assert page.evaluate("new Promise(resolve => setTimeout(() => resolve(7), 5))") == 7


def test_an_error_has_the_text_of_the_page(page: Page) -> None:
    with pytest.raises(PageError, match="TypeError: Cannot read properties of undefined"):
        page.evaluate("window.nothing.at")
    with pytest.raises(PageError, match="Error: too late"):
        page.evaluate("Promise.reject(new Error('too late'))")


def test_a_wait_ends_with_the_value_or_names_the_expression(page: Page) -> None:
    assert page.wait_for("performance.now() > 1 && 'now'") == "now"
    with pytest.raises(PageError, match="waited 0.05 s in vain for window.never"):
        page.wait_for("window.never", 0.05)
    with pytest.raises(PageError, match="ReferenceError"):
        page.wait_for("nothingAtAll")


def test_messages_and_uncaught_errors_are_collected(page: Page) -> None:
    begin = len(page.console), len(page.errors)
    page.evaluate("console.warn('low', 3); setTimeout(() => {window.isThrown = true; throw new Error('lost')}, 0)")
    page.wait_for("window.isThrown")
    page.evaluate("0")
    assert page.console[begin[0]] == "warning: low 3"
    assert [text.split("\n")[0] for text in page.errors[begin[1] :]] == ["Error: lost"]


def test_a_page_that_is_not_there_is_an_error(chromium: Chromium) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(PageError, match="ERR_CONNECTION_REFUSED"):
        chromium.page.open(f"http://127.0.0.1:{port}/")


def test_no_host_but_the_loopback_is_asked(chromium: Chromium) -> None:
    with pytest.raises(PageError, match="ERR_NAME_NOT_RESOLVED"):
        chromium.page.open("http://192.0.2.1/")


def test_mouse_keys_and_fingers_reach_the_page(page: Page) -> None:
    page.evaluate("document.getElementById('words').focus()")
    for key in ("a", "B", "3", "Backspace"):
        page.send_key(key)
    assert page.evaluate("document.getElementById('words').value") == "aB"
    assert heard(page)[-1] == ["keydown", "Backspace"]
    page.send_mouse("mousePressed", 200, 300, "left")
    page.send_mouse("mouseMoved", 210, 300, "left")
    page.send_mouse("mouseReleased", 210, 300, "left")
    assert heard(page)[-2:] == [["mousedown", 200], ["mousemove", 210]]
    page.emulate(390, 844)
    assert page.evaluate("[innerWidth, innerHeight]") == [390, 844]
    page.send_touch("touchStart", (50, 60), (80, 90))
    page.send_touch("touchEnd")
    assert ["touchstart", 2] in heard(page)
    page.emulate(800, 600, is_touch=False)


def test_a_picture_has_the_size_of_the_page(page: Page) -> None:
    picture = page.screenshot()
    assert picture.startswith(b"\x89PNG")
    assert [int.from_bytes(picture[at : at + 4], "big") for at in (16, 20)] == [800, 600]


def test_a_new_tab_hides_the_one_before(chromium: Chromium, page: Page) -> None:
    other = chromium.new_page()
    page.wait_for("document.visibilityState == 'hidden'")
    assert other.evaluate("document.visibilityState") == "visible"
    page.activate()
    page.wait_for("document.visibilityState == 'visible'")


def test_webgl2_is_there(page: Page) -> None:
    assert page.evaluate("document.createElement('canvas').getContext('webgl2') !== null")


def test_nothing_is_left_of_a_browser_whose_program_was_killed() -> None:
    """Neither processes nor the folder, though no `close` ran."""
    code = f"""import os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import twixt
from twixt.cli.chromium import Chromium
browser = Chromium()
print(browser.pid, flush=True)
os.kill(os.getpid(), 9)"""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        environ = os.environ | {"TMPDIR": folder}
        done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=120)
        assert done.returncode == -9, done.stderr
        is_left = f'kill -0 -- -{int(done.stdout)} 2>/dev/null || [ -n "$(ls -A {folder})" ]'
        subprocess.run(["/bin/sh", "-c", f"while {is_left}; do sleep 0.05; done"], check=True, timeout=60)


def test_a_missing_browser_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TWIXT_CHROMIUM", str(tmp_path / "chrome"))
    with pytest.raises(TwixtError, match="TWIXT_CHROMIUM"):
        find_chromium()
    monkeypatch.delenv("TWIXT_CHROMIUM")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TwixtError, match="apt-get install chromium"):
        find_chromium()


def test_a_browser_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "chrome"
    program.write_text("#!/bin/sh\necho no libraries >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("TWIXT_CHROMIUM", str(program))
    with pytest.raises(TwixtError, match="does not start: no libraries"):
        Chromium()


def test_a_browser_that_ended_is_named() -> None:
    with Chromium() as browser:
        os.killpg(browser.pid, 9)
        with pytest.raises(PageError, match="the browser has ended"):
            browser.page.evaluate("1")
