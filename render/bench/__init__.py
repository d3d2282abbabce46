"""Benchmarks of the viewer: what a frame costs, how smooth a clock plays, how true the motion is drawn."""
