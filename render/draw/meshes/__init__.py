"""These modules draw triangle meshes. `mesh_geometry` computes the arrays of a mesh. `mesh_buffers` makes the buffers
of meshes on the GPU. `mesh_programs` contains the GPU programs. `mesh_drawing` makes the draw calls.
"""
