"""Rows of `python -m bench`. channel: publish and read. drawing, live: drawing. frame: parts of a frame. allocation:
objects per frame. whole_runs: start, a million bodies, even frames.
"""
