"""`--profile`. spans: recorder of timed spans. trace_file: their file. startup_times: durations of the start's phases."""
