"""`python -m bench pacing`: the pacer in virtual time, on model displays, under work that it does not know ahead.

Always: no clock is read and nothing waits, but for the cost of the pacer's own calls; equal seeds give equal figures on
every machine.
"""
