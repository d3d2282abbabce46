"""Picking: rays from the pointer onto bodies, clicks, and bodies that are dragged."""
