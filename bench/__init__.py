"""Measures twixt, for its maintainers: `python -m bench NAME` in a checkout. It is not installed. `commands` has the
list of all benches.

`costs` and `peers` measure figures that have limits, and `cost_suite` runs them. `clock`, `motion` and `pacing` play
runs in virtual time. `loops` measures how much a viewer slows loops down. `evenness` measures whole runs. `view` reads
the pixels of whole runs, and `movie` records them. `rows`, `pages`, `processes` and `screens` are shared by the
benches. Nothing in twixt imports this package.
"""
