"""These modules make software rendering faster. In software rendering, drawing pixels is expensive and copying memory
is cheap. `background_cache` and `kept_pixels` copy pixels that were drawn earlier. `picture_bounds` computes the
rectangle that contains all bodies of a picture."""
