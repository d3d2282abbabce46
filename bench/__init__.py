"""Benches for twixt's maintainers: `python -m bench NAME` in a checkout. Not installed. commands: list of all benches.

costs, peers: figures and their limits (cost_suite); clock, motion, pacing: runs in virtual time; loops: slowdown of
loops; evenness: whole runs; rows, pages, processes, screens: shared. Nothing in twixt imports this package.
"""
