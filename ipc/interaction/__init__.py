"""Words between a program and the people at its viewers: actions, controls of a world, texts over the picture."""
