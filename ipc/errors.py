"""Errors that users can act on: value, rule, way out; and the exit codes of every command.

Always: an error that a user or another process can cause is a `TwixtError`. `twixt.main` prints its message as one line,
without a traceback, and returns its exit code.
"""

from __future__ import annotations

import errno
import os
import select
import sys

TYPE_CHECKING = False  # as in `typing`, whose import takes some ms
if TYPE_CHECKING:
    from typing import Any

# Exit codes of commands and processes. FINISHED: no error, or the window was closed. FAILED: a limit of --fail-if is
# exceeded, the user's code crashed, or the other process ended without a reason. REFUSED: an input that cannot be
# used. A process ended by a signal other than Ctrl-C: see `exit_code_of`.
FINISHED, FAILED, REFUSED, WITHOUT_DISPLAY, INTERRUPTED = 0, 1, 2, 3, 130
# The reader of standard output has closed it, as after `| head -1`: 128 + SIGPIPE, as shells report it.
READER_GONE = 141
# Text in Python's error if no folder for temporary files is writable.
NO_TEMPORARY = "No usable temporary directory"

# Longest text of a refused value in a message, characters; and what replaces a whole number that is too long to print.
LONGEST_VALUE = 200
LARGE = "a larger whole number"

# Packages that twixt requires: name in `import` -> name to install.
PACKAGES = {
    "click": "click",
    "glcontext": "glcontext",
    "glfw": "glfw",
    "imgui_bundle": "imgui-bundle",
    "moderngl": "moderngl",
    "numpy": "numpy",
    "PIL": "pillow",
    "rich": "rich",
}

DISPLAY_VARIABLES: tuple[str, ...] = ("DISPLAY", "WAYLAND_DISPLAY") if sys.platform == "linux" else ()
NO_DISPLAY = f"no display ({' and '.join(DISPLAY_VARIABLES)} are not set)"


class TwixtError(Exception):
    """A refused input or a missing thing. The message names the value, the rule and the way out."""

    exit_code = REFUSED


class NoDisplay(TwixtError):
    """A window was required, and there is no display."""

    exit_code = WITHOUT_DISPLAY


def text_of(value: Any) -> str:
    """`repr` of a refused value, for a message: one line of at most `LONGEST_VALUE` characters for any value."""
    try:
        text = " ".join(repr(value).splitlines())
    except ValueError:
        return LARGE
    except Exception:  # raised by a `__repr__` of the user's
        return f"a {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def exit_code_of(process_code: int) -> int:
    """Exit code as a shell reports it. process_code: as `subprocess` has it, negative for a signal, which gives 128 +
    the signal's number."""
    return process_code if process_code >= 0 else 128 - process_code


def exhaustion_advice(error: Exception) -> str:
    """Advice where the system is out of memory, disk, descriptors or processes, or has no writable folder for temporary
    files; empty for other errors."""
    if not isinstance(error, OSError | ImportError):
        return ""
    if isinstance(error, OSError) and NO_TEMPORARY in str(error):
        return "no folder for temporary files is writable; set TMPDIR to one that is"
    # The system's text for ENFILE contains its text for EMFILE: checked first.
    if _is(error, errno.ENFILE):
        return f"this machine can open no more files ({os.strerror(errno.ENFILE)}); end other programs"
    if _is(error, errno.EMFILE):
        return f"this process may open no more files ({os.strerror(errno.EMFILE)}); allow more, such as: ulimit -n 1024"
    if _is(error, errno.ENOSPC):
        return (
            f"there is no room for what is to be written ({os.strerror(errno.ENOSPC)}); make room, or write elsewhere"
        )
    return ""


def is_utf8(name: str) -> bool:
    """False for a file name with bytes that are not UTF-8. Python can open such a file; some libraries cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_reader_gone(error: BaseException | None) -> bool:
    """True if `error` or what caused it is a write to standard output that nobody reads any more."""
    seen = set[int]()  # errors of imports may cause each other in a circle
    while error is not None and not isinstance(error, BrokenPipeError):
        seen.add(id(error))
        error = error.__cause__ or error.__context__
        if id(error) in seen:
            return False
    if error is None or sys.stdout is None:
        return False
    try:
        poller = select.poll()
        poller.register(sys.stdout.fileno(), 0)
    except (
        AttributeError,
        OSError,
        ValueError,
    ):  # no poll on this system, or an output that is closed or has no descriptor
        return False
    return any(event & select.POLLERR for _, event in poller.poll(0))


def damaged_module_advice(error: Exception) -> str:
    """Advice where a compiled module is incomplete, as after a full disk; empty for other errors."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_name != "_compile_bytecode":
        return ""
    path = trace.tb_frame.f_locals.get("bytecode_path")
    return f"Python finds its compiled module {path!r} damaged ({error}), as a full disk leaves it; delete it"


def missing_package_advice(error: BaseException | None) -> str:
    """Advice where a package of `PACKAGES` is missing, or was built for another Python; empty for other errors."""
    cause = error
    while isinstance(cause, ImportError):
        package = (cause.name or _raising_module(cause)).partition(".")[0]
        if package in PACKAGES:
            is_missing = isinstance(cause, ModuleNotFoundError) and cause.name == package
            fault = "is missing" if is_missing else f"cannot be imported ({str(cause).strip().partition(chr(10))[0]})"
            return (
                f"the package {PACKAGES[package]!r}, which twixt needs, {fault}; "
                f"install it for the Python that runs here, {sys.executable}"
            )
        cause = cause.__cause__ or cause.__context__
    return ""


def _raising_module(error: BaseException) -> str:
    """Name of the module in which the error was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))


def _is(error: OSError | ImportError, number: int) -> bool:
    """True if the system's error `number` caused it. An ImportError of compiled code has its text, but not its number."""
    return os.strerror(number) in str(error) if isinstance(error, ImportError) else error.errno == number
