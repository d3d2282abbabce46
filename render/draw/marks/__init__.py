"""mark_solids: geometry of the marks of a snapshot. mark_drawing: their programs and draw calls."""
