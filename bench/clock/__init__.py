"""Bench of the playback clocks, `python -m bench clock`. `traces` generates traces of snapshots under troubles, for
example stalls. `clock_bench` plays each trace to each clock, and writes the figures and the page."""
