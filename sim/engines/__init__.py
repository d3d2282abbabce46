"""Viewers for physics engines. Each engine has its own folder and is an optional extra of the package. The folder
mujoco is for MuJoCo. The folder viewers has the modules that users import, such as `twixt.mujoco_viewer`."""
