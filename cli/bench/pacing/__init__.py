"""`twixt bench pacing`: the pacer in virtual time, on model displays, under work that is known ahead to the judge alone.

Always: no clock is read and nothing is waited for; equal seeds give equal figures on every machine.
"""
