"""Programs of spheres, and the choice between them."""
