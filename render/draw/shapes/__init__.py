"""Programs of shapes, one module each. ray_cast: common part of ray cast shapes. capsules: also the pattern and light
of round shapes. shadows: soft spots on the ground.
"""
