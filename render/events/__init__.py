"""Events of the program in the viewer: when each one is due, what is drawn for it, and the user's function."""
