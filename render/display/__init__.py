"""Displays: a window, or a picture in memory. No other modules call glfw."""
