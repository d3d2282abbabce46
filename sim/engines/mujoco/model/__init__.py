"""A model of MuJoCo as a scene: its geoms, meshes, materials, surfaces, cameras and controls, and its file."""
