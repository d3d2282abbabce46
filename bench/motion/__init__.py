"""`python -m bench motion`: drawn motion against the truth. recordings: truth; drawn_motion: replay, figures."""
