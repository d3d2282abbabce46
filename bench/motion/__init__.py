"""Compares drawn motion with true motion: `python -m bench motion`. `recordings` records the true motion.
`drawn_motion` replays it through a viewer's clock and interpolation methods, and computes the errors."""
