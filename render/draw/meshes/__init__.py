"""Triangle meshes: their buffers, programs and draw calls."""
