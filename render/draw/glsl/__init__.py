"""GLSL that several programs share. pose computes poses between snapshots. mesh_pose computes the poses of meshes.
light contains lighting and materials. uniform_blocks contains the uniform blocks and the variants of programs."""
