"""Benchmarks of the command line: each measures twixt from outside, through the calls that twixt itself makes."""
