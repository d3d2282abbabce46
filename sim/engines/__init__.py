"""Viewers for physics engines, each in a folder of its own and behind its extra. mujoco: MuJoCo."""
