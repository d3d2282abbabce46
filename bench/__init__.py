"""Benches and laboratories of those who work on twixt: `python -m bench NAME` in a checkout. Not installed.

commands: the benches and their options. costs, peers: groups of figures beside their limits, which `cost_suite` measures,
shows and compares. clock, motion, pacing: laboratories in virtual time. guest, stepping: loops that a viewer slows down.
evenness: whole runs. rows, pages: a figure beside its limit; tables and files. Imports all of twixt; nothing of twixt imports it.
"""
