"""Warning of shapes that are too small to be seen, such as molecules in metres."""

from __future__ import annotations

from twixt.ipc.scene import Mesh, Scene

# Least size, metres. A camera comes no nearer to its target than 1e-7 m (`render/draw/camera.py`): from there a smaller
# sphere is a few pixels wide.
SMALLEST_M = 1e-9
# Shapes of a scene that are looked at, and vertices of a mesh: a scene is checked before its first picture.
MOST_SHAPES, MOST_VERTICES = 256, 4096


def small_shape(scene: Scene) -> str:
    """Warning of the first shape of `scene` that is too small to be seen; "" if there is none. Pure."""
    for place, shape in enumerate(scene.distinct_shapes[:MOST_SHAPES]):
        if isinstance(shape, Mesh) and len(shape.vertices) > MOST_VERTICES:
            continue
        if 0 < shape.reach < SMALLEST_M:
            body = int((scene.shape_index == place).argmax())
            return (
                f"the {type(shape).__name__} of body {body} is {2 * shape.reach:.2g} m across, and a camera comes no "
                "nearer than 1e-07 m: it is too small to be seen; give lengths in a larger unit, such as nanometres"
            )
    return ""
