"""Rows of `python -m bench`. `channel` measures publishing and reading. `drawing` and `live` measure drawing. `frame`
measures the parts of a frame. `allocation` counts the objects that a frame makes. `whole_runs` measures the start,
a million bodies and even frames.
"""
