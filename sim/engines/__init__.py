"""Viewers for physics engines. Each engine has its own folder, and its package is an optional extra. mujoco:
MuJoCo."""
