"""Viewers for physics engines. Each engine has its own folder and is an optional extra of the package. The folder
mujoco is for MuJoCo."""
