"""Writes the part of docs/command-line.md that lists commands and options, from those of `twixt`: `make reference`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from docs.reference import anchor, wrapped
from twixt.cli.command_line import HELP_SETTINGS, group
from twixt.cli.flags import OWN_HEADING

PAGE = Path(__file__).with_name("command-line.md")
BEGIN, END = "<!-- commands: written by `make reference` -->", "<!-- end of commands -->"
# A flag in a help text, or a quotation with flags, which becomes code.
FLAG = re.compile(r"(?<![\w`-])(?:'(?P<quoted>--[^']+)'|--[a-z][a-z-]*\b)")


def page(text: str) -> str:
    """The text of the page with the commands of this version."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{PAGE.name} must have the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{written()}\n{END}{after}"


def written() -> str:
    """The help of `twixt`, each command with its own options, and the options that commands share."""
    top = group()
    with click.Context(top, info_name="twixt", terminal_width=90, **HELP_SETTINGS) as context:
        commands = {name: top.get_command(context, name) for name in top.list_commands(context)}
        parts = ["## Commands\n", "`twixt --help` prints:\n", f"```text\n{top.get_help(context)}\n```\n"]
        shared: dict[str, dict[str, list[str]]] = {}
        rows = dict[str, str]()
        for name, command in commands.items():
            assert command is not None
            with click.Context(command, info_name=name, parent=context) as inside:
                own = dict[str, str]()
                headings = list[str]()
                for record, heading in options_of(command, inside):
                    row = table_row(*record)
                    if heading == OWN_HEADING:
                        own[record[0]] = row
                    else:
                        rows[record[0]] = row
                        headings.append(heading)
                        shared.setdefault(heading, {}).setdefault(record[0], []).append(name)
                parts += described(command, inside, list(own.values()), list(dict.fromkeys(headings)))
        parts.append("## Options of several commands\n")
        for heading, options in shared.items():
            parts.append(f"### {heading}\n")
            everywhere = list(dict.fromkeys(name for names in options.values() for name in names))
            parts.append(f"For {listed(everywhere)}.\n")
            cells = [
                rows[names] if users == everywhere else rows[names].removesuffix(" |") + f" (only {listed(users)}) |"
                for names, users in options.items()
            ]
            parts.append(table(cells))
    return "\n".join(parts)


def options_of(command: click.Command, context: click.Context) -> list[tuple[tuple[str, str], str]]:
    """Names and help of each option of a command except `--help`, and the heading of the option."""
    found = []
    for option in command.get_params(context):
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None and "--help" not in option.opts:
            found.append((record, getattr(option, "heading", OWN_HEADING)))
    return found


def described(command: click.Command, context: click.Context, rows: list[str], headings: list[str]) -> list[str]:
    """The section of one command."""
    usage = " ".join(["twixt", str(command.name), *command.collect_usage_pieces(context)])
    parts = [f"### `twixt {command.name}`\n", f"```text\n{usage}\n```\n", wrapped(marked(command.help or "")) + "\n"]
    if rows:
        parts.append(table(rows))
    if headings:
        links = ", ".join(f"[{heading}](#{anchor(heading)})" for heading in headings)
        parts.append(wrapped(f"{'Further options' if rows else 'Options'}: {links}.") + "\n")
    return parts


def table(rows: list[str]) -> str:
    return "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"


def table_row(names: str, text: str) -> str:
    return f"| `{cell(names)}` | {marked(cell(text))} |"


def cell(text: str) -> str:
    """Text in a table: a bar would begin the next cell."""
    return text.replace("|", "\\|")


def marked(text: str) -> str:
    """A help text as Markdown: flags are code."""
    return FLAG.sub(
        lambda flag: f"`{flag['quoted'] or flag[0]}`", " ".join(text.split()).replace("*", "\\*").replace("<", "\\<")
    )


def listed(names: list[str]) -> str:
    return ", ".join(f"`twixt {name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    print(f"written: {PAGE}")
