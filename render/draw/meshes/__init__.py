"""These modules draw triangle meshes. mesh_geometry computes their arrays. mesh_buffers makes their buffers on the GPU.
mesh_programs contains the GPU programs. mesh_drawing makes the draw calls.
"""
