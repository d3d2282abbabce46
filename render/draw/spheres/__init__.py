"""Spheres. fine_spheres, point_spheres, sphere_common: programs. sphere_detail: level of detail. snapshot_bounds:
bounds of a snapshot."""
