"""Handles input of the user. `user_input` applies input between frames. `keys` has the key bindings and the settings.
`pointer` handles clicks and dragged bodies. `picking` finds the body at a pixel. `sliders` has the sliders of the
overlay."""
