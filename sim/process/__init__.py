"""Runs a world. `run` starts and ends a run, `turns` is its loop, `figures` makes status messages and results, and
`trouble` injects faults.

`watchdog` handles signals and steps that hang. `viewer_process` and `viewer_command` start the viewer's process.
"""
