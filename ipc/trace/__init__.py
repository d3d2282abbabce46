"""Recorded spans of each process, and the file that `--profile` writes of them."""
