"""The command line: commands, options made from `Config`, shell completion. The only part that imports click.

commands, benches: the commands and their options. flags: options made from the fields of `Config`, and completion.
lazy_commands: commands that are built on first use. pages: tables, pages and files of measurements. child_process,
cpu_time, endings: processes and load of a measurement. doctor, against, bench: the work of the commands of that name.
"""
