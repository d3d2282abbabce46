"""Measurement of frames. frame_rows, frame_log: one row per frame, in memory and as a file; evenness: intervals and
drawn motion; run_figures: figures and causes of bad frames; report, report_keys: the report, its keys and limits;
plots: its pictures."""
