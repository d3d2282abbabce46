"""Commands that are made when they are asked for: a start pays for the options of its own command alone.

One idea: a table holds of each command what it does and whose flags it has; click's objects come last.
Does not know the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from twixt.cli.flags import OWN_HEADING, flags_of


class Entry(NamedTuple):
    """A command to be. sides: whose flags it has, beside its parameters. below: commands of its own."""

    does: Callable[..., int | None]
    parameters: tuple[click.Parameter, ...]
    sides: tuple[str, ...]
    below: Table | None

    def made(self, name: str) -> click.Command:
        """The command, with all its options."""
        about: dict[str, Any] = {"callback": self.does, "help": self.does.__doc__}
        parameters = [*self.parameters, *flags_of(*self.sides)]
        if self.below is not None:
            return Commands(self.below, name=name, params=parameters, invoke_without_command=True, **about)
        return ByHeading(name, params=parameters, **about)


class Table(dict[str, Entry]):
    """Entries by name, in the order in which they are shown."""

    def command(
        self, *parameters: click.Parameter, sides: tuple[str, ...] = (), below: Table | None = None
    ) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
        """Puts a function into the table, under its own name."""

        def keep(does: Callable[..., int | None]) -> Callable[..., int | None]:
            self[does.__name__] = Entry(does, parameters, sides, below)
            return does

        return keep


class ByHeading(click.Command):
    """`--help` lists the options under their headings, those without one first."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        under: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(context):
            if isinstance(option, click.Option) and (record := option.get_help_record(context)):
                under.setdefault(getattr(option, "heading", OWN_HEADING), []).append(record)
        for heading in sorted(under, key=OWN_HEADING.__ne__):
            with formatter.section(heading):
                formatter.write_dl(under[heading])


class Commands(click.Group):
    """A group whose commands come from a table. default: the one that is meant where none is named."""

    def __init__(self, table: Table, default: str | None = None, **how: Any) -> None:
        super().__init__(**how)
        self._table, self._default = table, default

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        return self._table[name].made(name) if name in self._table else None

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        # A shell that completes the first word is told of commands, see shell_complete.
        is_named = bool(args) and (args[0] in self._table or args[0] in (*context.help_option_names, "--version"))
        if self._default is not None and not is_named and (args or not context.resilient_parsing):
            args = [self._default, *args]
        return super().parse_args(context, args)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[Any]:
        """Commands, and what could come first after the default one."""
        found = super().shell_complete(context, incomplete)
        if self._default is None:
            return found
        command = self._table[self._default].made(self._default)
        with command.make_context(self._default, [], parent=context, resilient_parsing=True) as below:
            found += [item for item in command.shell_complete(below, incomplete) if item.value != "--help"]
            if not incomplete.startswith("-"):
                found += next(p for p in command.params if isinstance(p, click.Argument)).shell_complete(
                    below, incomplete
                )
        return found
