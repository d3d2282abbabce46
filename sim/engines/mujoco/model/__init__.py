"""This folder converts a MuJoCo model to a scene.

model_scene makes the scene and its light. geom_shapes converts geoms and sites. model_camera converts cameras.
model_assets converts textures, meshes and height fields. model_surfaces converts skins and flexes.
"""
