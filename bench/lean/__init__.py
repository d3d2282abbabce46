"""Minimal drawing, with which the viewer's drawing is compared. lean_draws: bodies. lean_window: clear and swap."""
