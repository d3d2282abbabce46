"""Commands that are built on first use: a start makes the options of its own command only.

A table keeps the function of each command and the sides whose flags it has; click's objects are made when
the command is used. Not here: the commands themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from twixt.cli.flags import OWN_HEADING, flags_of


class LazyCommand(NamedTuple):
    """A command that is not built yet. sides: of `Config`, whose flags it has beside its parameters. settings: click's,
    of its context."""

    function: Callable[..., int | None]
    parameters: tuple[click.Parameter, ...]
    sides: tuple[str, ...]
    settings: dict[str, Any]

    def build(self, name: str) -> click.Command:
        """The command, with all its options."""
        return HeadedCommand(
            name,
            params=[*self.parameters, *flags_of(*self.sides)],
            callback=self.function,
            help=self.function.__doc__,
            context_settings=self.settings,
        )


class CommandTable(dict[str, LazyCommand]):
    """Commands by name, in the order in which they are shown."""

    def command(
        self, *parameters: click.Parameter, sides: tuple[str, ...] = (), **settings: Any
    ) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
        """A decorator that enters a function in the table, under its own name."""

        def keep(function: Callable[..., int | None]) -> Callable[..., int | None]:
            self[function.__name__] = LazyCommand(function, parameters, sides, settings)
            return function

        return keep


class HeadedCommand(click.Command):
    """A command whose `--help` lists options under their headings, those without one first."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        under: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(context):
            if isinstance(option, click.Option) and (record := option.get_help_record(context)):
                under.setdefault(getattr(option, "heading", OWN_HEADING), []).append(record)
        for heading in sorted(under, key=OWN_HEADING.__ne__):
            with formatter.section(heading):
                formatter.write_dl(under[heading])


class CommandGroup(click.Group):
    """A group whose commands come from a table. default: the command that runs where none is named."""

    def __init__(self, table: CommandTable, default: str | None = None, **how: Any) -> None:
        super().__init__(**how)
        self._table, self._default = table, default

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        return self._table[name].build(name) if name in self._table else None

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        # While a shell completes the first word, `shell_complete` adds the words of the default command.
        is_named = bool(args) and (args[0] in self._table or args[0] in (*context.help_option_names, "--version"))
        if self._default is not None and not is_named and (args or not context.resilient_parsing):
            args = [self._default, *args]
        return super().parse_args(context, args)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[Any]:
        """Completes the names of commands, and the first word of the default command."""
        found = super().shell_complete(context, incomplete)
        if self._default is None:
            return found
        command = self._table[self._default].build(self._default)
        with command.make_context(self._default, [], parent=context, resilient_parsing=True) as below:
            found += [item for item in command.shell_complete(below, incomplete) if item.value != "--help"]
            if not incomplete.startswith("-"):
                found += next(p for p in command.params if isinstance(p, click.Argument)).shell_complete(
                    below, incomplete
                )
        return found
