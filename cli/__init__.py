"""The command line: commands, options made from `Config`, shell completion. The only part that imports click.

command_line: the commands and their options. flags: options made from the fields of `Config`, and completion.
lazy_commands: commands that are built on first use. turns, progress, cpu_time, endings: a measurement's
runs in turns, how far it is, the cores it had, its end by a signal. doctor, against: the work of the commands of that name.
"""
