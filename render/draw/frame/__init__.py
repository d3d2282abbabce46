"""Parts of a frame: its uniform blocks, the layers of bodies, the quality level, and the snapshots on the GPU."""
