"""Triangle meshes. mesh_geometry: arrays. mesh_buffers: buffers on the GPU. mesh_programs: programs. mesh_drawing:
draw calls.
"""
