"""Transparency: which rows are seen through, their order from back to front, their draw calls."""
