"""Materials: textures on the GPU, uniforms of a material, draw calls of bodies that have one."""
