"""Benches for twixt's maintainers: `python -m bench NAME` in a checkout. Not installed; commands: the list of benches.

costs, peers: figures beside limits (cost_suite); clock, motion, pacing: in virtual time; guest, stepping: slowed loops;
evenness: whole runs. rows, pages: rows, tables and files. Imports twixt; nothing in twixt imports it.
"""
