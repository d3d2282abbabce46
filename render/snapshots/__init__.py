"""intake: moves snapshots from the channel to the GPU. history: the snapshots held, and their marks."""
