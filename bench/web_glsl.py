"""Writes `web/glsl.js`: the shader texts and the constants of drawing that the page in the browser shares with `render`.

Run `python -m bench.web_glsl` after a change in `render/draw`; a test compares the file with `render`. WebGL2 has no
geometry shaders. So the vertex text and the geometry text of a program are joined to one vertex shader, which runs once
for each corner of a rectangle. Rows of bodies are instances, and `gl_VertexID` is the corner. One pass with transform
feedback computes the poses before, by the same text as in the native viewer.

Always: no shader text is changed in meaning. Comments are left out, because the page is sent over the network.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np

from twixt.ipc.snapshot import MARK_KINDS
from twixt.render.draw.bodies import body_programs, level_floor, materials
from twixt.render.draw.flat import background, dots_and_lines
from twixt.render.draw.flat.flat_rows import FINITE_GLSL
from twixt.render.draw.frame import frame_block
from twixt.render.draw.glsl import light, mesh_pose, pose
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, METHODS, PoseVariant
from twixt.render.draw.marks import mark_solids
from twixt.render.draw.meshes import mesh_drawing, mesh_geometry, mesh_programs
from twixt.render.draw.shapes import capsules, planes, ray_cast, shadows
from twixt.render.draw.shapes.boxes import BOX
from twixt.render.draw.shapes.capsules import CAPSULE
from twixt.render.draw.shapes.cylinders import CONE, CYLINDER
from twixt.render.draw.shapes.ellipsoids import ELLIPSOID
from twixt.render.draw.spheres import fine_spheres, point_spheres, sphere_common, sphere_detail

TARGET = Path(__file__).resolve().parents[1] / "web" / "glsl.js"

# Switches of the pose text. The page defines them when it compiles a program.
POSE_SWITCHES = ("METHOD", "STRETCHED", "PLACED", "SCALED_PARTS", "TRANSPARENT")

# Writes the pose of each row. place: relative to the eye, along the world's axes; w: 1 if the row is drawn. size: the
# scales; w: alpha. tint: the colour.
_POSE_MAIN = """
out vec4 row_place, row_turn, row_size, row_tint;
void main() {
    Pose pose = drawn_pose();
    row_place = vec4(pose.position, pose.visible ? 1.0 : 0.0);
    row_turn = pose.orientation;
    row_size = vec4(pose.scale, pose.alpha);
    row_tint = vec4(pose.color, 1.0);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

# Reads the pose of a row. The programs of shapes use it in place of the text of `pose_glsl`.
_ROW = (
    pose._POSE_STRUCT
    + """
in vec4 row_place, row_turn, row_size, row_tint;
in vec4 shape_form;
#define shape_size shape_form.xyz
Pose drawn_pose() {
    return Pose(row_place.xyz, row_turn, row_size.xyz, row_tint.rgb, row_size.w, row_place.w > 0.5);
}
float mean_scale(Pose pose) { return pose.scale.x; }
"""
)

# The text of points gives each ball a square of `point_px` pixels around its middle. Here the square is a rectangle. Its
# viewport is the picture's, not the guarded one.
_SQUARE_MAIN = """
void main() {
    place_row();
    vec2 side = vec2((gl_VertexID & 1) * 2 - 1, (gl_VertexID >> 1) * 2 - 1);
    gl_Position.xy = gl_Position.xy * (lens.xy / guard.xy) + side * (point_px / picture.xy * gl_Position.w);
}
"""

_EDGE_MAIN = """
in vec3 edge_0, edge_1, edge_2, edge_3;
void main() {
    read_pose();
    vec3 ends[4] = vec3[4](edge_0, edge_1, edge_2, edge_3);
    for (int corner = 0; corner < 4; corner++) {
        place = ends[corner];
        place_corner();
        places[corner] = corner_at;
        tones[corner] = corner_tone;
        clips[corner] = gl_Position;
    }
    gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
    draw_edge();
}
"""

CAST_SHAPES = {"boxes": BOX, "capsules": CAPSULE, "cylinders": CYLINDER, "ellipsoids": ELLIPSOID, "cones": CONE}


CONSTANTS = {
    sphere_detail: "FINEST_PX BODY_PX KEPT LARGER NEARLY_ALL MANY_BODIES FEWER_LOD_2_PX",
    sphere_common: "LARGEST_POINT_PX WIDE_STRETCH",
    frame_block: "GUARD_PX ENDLESS_M NEAR_FADE_RADII",
    level_floor: "FAR_FADE_RADII FEW_CASTERS LEAN",
    body_programs: "MOST_STILL",
    shadows: "MOST_SHADOWS",
    background: "MOST_CUBE_PX HEIGHT_SHARE FINEST_SHARE GRID_DISTANCES FINE_DISTANCES FINE_SHARE FINE_ALPHA COARSE_ALPHA "
    "GRID_COLOR",
    dots_and_lines: "OUTLINE_COLOR",
    mark_solids: "HEAD_RADIUS HEAD_LENGTH HEAD_SHARE AXIS_RADIUS AXIS_COLORS TO_AXES THINNEST",
    mesh_drawing: "MOST_EDGES_SOFTWARE MOST_EDGES_GPU SMALLEST_M",
    mesh_geometry: "PLATE_SHARE",
    materials: "GLOSS RIM EXPONENT",
}


def texts_and_programs() -> tuple[dict[str, str], dict[str, dict[str, list[str]]]]:
    """Returns the pieces of shader text by name, and for each program the names of its pieces in order."""
    texts: dict[str, str] = {
        "frame": FRAME_GLSL,
        "pose": pose_text(),
        "pose main": _POSE_MAIN,
        "row": pose.QUATERNION_GLSL + pose.ROTATE_GLSL + _ROW,
        "light": light.LIGHT_GLSL,
        "finish": light.FINISH_GLSL,
        "outlined": light.OUTLINE_GLSL,
        "shine": light.SHINE_GLSL,
        "highlight": light.HIGHLIGHT_GLSL,
        "finite": FINITE_GLSL,
        "nothing": "void main() {}",
    }
    programs = {"poses": {"vertex": ["frame", "pose", "pose main"], "fragment": ["nothing"]}}

    def add(name: str, vertex: list[str], fragment: list[str], **own: str) -> None:
        texts.update(own)
        programs[name] = {"vertex": ["frame", *vertex], "fragment": fragment}

    body, body_end = ray_cast._BODY.split("SUPPORT")
    seen, seen_end = ray_cast._SEEN.split("SIZE")
    cast_main, cast_geometry = joined(ray_cast._QUAD_MAIN, ray_cast._QUAD_GEOMETRY).split("PAINT")
    cast, cast_end = ray_cast._QUAD_FRAGMENT.split("MEET")
    texts |= {"body": body, "body end": body_end + seen, "body seen": seen_end + cast_main}
    texts |= {"corners": cast_geometry, "ray": cast, "ray end": cast_end}
    texts |= {"skin paint": capsules.QUAD_SKIN_GEOMETRY, "skin": capsules.QUAD_SKIN_FRAGMENT}
    for name, shape in CAST_SHAPES.items():
        paint, meet = (
            text.replace(capsules.QUAD_SKIN_GEOMETRY, "").replace(capsules.QUAD_SKIN_FRAGMENT, "")
            for text in (shape.quad_geometry, shape.quad_fragment)
        )
        has_skin = meet != shape.quad_fragment
        pieces = ["body", f"{name} support", "body end", f"{name} size", "body seen"]
        add(
            name,
            ["row", "light", *pieces, *(["skin paint"] if has_skin else []), f"{name} paint", "corners"],
            ["light", "finish", "outlined", "ray", *(["skin"] if has_skin else []), f"{name} meet", "ray end"],
            **{
                f"{name} support": shape.support,
                f"{name} size": shape.size,
                f"{name} paint": paint,
                f"{name} meet": meet,
            },
        )
    square = without(fine_spheres._POINT_VERTEX).replace("gl_PointSize = 1.0", "point_px = 0.0")
    square = "float point_px;\n" + square.replace("gl_PointSize", "point_px").replace("void main()", "void place_row()")
    add(
        "spheres",
        ["row", "polynomial", "shine", "ball", "spheres main"],
        ["polynomial", "highlight", "outlined", "spheres pixel"],
        **{
            "polynomial": light.POLYNOMIAL_GLSL,
            "ball": sphere_common._BALL,
            "spheres main": square + _SQUARE_MAIN,
            "spheres pixel": without(fine_spheres._POINT_FRAGMENT),
        },
    )
    add(
        "sphere points",
        ["row", "polynomial", "shine", "ball", "sphere points main"],
        ["polynomial", "highlight", "outlined", "spheres pixel"],
        **{"sphere points main": without(fine_spheres._POINT_VERTEX)},
    )
    tones, place, at = point_spheres._TONES, point_spheres._PLACE, point_spheres._AT
    texts |= {"tones": tones, "point place": place, "circle": at, "one light": point_spheres._ONE_LIGHT}
    for name, vertex, fragment in (
        ("square points", point_spheres._SQUARE_VERTEX, point_spheres._SQUARE_FRAGMENT),
        ("smooth points", point_spheres._SMOOTH_VERTEX, point_spheres._SMOOTH_FRAGMENT),
        ("skin points", point_spheres._SKIN_VERTEX, point_spheres._SKIN_FRAGMENT),
    ):
        main = without(vertex).replace(place, "").replace(point_spheres._ONE_LIGHT, "")
        add(
            name,
            ["row", "polynomial", "ball", "tones", "point place", "one light", f"{name} main"],
            ["outlined", "tones", *([] if name == "square points" else ["circle"]), f"{name} pixel"],
            **{f"{name} main": main, f"{name} pixel": fragment},
        )
    add(
        "large spheres",
        ["row", "ball", "large spheres main"],
        ["light", "finish", "outlined", "large spheres pixel"],
        **{
            "large spheres main": joined(fine_spheres._QUAD_VERTEX, fine_spheres._QUAD_GEOMETRY),
            "large spheres pixel": without(fine_spheres._QUAD_FRAGMENT),
        },
    )
    add(
        "planes",
        ["row", "light", "finish", "shine", "planes main"],
        ["outlined", "highlight", "planes pixel"],
        **{
            "planes main": joined(planes._VERTEX, planes._GEOMETRY),
            "planes pixel": without(planes._FRAGMENT),
        },
    )
    add(
        "shadows",
        ["row", "shadows main"],
        ["shadows pixel"],
        **{
            "shadows main": shadows._with_constants(
                joined(shadows.SHADOW_CASTER_GLSL + shadows._VERTEX, shadows._GEOMETRY)
            ),
            "shadows pixel": without(shadows._with_constants(shadows._FRAGMENT)),
        },
    )
    # The programs of meshes read the row of a body, and compute from it what the native pass writes for meshes.
    texts["mesh row"] = re.sub(r"(?m)^out ", "", mesh_pose._POSE_MAIN).replace("void main()", "void read_pose()")
    texts["mesh vertex"] = mesh_pose.VERTEX_GLSL.replace(mesh_pose.POSE_INPUTS_GLSL, "")
    texts["flat tone"] = mesh_pose.FLAT_TONE_GLSL
    for name, vertex, fragment in (
        ("smooth faces", mesh_programs._SMOOTH_VERTEX, mesh_programs._SMOOTH_FRAGMENT),
        ("flat faces", mesh_programs._FLAT_VERTEX, mesh_programs._FLAT_FRAGMENT),
        ("surfaces", mesh_programs._SURFACE_VERTEX, mesh_programs._SURFACE_FRAGMENT),
    ):
        tone = ["flat tone"] if name == "flat faces" else []
        add(
            name,
            ["row", "light", "mesh row", "mesh vertex", *tone, f"{name} main"],
            ["frame", "light", *(["finish"] if name == "surfaces" else tone), f"{name} pixel"],
            **{f"{name} main": reading_pose(without(vertex)), f"{name} pixel": without(fragment)},
        )
    add(
        "silhouettes",
        ["row", "light", "mesh row", "edge places", "flat tone", "silhouettes main"],
        ["silhouettes pixel"],
        **{
            "edge places": mesh_pose.VERTEX_GLSL.replace(mesh_pose.POSE_INPUTS_GLSL, "").replace(
                "in vec3 place, normal;", "in vec3 normal;\nvec3 place;"
            ),
            "silhouettes main": silhouette_text(),
            "silhouettes pixel": mesh_programs._EDGE_FRAGMENT.replace("noperspective ", "").replace(
                "vec4(tone, covered)", "vec4(tone, covered * gl_FragCoord.w)"
            ),
        },
    )
    add(
        "mesh shadows",
        ["row", "mesh row", "mesh shadows main"],
        ["shadows pixel"],
        **{
            "mesh shadows main": reading_pose(
                shadows._with_constants(joined(mesh_programs._SHADOW_VERTEX, shadows._GEOMETRY)), "place_row"
            )
        },
    )
    add(
        "grid",
        ["grid main"],
        ["grid pixel"],
        **{"grid main": without(background._GRID_VERTEX), "grid pixel": without(background._GRID_FRAGMENT)},
    )
    add(
        "sky",
        ["sky main"],
        ["sky pixel"],
        **{"sky main": without(background._VERTEX), "sky pixel": without(background._FRAGMENT)},
    )
    # There is no `noperspective`. A value times w, divided by the interpolated w, is the same.
    line = joined(dots_and_lines._LINE_VERTEX, dots_and_lines._LINE_GEOMETRY).replace("noperspective ", "")
    line = line.replace("gl_Position.xy += side", "across *= gl_Position.w;\n        gl_Position.xy += side")
    line_pixel = without(dots_and_lines._LINE_FRAGMENT).replace("noperspective ", "")
    line_pixel = line_pixel.replace("abs(across)", "abs(across * gl_FragCoord.w)")
    add("lines", ["finite", "lines main"], ["lines pixel"], **{"lines main": line, "lines pixel": line_pixel})
    return once_each({name: plain(text) for name, text in texts.items()}, programs)


def once_each(
    texts: dict[str, str], programs: dict[str, dict[str, list[str]]]
) -> tuple[dict[str, str], dict[str, dict[str, list[str]]]]:
    """Leaves out pieces of text that are equal to an earlier piece."""
    first = {text: name for name, text in reversed(texts.items())}
    kept = {name: text for name, text in texts.items() if first[text] == name}
    found = {
        program: {stage: [first[texts[piece]] for piece in pieces] for stage, pieces in stages.items()}
        for program, stages in programs.items()
    }
    return kept, found


def pose_text() -> str:
    """Returns the text of `pose_glsl` without its switches.

    The row is 0: the page's snapshots have a record for every row, so the counts are 0 or the number of rows. The text
    has 16 inputs, the most that WebGL2 guarantees, and Firefox with Mesa and WebKit count `gl_VertexID` as an input.
    """
    lines = pose.pose_glsl(PoseVariant()).replace("gl_VertexID", "0").splitlines(keepends=True)
    switches = {f"{word} {name}" for name in POSE_SWITCHES for word in ("#undef", "#define")}
    return "".join(line for line in lines if " ".join(line.split()[:2]) not in switches)


def joined(vertex: str, geometry: str) -> str:
    """Joins a vertex text and a geometry text to one vertex text, which runs for each corner of a rectangle."""
    vertex = re.sub(r"(?m)^out ", "", without(vertex)).replace("void main()", "void place_row()")
    geometry = without(geometry)
    listed = re.findall(r"(?m)^in \w+ (.*);", geometry)
    for name in re.findall(r"(\w+)\[\]", " ".join(listed)):
        geometry = geometry.replace(f"{name}[0]", name)
    geometry = re.sub(r"(?m)^(in \w+ .*\[\];|layout\(.*)\n", "", geometry)
    geometry = re.sub(r"(?m)^ *(EmitVertex|EndPrimitive)\(\);\n", "", geometry)
    geometry = geometry.replace("for (int corner = 0; corner < 4; corner++) {", "int corner = gl_VertexID;\n    {")
    return vertex + geometry.replace("void main() {\n", "void main() {\n    place_row();\n")


def silhouette_text() -> str:
    """Returns the vertex text of soft silhouettes. A vertex has the four places of its edge, in the order of OpenGL's
    lines with adjacency. The last two bits of its number tell which end of the edge it is, and on which side."""
    corner = re.sub(r"(?m)^out ", "", mesh_programs._EDGE_VERTEX).replace("void main()", "void place_corner()")
    edge = re.sub(r"(?m)^(in|layout)\b.*\n", "", without(mesh_programs._EDGE_GEOMETRY)).replace("noperspective ", "")
    for old, new in {
        "gl_in[corner].gl_Position": "clips[corner]", "corner_at[": "places[", "corner_albedo[0]": "corner_albedo",
        "corner_tone[": "tones[", "for (int side = 0; side < 2; side++) {": "int side = gl_VertexID & 1;\n    {",
        "covered = 1.0 - float(side);": "covered = (1.0 - float(side)) * gl_Position.w;",
        "        EmitVertex();\n": "", "    EndPrimitive();\n": "", "    emit_side(2, outward);\n": "",
        "emit_side(1, outward);": "emit_side(1 + ((gl_VertexID >> 1) & 1), outward);",
        "void main()": "void draw_edge()",
    }.items():  # fmt: skip
        edge = edge.replace(old, new)
    return f"{corner}vec3 places[4], tones[4];\nvec4 clips[4];\n{edge}{_EDGE_MAIN}"


def reading_pose(vertex: str, main: str = "main") -> str:
    """Returns a vertex text of meshes that reads the row of its body first."""
    return vertex.replace(f"void {main}() {{\n", f"void {main}() {{\n    read_pose();\n")


def without(text: str) -> str:
    """Returns a text without the pieces that the page adds itself, and without its version."""
    shared = (
        FRAME_GLSL, light.LIGHT_GLSL, light.FINISH_GLSL, light.OUTLINE_GLSL, light.SHINE_GLSL, light.HIGHLIGHT_GLSL,
        light.POLYNOMIAL_GLSL,        pose.ROTATE_GLSL, FINITE_GLSL, mesh_pose.POSE_INPUTS_GLSL, mesh_pose.FLAT_TONE_GLSL, "#version 330 core\n",
    )  # fmt: skip
    for piece in shared:
        text = text.replace(piece, "")
    return text


def plain(text: str) -> str:
    """Returns a text without comments, empty lines and indentation."""
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def constants() -> dict[str, object]:
    """Returns the constants of drawing by name."""
    found: dict[str, object] = {
        "METHODS": METHODS,
        "MARK_KINDS": tuple(MARK_KINDS),
        "PLAIN_LODS": [(name, None if math.isinf(limit_px) else limit_px) for name, limit_px in sphere_detail.PLAIN],
        "OUTLINE_EDGES": dots_and_lines.EDGES,
        "CHECKER_SIDE_PX": materials.LEAST_SIDE_PX,
    }
    found |= {name: getattr(module, name) for module, names in CONSTANTS.items() for name in names.split()}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}


def module_text() -> str:
    """Returns the text of `web/glsl.js`."""
    texts, programs = texts_and_programs()
    head = (
        "/** Shader texts and constants of drawing, written by `python -m bench.web_glsl` from render/draw. "
        "Do not edit. */\n\n"
    )
    named = "".join(f"export const {name} = {json.dumps(value)};\n" for name, value in constants().items())
    pieces = "".join(f"    {json.dumps(name)}: `{text}`,\n" for name, text in texts.items())
    listed = "".join(f"    {json.dumps(name)}: {json.dumps(stages)},\n" for name, stages in programs.items())
    return (
        f"{head}{named}\n/** Pieces of shader text by name. */\nexport const TEXTS = {{\n{pieces}}};\n\n"
        f"/** The pieces of each program's two shaders, in order. */\nexport const PROGRAMS = {{\n{listed}}};\n"
    )


if __name__ == "__main__":
    TARGET.write_text(module_text(), "utf-8")
