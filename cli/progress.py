"""Progress of a measurement on standard error, and all of its results written, though one of the files fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import is_terminal, print_notice

Say = Callable[[str], object]


def write_each(*ways: Callable[[], None]) -> None:
    """Calls all functions, also after one that fails: a full disk must not cost the results of minutes of measuring.

    Raises the first TwixtError at the end; prints the others.
    """
    failed: list[TwixtError] = []
    for way in ways:
        try:
            way()
        except TwixtError as error:
            failed.append(error)
    for other in failed[1:]:
        print_notice(str(other))
    if failed:
        raise failed[0]


@contextmanager
def progress(is_logged: bool = False) -> Iterator[Say]:
    """Shows the current step on standard error. is_logged: without a terminal, steps are printed as lines."""
    if not is_terminal():
        yield print_notice if is_logged else _ignore
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("", spinner="line" if console.options.ascii_only else "dots") as status:
        yield status.update


def _ignore(text: str) -> None:
    pass
