"""The scene and the values in it.

scene defines `Scene`. shapes, mesh, material, camera and groups define the values of a scene's fields. parts gives the
rows of part columns. surfaces gives the rows of vertices. shape_list has one shape per body. scene_message and packing
encode the message of a scene and its shapes. mesh_files reads mesh files. checks checks values.

Callers may pass vectors and colours as numpy arrays, and fields have tuples. So these classes write their `__init__`,
with wider types. The defaults are in the fields and in `__init__`: jedi reads the fields, other tools read `__init__`.
"""

from twixt.ipc.scene.camera import Camera, check_camera
from twixt.ipc.scene.checks import Color, SceneError, Vector
from twixt.ipc.scene.groups import ColorBy, Group
from twixt.ipc.scene.material import Material, Texture
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.scene.scene import Scene
from twixt.ipc.scene.shape_list import MAX_DISTINCT_SHAPES
from twixt.ipc.scene.shapes import (
    SHAPES,
    Box,
    Capsule,
    Compound,
    Cylinder,
    Ellipsoid,
    Part,
    Plane,
    Shape,
    Sphere,
)

__all__ = [
    "MAX_DISTINCT_SHAPES",
    "SHAPES",
    "Box",
    "Camera",
    "Capsule",
    "Color",
    "ColorBy",
    "Compound",
    "Cylinder",
    "Ellipsoid",
    "Group",
    "Material",
    "Mesh",
    "Part",
    "Plane",
    "Scene",
    "SceneError",
    "Shape",
    "Sphere",
    "Texture",
    "Vector",
    "check_camera",
]
