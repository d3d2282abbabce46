"""The user's input. user_input: applies it between frames; keys: key bindings and settings; hand: clicks on bodies and
dragged bodies; picking: the body at a pixel; sliders: sliders of the overlay."""
