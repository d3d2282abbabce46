"""Who may write to the standard streams: in a user's program, one module writes to standard error, and it never raises."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.house_imports import modules_of

ROOT = Path(__file__).parents[2]
NOTICES = "ipc/process/notices.py"
# Uses of standard output, by module: results of a command, in processes of twixt's own; and looks at who reads it.
OUTPUT = {
    "cli/command_line.py": {"sys.stdout", "click.echo"},
    "ipc/config/files.py": {"sys.stdout"},
    "ipc/errors.py": {"sys.stdout"},
    "relay/serve/process.py": {"print"},
    "render/display/glfw_library.py": {"sys.stdout"},
    "render/measure/report.py": {"sys.stdout", "Console"},
    "sim/process/figures.py": {"print"},
    "twixt.py": {"sys.stdout"},
    # Progress in a terminal: nothing is printed where standard error is none.
    "cli/progress.py": {"Console"},
}
# Calls of the standard library that print, raise as a print does, or call a hook of the user's.
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__", "excepthook", "__excepthook__", "displayhook"}
PRINTING = {
    "traceback": {"print_exc", "print_exception", "print_last", "print_stack", "print_tb"},
    "warnings": {"warn", "warn_explicit", "showwarning"},
    "logging": {"debug", "info", "warning", "error", "exception", "critical", "log", "basicConfig", "StreamHandler"},
    "click": {"echo", "secho", "echo_via_pager"},
    "faulthandler": {"enable", "dump_traceback", "dump_traceback_later"},
}
WRITERS = {"write", "fdopen", "open"}


def uses_in(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of each use of a standard stream."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name("sys"), attr=attr) if attr in STREAMS:
                yield node.lineno, f"sys.{attr}"
            case ast.Attribute(value=ast.Name(module), attr=attr) if attr in PRINTING.get(module, ()):
                yield node.lineno, f"{module}.{attr}"
            case ast.ImportFrom(module=str(module), names=names):
                taken = {name.name for name in names}
                for name in sorted(taken & (STREAMS if module == "sys" else PRINTING.get(module, set()))):
                    yield node.lineno, f"{module}.{name}"
            case ast.Call(func=ast.Name(("print" | "Console" | "input" | "pprint") as name)):
                yield node.lineno, name
            case ast.ClassDef(bases=[ast.Name("Console"), *_]):
                yield node.lineno, "Console"
            case ast.Call(func=ast.Attribute(attr=attr), args=[ast.Constant(value=1 | 2), *_]) if attr in WRITERS:
                yield node.lineno, f"{attr} to a standard descriptor"
            case ast.Call(func=ast.Name("open"), args=[ast.Constant(value=1 | 2), *_]):
                yield node.lineno, "open of a standard descriptor"


def product() -> dict[str, Path]:
    """Modules that run in a user's program, in a viewer or in a command."""
    paths = {str(path.relative_to(ROOT)): path for path in modules_of(ROOT).values()}
    return {name: path for name, path in paths.items() if name != NOTICES}


def test_messages_go_to_standard_error_through_one_function_alone() -> None:
    wrong = [
        f"{name}:{line}: {use}"
        for name, path in sorted(product().items())
        for line, use in uses_in(path.read_text())
        if use not in OUTPUT.get(name, ())
    ]
    assert not wrong, "write messages with twixt.ipc.process.notices, which never raises:\n" + "\n".join(wrong)


def test_modules_that_may_write_still_do() -> None:
    modules = product()
    for name, allowed in OUTPUT.items():
        assert allowed <= {use for _, use in uses_in(modules[name].read_text())}, name


@pytest.mark.parametrize(
    ("source", "use"),
    [
        ("import sys\nprint('a', file=sys.stderr)", "print"),
        ("import sys\nsys.stderr.write('a')", "sys.stderr"),
        ("from sys import stderr", "sys.stderr"),
        ("import sys\nsys.excepthook(*sys.exc_info())", "sys.excepthook"),
        ("import sys\nstream = sys.__stdout__", "sys.__stdout__"),
        ("import traceback\ntraceback.print_exc()", "traceback.print_exc"),
        ("from traceback import print_exception", "traceback.print_exception"),
        ("import warnings\nwarnings.warn('a')", "warnings.warn"),
        ("import logging\nlogging.warning('a')", "logging.warning"),
        ("import os\nos.write(2, b'a')", "write to a standard descriptor"),
        ("f = open(2, 'w')", "open of a standard descriptor"),
        ("def f():\n    Console(stderr=True)", "Console"),
        ("click.echo('a', err=True)", "click.echo"),
    ],
)
def test_each_way_of_writing_is_found(source: str, use: str) -> None:
    assert use in {found for _, found in uses_in(source)}
