from __future__ import annotations

import fcntl
import io
import os
import subprocess
import sys

import pytest

from tests.pipes import full_pipe, unread_pipe
from twixt.ipc.process.notices import is_terminal, print_current_exception, print_lines, print_notice

PATIENCE_S = 60.0
NOTICE = "from twixt.ipc.process.notices import print_current_exception, print_notice; import os, sys\n"


class Raising:
    """A stream whose every use raises `error`."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def write(self, text: str) -> int:
        raise self._error

    def fileno(self) -> int:
        raise self._error


def ends_with(code: str, errors: int | None, **more: object) -> int:
    """Exit code of a Python that runs `code` and has `errors` as its standard error."""
    return subprocess.run(
        [sys.executable, "-c", NOTICE + code],
        stderr=errors,
        timeout=PATIENCE_S,
        **more,  # type: ignore[call-overload]
    ).returncode


def test_a_notice_is_one_line_that_names_twixt(capsys: pytest.CaptureFixture[str]) -> None:
    print_notice("a floor was lost")
    print_notice("it fell", "Traceback\n")
    assert capsys.readouterr().err == "twixt: a floor was lost\nTraceback\ntwixt: it fell\n"


def test_a_notice_goes_to_the_descriptor_behind_what_the_program_has_begun_to_write() -> None:
    code = "sys.stderr.write('half '); print_notice('a'); print('b', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", NOTICE + code], capture_output=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, b"half twixt: a\nb\n")


def test_a_full_disk_changes_neither_the_loop_nor_the_exit_code() -> None:
    with open("/dev/full", "wb") as full:
        assert ends_with("print_notice('a'); print_notice('b' * 100_000); sys.exit(7)", full.fileno()) == 7


@pytest.mark.parametrize("sigpipe", ["SIG_IGN", "SIG_DFL"])
def test_a_pipe_without_a_reader_changes_neither_the_loop_nor_the_exit_code(sigpipe: str) -> None:
    code = f"import signal; signal.signal(signal.SIGPIPE, signal.{sigpipe}); print_notice('a'); sys.exit(7)"
    with unread_pipe() as writing:
        assert ends_with(code, writing) == 7
        assert ends_with("sys.stderr = os.fdopen(2, 'w', closefd=False)\n" + code, writing) == 7


@pytest.mark.parametrize("replaced", ["", "sys.stderr = open(2, 'w', closefd=False)\n"])
def test_a_full_pipe_that_nobody_reads_does_not_hold_up_the_loop(replaced: str) -> None:
    with full_pipe() as (reading, writing):
        assert ends_with(replaced + "for _ in range(1000): print_notice('a' * 10_000)\nsys.exit(7)", writing) == 7
        size = fcntl.fcntl(reading, fcntl.F_GETPIPE_SZ)
        assert os.read(reading, 2 * size) == b"x" * size


def test_what_does_not_fit_is_dropped_and_what_comes_later_is_printed() -> None:
    code = "print_notice('a' * 1_000_000); print('full', flush=True); sys.stdin.readline(); print_notice('again')"
    child = subprocess.Popen(
        [sys.executable, "-c", NOTICE + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"full\n"
        held = os.read(child.stderr.fileno(), 1_000_000)
        child.stdin.write(b"\n")
        child.stdin.close()
        rest = child.stderr.read()
    assert held == b"twixt: " + b"a" * (len(held) - 7)
    assert rest == b"twixt: again\n"


@pytest.mark.parametrize("error", [OSError(28, "full"), ValueError("closed"), RuntimeError("theirs"), MemoryError()])
def test_no_error_of_a_replaced_stream_comes_through(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Raising(error))
    print_notice("a")


def test_an_interrupt_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        print_notice("a")
    with full_pipe() as (_, writing):
        code = (
            "import signal, threading\n"
            "threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
            "try:\n  for _ in range(10**9): print_notice('a')\nexcept KeyboardInterrupt: sys.exit(7)"
        )
        assert ends_with(code, writing) == 7


def test_lines_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines("Usage: twixt\n\nError\n")
    assert capsys.readouterr().err == "Usage: twixt\n\nError\n"


def test_whether_it_is_a_terminal_is_known_of_any_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (None, Raising(ValueError("closed")), object(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        assert not is_terminal()
    near, far = os.openpty()
    with open(near, "rb"), open(far, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert is_terminal()
        monkeypatch.undo()


def test_no_stream_and_a_closed_one_are_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed, object()):
        monkeypatch.setattr(sys, "stderr", stream)
        print_notice("a")
    monkeypatch.delattr(sys, "stderr")
    print_notice("a")


def test_standard_error_may_be_closed_before_the_program_starts() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", NOTICE + "print_notice('a'); sys.exit(7)"],
        timeout=PATIENCE_S,
    )
    assert done.returncode == 7
    assert ends_with("os.close(2); print_notice('a'); sys.exit(7)", subprocess.PIPE) == 7


def test_a_stream_with_write_alone_gets_the_whole_notice_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Notebook:
        def __init__(self) -> None:
            self.taken: list[str] = []

        def write(self, text: str) -> None:
            self.taken.append(text)

    notebook = Notebook()
    monkeypatch.setattr(sys, "stderr", notebook)
    print_notice("a" * 10_000)
    assert notebook.taken == ["twixt: " + "a" * 10_000 + "\n"]


@pytest.mark.parametrize(
    ("encoding", "written"),
    [("ascii", rb"\u2588 \xe9 \udcff"), ("latin-1", b"\\u2588 \xe9 \\udcff"), ("utf-8", "\u2588 é \\udcff".encode())],
)
def test_characters_that_the_stream_does_not_have_are_written_as_escapes(
    encoding: str, written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding=encoding, errors="strict"))
    print_notice("\u2588 é \udcff")
    assert raw.getvalue() == b"twixt: " + written + b"\n"
    done = subprocess.run(
        [sys.executable, "-c", NOTICE + r"print_notice('\u2588 \xe9 \udcff')"],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        stderr=subprocess.PIPE,
        timeout=PATIENCE_S,
    )
    assert done.stderr == b"twixt: " + written + b"\n"


def test_threads_may_print_until_the_end_of_the_interpreter() -> None:
    code = (
        "import threading\n"
        "started = threading.Barrier(5)\n"
        "def many():\n  print_notice('thread'); started.wait()\n  while True: print_notice('thread')\n"
        "for _ in range(4): threading.Thread(target=many, daemon=True).start()\n"
        "started.wait(); sys.exit(7)"
    )
    done = subprocess.run([sys.executable, "-c", NOTICE + code], stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    assert done.returncode == 7
    assert set(done.stderr.splitlines()) == {"twixt: thread"}


def test_what_is_destroyed_with_the_interpreter_may_print() -> None:
    code = "class Kept:\n  def __del__(self, say=print_notice): say('last')\nkept = Kept()\nsys.exit(7)"
    done = subprocess.run([sys.executable, "-c", NOTICE + code], stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (7, "twixt: last\n")


def test_an_error_that_is_handled_is_printed_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("theirs")
    except ValueError:
        print_current_exception()
    assert capsys.readouterr().err.splitlines()[-1] == "ValueError: theirs"


def test_the_users_hook_gets_the_error_and_may_fail(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def hook(kind: type, error: BaseException, trace: object) -> None:
        seen.append(error)
        if len(seen) > 1:
            raise RuntimeError("the hook's")

    monkeypatch.setattr(sys, "excepthook", hook)
    for _ in range(2):
        try:
            raise ValueError("theirs")
        except ValueError:
            print_current_exception()
    assert [str(error) for error in seen] == ["theirs", "theirs"]
    errors = capsys.readouterr().err
    assert "ValueError: theirs" in errors


def test_an_exception_on_a_full_disk_is_no_other_one() -> None:
    code = "try: 1 / 0\nexcept ZeroDivisionError: print_current_exception()\nsys.exit(7)"
    with open("/dev/full", "wb") as full:
        assert ends_with(code, full.fileno()) == 7
