"""Marks. mark_solids: geometry of a snapshot's marks. mark_drawing: programs and draw calls of marks."""
