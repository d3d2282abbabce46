"""Modules for `--profile`. spans records timed spans and the phases of the start. trace_file writes the file."""
