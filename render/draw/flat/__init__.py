"""background: colour, sky and grid. dots_and_lines: trails, user drawing, outlines. rectangles, overlay_sheet: drawing
of the overlay over a picture.
"""
