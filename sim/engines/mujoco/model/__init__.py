"""Converts a MuJoCo model to a scene. model_scene: scene, light; geom_shapes: geoms, sites; model_camera: cameras.

model_assets: textures, meshes, height fields; model_surfaces: skins and flexes.
"""
