"""Draws one small picture of everything with the OpenGL driver of the environment, in a process of its own.

Mesa reads which driver and which version it is to be when the first context is made, so each needs a process.

    drawn_by.py OUT.npy [all]   writes the picture (height, width, 3) u1, draws it at all levels if asked to; prints {"version", "renderer", "programs", "errors"}
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import moderngl
import numpy as np

from tests.render.draw.gl_errors import gl_errors
from twixt.ipc.scene import Box, Capsule, Cylinder, Ellipsoid, Plane, Scene, Sphere, Texture
from twixt.ipc.scene.mesh import Mesh
from twixt.ipc.snapshot import MARK_KINDS, new_bodies
from twixt.render.draw.bodies.body_programs import PASSES, SPHERE_PASSES, BodyPrograms
from twixt.render.draw.flat.overlay_sheet import Sheet
from twixt.render.draw.flat.rectangles import ImageRectangles, Panes, Rectangle
from twixt.render.draw.frame.camera import OrbitCamera
from twixt.render.draw.frame.layers import Layer
from twixt.render.draw.glsl.uniform_blocks import GIVEN, PoseVariant
from twixt.render.draw.light.composing import SHADINGS, compose_program
from twixt.render.draw.marks.mark_drawing import SolidPrograms, whole_pass
from twixt.render.draw.marks.mark_solids import SOLIDS
from twixt.render.draw.meshes.mesh_programs import MESH_PROGRAMS
from twixt.render.draw.quality import BEST_SOFTWARE, FULL, LEVELS, LIT_LEVELS, Level
from twixt.render.draw.scene_renderer import SceneRenderer
from twixt.sim.world.marks import Marks

SIZE_PX = (160, 120)
WHOLE = (0, 0, *SIZE_PX)
CORNERS, FACES = [(0.3, 0.3, 0.3), (-0.3, -0.3, 0.3), (-0.3, 0.3, -0.3), (0.3, -0.3, -0.3)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]  # fmt: skip
SHAPES = [
    Sphere(0.5), Box((0.6, 0.4, 0.3)), Capsule(0.3, 0.4), Cylinder(0.4, 0.4), Ellipsoid((0.6, 0.3, 0.4)), Plane((1.0, 0.6)),
    Mesh(CORNERS, FACES), Mesh(CORNERS, FACES, "smooth"),
]  # fmt: skip

# Passes of marks: of few opaque ones, of many, of those that are seen through.
MARK_PROGRAMS = [
    (name, PoseVariant(GIVEN, transparent=transparent))
    for solid in SOLIDS
    for name, transparent in ((whole_pass(solid), False), (solid, False), (whole_pass(solid), True))
]


def picture(context: moderngl.Context, level: Level = FULL) -> np.ndarray:
    """Two of each shape between two snapshots, above a ground with shadows, with dots, lines, rings, panes, a sheet
    and an image."""
    context.framebuffer([context.renderbuffer(SIZE_PX, 4)], context.depth_renderbuffer(SIZE_PX)).use()
    scene = Scene(SHAPES * 2, outline=((-3, -2, 0), (3, 2, 3)))
    older, newer = new_bodies(2 * len(SHAPES)), new_bodies(2 * len(SHAPES))
    rows = [divmod(at, len(SHAPES)) for at in range(2 * len(SHAPES))]
    older["position"] = [(across - 2.5, row * 1.5 - 0.5, 0.8 + row) for row, across in rows]
    newer["position"] = older["position"] + (0.1, 0.0, 0.1)
    older["orientation"] = newer["orientation"] = np.array([0.2, 0.3, 0.1, 0.927])
    camera = OrbitCamera.for_scene(scene, older, SIZE_PX[0] / SIZE_PX[1]).matrices(SIZE_PX)
    renderer = SceneRenderer(context, scene, 4, len(older))
    renderer.level = level
    for slot, bodies in enumerate((older, newer)):
        renderer.upload_records(slot, bodies)
    renderer.draw([Layer(0, 1, alpha=0.5, gap_s=1.0, method="linear")], camera, WHOLE, some_marks())
    across = np.linspace(-3, 3, 7)
    places = np.stack([across, across * 0, across * 0 + 2.5], axis=1)
    renderer.points(places, (255, 80, 80, 255), 5)
    renderer.lines(places[:-1], places[1:] + np.array([0, 0, 0.5]), (80, 255, 80, 255))
    renderer.rings(places[::3] - (0, 0, 1.0), np.full(3, 9.0), np.full(3, 0.8), 2.0)
    renderer.end_pictures()
    panes, sheet = Panes(), Sheet()
    with sheet.drawing(SIZE_PX, [Rectangle(4, 4, 44, 24)], (0.2, 0.2, 0.6, 0.8)):
        pass
    panes.draw([Rectangle(100, 90, 150, 115)], SIZE_PX)
    sheet.blend(SIZE_PX)
    images = ImageRectangles()
    images.set_images([np.full((6, 8, 3), (90, 160, 220), np.uint8)])
    images.draw([Rectangle(60, 100, 84, 116)], SIZE_PX)
    before_a_sky(context)
    renderer.finish()
    return renderer.read_pixels()


def some_marks() -> np.ndarray:
    """A mark of each kind that has a solid, in front of the bodies."""
    marks = Marks()
    for at, (kind, names) in enumerate(MARK_KINDS.items()):
        if kind != "text":  # texts are drawn over the picture
            color = np.uint8([255, 200, 80, 255 - 100 * (at % 2)])
            marks.add(kind, (at - 3.5, -1.5, 0.4), size=[0.3] * len(names), color=color)
    return marks.records


def before_a_sky(context: moderngl.Context) -> None:
    """Draws small spheres before a sky in a corner of the picture."""
    bodies = new_bodies(50)
    bodies["position"] = np.random.default_rng(0).random((len(bodies), 3))
    scene = Scene([Sphere(0.05)], ground_z=None, background=Texture.gradient((0.1, 0.2, 0.4), (0.3, 0.3, 0.3)))
    renderer = SceneRenderer(context, scene, 3, len(bodies))
    renderer.upload_records(0, bodies)
    part = 0, 0, 50, 40
    renderer.draw([Layer(0)], OrbitCamera.for_scene(scene, bodies, 1.25).matrices(part[2:]), part)
    renderer.finish()
    renderer.release()


def make_all(context: moderngl.Context) -> int:
    """Makes each program that draws bodies, in the variant that has most in it; how many."""
    programs = BodyPrograms(context)
    for name in PASSES:
        programs.get(name, PoseVariant("curved", stretched=True, wide=name in SPHERE_PASSES, placed=True))
    for make in MESH_PROGRAMS.values():
        make(context)
    for shading in SHADINGS:
        compose_program(context, shading)
    of_marks = SolidPrograms(context)
    for key in MARK_PROGRAMS:
        of_marks.get(key)
    return len(PASSES) + len(MESH_PROGRAMS) + len(SHADINGS) + len(MARK_PROGRAMS)


def main(path: str, levels: Sequence[Level]) -> None:
    context = moderngl.create_standalone_context(require=330, backend="egl")
    with gl_errors() as errors:
        np.save(path, picture(context))
        for level in levels:
            picture(context, level)
        programs = make_all(context)
    said = {"version": context.info["GL_VERSION"], "renderer": context.info["GL_RENDERER"]}
    print(json.dumps(said | {"programs": programs, "errors": errors}))


if __name__ == "__main__":
    main(sys.argv[1], [*LEVELS, *LIT_LEVELS, BEST_SOFTWARE] if sys.argv[2:] else [])
