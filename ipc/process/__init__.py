"""Shared by all processes of twixt: forks, Ctrl-C, mappings, the user's code."""
