"""The modules `twixt.mujoco_viewer` and alike. Each has the public names of one engine's viewer.

This folder is in `twixt.__path__`, so that the modules are submodules of `twixt`. A module raises an ImportError with
advice if the package of its engine is not installed.
"""
