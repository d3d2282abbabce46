"""`python -m bench clock`: playback clocks on traces."""
