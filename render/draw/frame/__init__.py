"""One frame. camera, framing: the view. context: OpenGL. frame_block: a picture and its uniform blocks. layers: groups
of bodies. snapshot_ring: snapshots on the GPU."""
