"""Measures whether each viewer delivers each event once, in order, in its frame: `python -m bench events`.

`event_world` emits numbered events and keeps a list of them. `recorder` is the function that a viewer calls for each
event, and runs such a viewer. `deliveries` compares the two lists with the viewer's frame log. `keyboard` presses keys
in the viewers' windows. `event_runs` makes the runs, and `events_bench` shows their figures.
"""
