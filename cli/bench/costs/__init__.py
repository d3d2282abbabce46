"""Groups of `twixt bench`: costs of the channel, of a frame, of drawing, of a start, each beside its limit."""
