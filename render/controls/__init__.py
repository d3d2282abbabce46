"""Keys, mouse and sliders, and their effects in the viewer and in physics."""
