"""Rows of `python -m bench`. channel: publish and read. cloud, draw_costs, mark_costs, live: drawing. frame_costs,
frame_phases: parts of a frame. allocation: objects per frame. whole_runs: start, a million bodies, even frames.
"""
