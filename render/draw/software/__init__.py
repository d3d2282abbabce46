"""Special methods of software rendering, in which drawing pixels is expensive and copying memory is cheap.
background_cache, kept_pixels: cached pixels. picture_bounds: the rectangle that contains all bodies."""
