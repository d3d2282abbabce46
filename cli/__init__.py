"""The command line: commands, options made from `Config`, shell completion. The only part that imports click.

command_line: the commands and their options. flags: options made from the fields of `Config`, and completion.
lazy_commands: commands that are built on first use. pages: tables, pages and files of measurements. cpu_time, endings:
load of a measurement, and its end by a signal. doctor, against: the work of the commands of that name.
"""
