"""Methods of interpolation, one module each."""
