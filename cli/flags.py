"""This module makes click options from the fields of `Config`, completes words for the shell, and builds commands when
they are used.

The name, the default and the help text of each flag are in `Config`. This module completes the names of worlds,
running simulations, interpolation methods and files; click itself completes choices. This module imports only the
standard library and click, because completion must not wait for numpy.

Not here: checks of values (`Config`), the commands (`command_line`).
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from twixt.ipc.config.flags import INTERPOLATIONS, Config, flag_name
from twixt.ipc.config.rules import ALL_TRAILS
from twixt.ipc.errors import TwixtError

# Words that are meant as the value of an option whose value may be left out: numbers, "all", and misspelled ones.
OPTIONAL_VALUE = re.compile(r"[+-]?(\d|\.\d|(all|inf|nan)\w{0,2}$)", re.IGNORECASE)
# Heading for options without a heading of their own.
OWN_HEADING = "Options"

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_worlds(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns the completions: names of built-in worlds."""
    from twixt.sim.worlds import WORLDS

    return _starting((CompletionItem(name, help=entry.description) for name, entry in WORLDS.items()), incomplete)


def complete_simulations(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns the completions: names of running simulations."""
    from twixt.ipc.session.listener import running

    return _starting((CompletionItem(name) for name in running()), incomplete)


def complete_methods(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns the completions: names of the built-in interpolation methods."""
    return _starting((CompletionItem(name) for name in INTERPOLATIONS), incomplete)


def complete_files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Requests that the shell itself lists files."""
    return [CompletionItem(incomplete, type="file")]


def complete_trails(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns the completions: the value of `--trails` that is a word."""
    return _starting([CompletionItem(ALL_TRAILS)], incomplete)


# Functions that complete the value of a flag. COMPLETED_FIELDS finds them by the field's name in `Config`. The other
# table finds them by the name of the flag's value in `--help` (metavar).
COMPLETED_FIELDS: dict[str, Completer] = {"interpolation": complete_methods, "trails": complete_trails}
COMPLETED_METAVARS: dict[str, Completer] = {"FILE": complete_files, "LOG": complete_files}


class Read(click.ParamType):
    """Type of a value that the function `read` converts from text. If `read` raises ValueError, the error's text is
    the broken rule."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name, self.read = name, read

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except TwixtError:
            raise
        except ValueError as error:
            self.fail(f"must be {self.name}, got {value!r} ({error})", parameter, context)


class Flag(click.Option):
    """An option that `--help` lists under a heading. bare: text that stands for the option's value if the user leaves
    the value out; "" if the value is required."""

    def __init__(self, *names: Any, heading: str, bare: str = "", **how: Any) -> None:
        super().__init__(*names, **how)
        self.heading, self.bare = heading, bare

    def with_value(self, words: list[str]) -> list[str]:
        """The words of a command line, in which this option has its value in the same word. The next word is its value
        only if it looks like one: in `--trails circles` it is the world."""
        made, left = list[str](), list(words)
        while left:
            word = left.pop(0)
            if word == "--":
                return [*made, word, *left]
            if word in self.opts:
                is_value = bool(left) and OPTIONAL_VALUE.match(left[0]) is not None
                word = f"{word}={left.pop(0) if is_value else self.bare}"
            made.append(word)
        return made


def flags_of(*sides: str) -> list[Flag]:
    """Flags of the given sides (BOTH, SIM, VIEW, MEASURE), in the order of the fields of `Config`."""
    return [_flag(item) for item in dataclasses.fields(Config) if item.metadata.get("side") in sides]


def _flag(item: dataclasses.Field[Any]) -> Flag:
    about, spelled = item.metadata, flag_name(item.name)
    shared = {"heading": about["heading"], "help": about["help"]}
    if isinstance(item.default, bool):
        negated = spelled.replace("--", "--no-", 1)
        declared = f"{spelled}/{negated}" if item.default else spelled
        return Flag([declared, item.name], is_flag=True, default=item.default, **shared)
    if about["stores"]:
        # click's own `flag_value` is no choice: click 8.1 and 8.2 set it even if the flag is not given.
        values = {True: about["stores"], False: item.default}
        return Flag([spelled, item.name], is_flag=True, callback=lambda _c, _p, given: values[given], **shared)
    kind = click.Choice(about["choices"]) if about["choices"] else Read(about["metavar"].strip("[]"), about["read"])
    several = item.default == ()
    return Flag(
        [spelled, item.name],
        type=kind,
        default=None if several else item.default,
        multiple=several,
        metavar=about["metavar"] or None,
        show_default=item.default is not None and not several and item.name != "size_px",
        shell_complete=COMPLETED_FIELDS.get(item.name) or COMPLETED_METAVARS.get(about["metavar"]),
        bare=about["bare"],
        **shared,
    )


def option(*names: str, **how: Any) -> click.Option:
    """Makes an option of one command. If the option's metavar is FILE or LOG, the shell completes file names."""
    return click.Option(names, shell_complete=COMPLETED_METAVARS.get(how.get("metavar", "")), **how)


def argument(name: str, **how: Any) -> click.Argument:
    """Makes a positional argument of one command."""
    return click.Argument([name], **how)


def typed() -> str:
    """Returns the command line as the user typed it."""
    return " ".join(["twixt", *sys.argv[1:]])


def _starting(items: Iterable[CompletionItem], incomplete: str) -> list[CompletionItem]:
    return [item for item in items if item.value.startswith(incomplete)]


# A command is built when it is used. So a start of twixt builds the options of only one command. For a command that is
# not built yet, a table has the command's function, and the sides whose flags the command has.


class LazyCommand(NamedTuple):
    """A command that is not built yet. parameters: the command's own options and arguments. sides: sides (processes)
    of `Config`; the command also has all flags of these sides. settings: settings of click's context."""

    function: Callable[..., int | None]
    parameters: tuple[click.Parameter, ...]
    sides: tuple[str, ...]
    settings: dict[str, Any]

    def build(self, name: str) -> click.Command:
        """Builds the click command, with all its options."""
        return HeadedCommand(
            name,
            params=[*self.parameters, *flags_of(*self.sides)],
            callback=self.function,
            help=self.function.__doc__,
            context_settings=self.settings,
        )


class CommandTable(dict[str, LazyCommand]):
    """Commands by name, in the order in which `--help` lists them."""

    def command(
        self, *parameters: click.Parameter, sides: tuple[str, ...] = (), **settings: Any
    ) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
        """Decorator that adds a function to the table. The name of the function becomes the name of the command."""

        def keep(function: Callable[..., int | None]) -> Callable[..., int | None]:
            self[function.__name__] = LazyCommand(function, parameters, sides, settings)
            return function

        return keep


class HeadedCommand(click.Command):
    """A command whose `--help` groups options under headings. Options without a heading come first."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        for option in self.params:
            if isinstance(option, Flag) and option.bare:
                args = option.with_value(args)
        return super().parse_args(context, args)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        under: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(context):
            if isinstance(option, click.Option) and (record := option.get_help_record(context)):
                under.setdefault(getattr(option, "heading", OWN_HEADING), []).append(record)
        for heading in sorted(under, key=OWN_HEADING.__ne__):
            with formatter.section(heading):
                formatter.write_dl(under[heading])


class CommandGroup(click.Group):
    """A click group whose commands come from a table. default: the command that runs if the user names no command."""

    def __init__(self, table: CommandTable, default: str | None = None, **how: Any) -> None:
        super().__init__(**how)
        self._table, self._default = table, default

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        return self._table[name].build(name) if name in self._table else None

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        # While a shell completes the first word, the default command's name is not inserted. `shell_complete` then
        # adds the completions of the default command.
        is_named = bool(args) and (args[0] in self._table or args[0] in (*context.help_option_names, "--version"))
        if self._default is not None and not is_named and (args or not context.resilient_parsing):
            args = [self._default, *args]
        return super().parse_args(context, args)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[Any]:
        """Returns the completions of the first word. They are the names of commands, and the first words that the
        default command accepts."""
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
