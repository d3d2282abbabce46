"""What a shell completes: worlds, running simulations, methods, files. Choices click completes by itself.

Standard library and click alone: a press of Tab must not wait for numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from twixt.ipc.config import INTERPOLATIONS

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def worlds(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Built-in worlds."""
    from twixt.sim.worlds import WORLDS

    return _starting((CompletionItem(name, help=entry.description) for name, entry in WORLDS.items()), incomplete)


def simulations(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Those that are running."""
    from twixt.ipc.door import running

    return _starting((CompletionItem(name) for name in running()), incomplete)


def methods(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Methods of interpolation."""
    return _starting((CompletionItem(name) for name in INTERPOLATIONS), incomplete)


def files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The shell knows them."""
    return [CompletionItem(incomplete, type="file")]


# By field of `Config`, and by what stands for the value in `--help`.
FIELDS: dict[str, Completer] = {"interpolation": methods}
FILES: dict[str, Completer] = {"FILE": files, "LOG": files}


def _starting(items: Iterable[CompletionItem], incomplete: str) -> list[CompletionItem]:
    return [item for item in items if item.value.startswith(incomplete)]
