"""User input. user_input: applies input between frames. keys: key bindings and settings. hand: clicks on bodies and
dragged bodies. picking: finds the body at a pixel. sliders: sliders of the overlay."""
