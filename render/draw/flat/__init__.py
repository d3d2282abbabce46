"""These modules draw flat things. background draws the background colour, the sky and the grid. dots_and_lines draws
trails, the user's own drawing, and outlines. rectangles and overlay_sheet draw the overlay over a picture.
"""
