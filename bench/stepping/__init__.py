"""`python -m bench mujoco`: cost of a viewer for a program that steps a MuJoCo model, and of its `sync`."""
