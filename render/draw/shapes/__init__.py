"""Programs of ray cast shapes, planes and shadows."""
