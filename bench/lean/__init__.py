"""Lean drawing: the least code that draws or shows a picture, as the limit of the viewer's own."""
