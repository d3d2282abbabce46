"""Measurement of frames. frame_rows, frame_log: one row per frame, in memory and in a file. evenness: intervals and
drawn motion. run_figures: figures of a run, causes of bad frames. report, report_keys: the report, its keys and
limits. plots: plots of a run."""
