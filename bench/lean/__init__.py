"""Minimal drawing, with which the viewer's drawing is compared. `lean_draws` draws bodies. `lean_window` clears and
swaps a window."""
