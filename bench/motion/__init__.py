"""`python -m bench motion`: drawn motion against true motion. recordings: true motion; drawn_motion: replay,
figures."""
