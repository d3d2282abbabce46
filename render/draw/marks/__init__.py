"""Marks of a snapshot as solids and thin lines: their geometry, programs and draw calls."""
