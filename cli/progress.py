"""This module shows the progress of a measurement on standard error. It also writes all results of a measurement, even
if one result cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import is_terminal, print_notice

Say = Callable[[str], object]


def write_each(*writers: Callable[[], None]) -> None:
    """Calls all functions, even if one fails. So a failed write does not lose the other results of a long measurement.
    After the last call, raises the first TwixtError, and prints all other errors."""
    failed: list[TwixtError] = []
    for write in writers:
        try:
            write()
        except TwixtError as error:
            failed.append(error)
    for other in failed[1:]:
        print_notice(str(other))
    if failed:
        raise failed[0]


@contextmanager
def progress(is_logged: bool = False) -> Iterator[Say]:
    """Shows the current step on standard error. is_logged: has an effect if standard error is no terminal. If it is
    True, each step is then printed as a line. If it is False, nothing is then printed."""
    if not is_terminal():
        yield print_notice if is_logged else _ignore
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("", spinner="line" if console.options.ascii_only else "dots") as status:
        yield status.update


def _ignore(text: str) -> None:
    pass
