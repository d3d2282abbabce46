"""`python -m bench mujoco`: a viewer's cost for a loop that steps a MuJoCo model. mujoco_rows: figures;
model_viewers: viewers; viewed_loop: the measured program.
"""
