"""Cores: sharing of cores between viewer and physics, and the parts of a frame's time."""
