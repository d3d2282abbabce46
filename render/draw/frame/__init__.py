"""These modules are about one frame. camera and framing compute the view. context makes the OpenGL context. frame_block
contains a picture and its uniform blocks. layers contains groups of bodies. snapshot_ring keeps snapshots on the
GPU."""
