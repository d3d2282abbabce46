"""A MuJoCo model as a scene. model_scene: the scene and its light; geom_shapes: geoms and sites; model_camera: cameras.

model_assets: textures, meshes, height fields; model_surfaces: skins and flexes.
"""
