"""`intake` moves snapshots from the channel to the GPU. `history` stores the snapshots that the viewer holds, and their
marks."""
