"""Command line; the only folder that imports click. command_line: the commands. flags: options made from `Config`.
runs_in_turns, turns, differences, run_tables, cpu_time, progress: `measure --against`. compare, doctor: commands.
presents: doctor's checks of frame presentation."""
