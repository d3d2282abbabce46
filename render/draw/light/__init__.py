"""Light that needs more than a body's own surface: shadows on everything, contact shading, smooth edges."""
