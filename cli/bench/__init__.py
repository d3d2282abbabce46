"""Benchmarks that only the command line has: each measures twixt from outside, through what it calls itself."""
