"""This folder is for MuJoCo. mujoco_viewer replaces MuJoCo's passive viewer; its public name is `twixt.mujoco_viewer`.
model_world runs a model file as a world, and handle defines the handle of a passive viewer.

All modules can be imported without the package `mujoco`. Their first use of it raises an error with advice.
"""
