"""Groups of `python -m bench`: costs of the channel, of a frame, of drawing, of a start, each beside its limit."""
