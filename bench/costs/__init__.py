"""Rows of `python -m bench`: channel; cloud, draw_costs, mark_costs, live: drawing; frame_costs, frame_phases: a frame;
allocation: objects per frame; whole_runs: start, a million bodies, evenness.
"""
