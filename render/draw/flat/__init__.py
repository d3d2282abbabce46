"""Background, dots and lines, and the overlay's rectangles."""
