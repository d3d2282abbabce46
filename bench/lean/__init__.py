"""Minimal drawing, as the limit of the viewer's own. lean_draws: bodies; lean_window: a clear and a swap."""
