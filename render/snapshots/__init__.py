"""intake: snapshots from the channel to the GPU. history: snapshots held, and their marks."""
