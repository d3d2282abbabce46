"""Bodies. body_draws, shape_draws: draw calls. body_programs: programs, and the bodies that each program draws.
shape_rows: shapes on the GPU. part_changes: snapshots of an older scene. level_floor: the floor. materials: bodies
with a material."""
