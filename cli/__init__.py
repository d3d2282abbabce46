"""Command line. No other folder imports click.

command_line: the commands. flags: options made from `Config`. runs_in_turns, turns, differences, run_tables, cpu_time,
progress: `measure --against`. compare, doctor: the commands of these names. presents: doctor's checks of frame
presentation.
"""
