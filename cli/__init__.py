"""This folder has the command line of twixt. No other folder imports click.

command_line defines the commands. flags makes options from `Config`. runs_in_turns, turns, differences, run_tables,
cpu_time and progress implement `measure --against`. compare and doctor implement the commands of these names. presents
has doctor's checks of frame presentation.
"""
