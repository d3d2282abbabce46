"""GLSL that several programs share. pose: poses between snapshots. mesh_pose: poses of meshes. light: lighting and
materials. uniform_blocks: the uniform blocks and the variants of programs."""
