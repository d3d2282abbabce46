"""Drawing paths for software rendering, where drawing pixels is expensive and copying memory is cheap.
background_cache, kept_pixels: cached pixels. picture_bounds: the rectangle that holds all bodies.
"""
