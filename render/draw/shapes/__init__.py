"""Programs of shapes, one module for each shape. ray_cast: common code of ray cast shapes. capsules: also the pattern
and light of round shapes. shadows: soft spots on the ground."""
