"""This package measures frames. frame_rows, frame_log: one row per frame, in memory and in a file. evenness: evenness
of frame intervals and of drawn motion. run_figures: figures of a run, and causes of bad frames. report, report_keys:
the report of a run, its keys, and limits on its figures. plots: plots of a run."""
