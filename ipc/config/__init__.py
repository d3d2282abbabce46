"""Configuration of a run. flags: `Config` and its flags. rules: parses and checks values. troubles: injected trouble.
files: checks and writes result files."""
