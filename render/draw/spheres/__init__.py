"""These modules draw spheres. `fine_spheres`, `point_spheres` and `sphere_common` contain GPU programs. `sphere_detail`
chooses the level of detail. `snapshot_bounds` computes the box around the bodies of a snapshot."""
