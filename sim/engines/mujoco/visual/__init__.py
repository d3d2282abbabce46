"""Marks of what only MuJoCo's own visualizer knows: tendons, contacts, joints, frames, and geoms of the user's own."""
