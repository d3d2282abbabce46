"""Viewers for physics engines. Each engine has its own folder and is an optional extra. mujoco: MuJoCo."""
