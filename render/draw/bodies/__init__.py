"""Draw calls and programs of bodies, and the rows and shapes that they read on the GPU."""
