"""Configuration of a run. flags defines `Config` and its flags. rules parses and checks values. troubles defines the
settings of injected trouble. files checks and writes result files."""
