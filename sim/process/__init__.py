"""Runs a world. run: start and end; turns: the loop; figures: status and results; trouble: injected faults.

watchdog: signals and hanging steps; viewer_process, viewer_command: start of the viewer's process.
"""
