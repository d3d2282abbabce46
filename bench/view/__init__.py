"""Measures from the pixels of a screen whether moving bodies stay in the picture: `python -m bench view`.

`scenes` has the worlds that are shown, and `scene_world` has their base class. `codes` has the colours by which bodies
are recognised. `observer` watches the screen in a process of its own, and `pixels` reads its pictures. `camera_fit`
computes where the camera was. `view_figures` computes the figures of a run, and `view_bench` makes the runs. `pictures`
draws a figure with pictures of the scenes.
"""
