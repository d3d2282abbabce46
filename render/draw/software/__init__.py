"""Drawing paths for software rendering, where pixels are expensive and copies of memory cheap. background_cache,
kept_pixels: cached pixels. picture_bounds: the rectangle that holds all bodies.
"""
