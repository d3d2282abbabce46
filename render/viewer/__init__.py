"""The render process. `process` and `owned_viewer` are its entries. `start_up` and `attach` work before the first
frame. `loop` makes the frames. `spare_time` does work between frames, and `idle` sleeps while no frames are made.
`frame_record` measures each frame and writes its log row. `screenshots` writes pictures. `outcome` reports how the
viewer ended."""
