"""Shapes of bodies: solids, meshes, bodies of several parts; their checks, and their packing for the wire."""
