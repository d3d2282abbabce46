"""`twixt bench clock`: playback clocks on traces."""
