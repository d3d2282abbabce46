"""`python -m bench mujoco`: how much a viewer slows down a loop that steps a MuJoCo model. mujoco_rows: the figures.
model_viewers: the viewers. viewed_loop: the measured program.
"""
