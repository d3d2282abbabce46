"""Flat drawing. background: colour, sky and grid. dots_and_lines: trails, the user's own drawing, outlines.
rectangles, overlay_sheet: the overlay over a picture."""
