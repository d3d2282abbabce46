"""`python -m bench clock`: playback clocks on traces. clock_bench: figures, page; traces: snapshots under trouble."""
