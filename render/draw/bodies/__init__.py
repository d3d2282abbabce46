"""These modules draw bodies. body_draws and shape_draws make the draw calls. body_programs contains the programs, and
the list of bodies for each program. shape_rows writes shapes for the GPU. part_changes converts snapshots of an older
scene. level_floor finds the floor. materials draws bodies with a material.
"""
