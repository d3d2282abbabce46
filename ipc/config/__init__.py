"""Configuration of a run. flags: `Config` and its flags. rules: readers and checks of values. troubles: injected trouble.
files: files that flags name for results."""
