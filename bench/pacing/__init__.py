"""`python -m bench pacing`: the pacer on model displays in virtual time. laboratory: the command; cases: targets;
displays, works: models; play: one run, contestants; pacing_page: tables. A clock is read only for the cost of the
pacer's own calls; equal seeds give equal figures on every machine.
"""
