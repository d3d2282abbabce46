"""The user's input: keys, sliders, the hand on bodies."""
