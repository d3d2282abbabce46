"""Measures when a published state is seen, for each way to publish, playback clock and rate."""
