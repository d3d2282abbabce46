"""This folder makes marks from the geoms of MuJoCo's visualizer.

visual_marks makes the marks of a state. geom_marks converts geoms to marks. user_geoms has the scene `user_scn`.
geom_memory finds the memory layout of MuJoCo's visual structs. contact_events finds contacts that begin.
"""
