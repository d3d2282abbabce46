"""Converts a MuJoCo model to a scene. model_scene: scene and light; geom_shapes: geoms and sites; model_camera:
cameras.

model_assets: textures, meshes, height fields; model_surfaces: skins and flexes.
"""
