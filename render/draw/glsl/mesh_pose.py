"""Contains the program that writes the poses of bodies whose shape is a mesh, and GLSL for all programs of meshes.

Computing the pose of a mesh costs as much as computing the pose of another shape. So the pose must not be computed
again for each vertex. One pass with transform feedback computes the poses of all meshes and writes them into a buffer.
The pass uses `drawn_pose()`, which all other shapes use too. The programs of faces read the poses as inputs that change
once for each instance.
"""

from __future__ import annotations

import moderngl
import numpy as np

from twixt.render.draw.glsl.pose import pose_glsl
from twixt.render.draw.glsl.uniform_blocks import FRAME_GLSL, PoseVariant

# Row that the pass writes for each body. place: the body's origin. axes: the body's x, y and z axis, multiplied by its
# scales. place and axes are in eye space, in metres. color: the colour from shape and record. Its fourth number is
# alpha if the body is drawn, and 0 otherwise.
MESH_POSE = np.dtype([("place", "<f4", 3), ("axes", "<f4", (3, 3)), ("color", "<f4", 4)])
POSE_OUTPUTS = ("pose_place", "pose_x", "pose_y", "pose_z", "pose_color")
# `VertexArray.bind` needs the format of each input in a row of MESH_POSE, and the input's offset in bytes.
POSE_INPUTS = {
    "pose_place": ("3f", 0),
    "pose_x": ("3f", 12),
    "pose_y": ("3f", 24),
    "pose_z": ("3f", 36),
    "pose_color": ("4f", 48),
}

_POSE_MAIN = """
out vec3 pose_place, pose_x, pose_y, pose_z;
out vec4 pose_color;
void main() {
    Pose pose = drawn_pose();
    vec4 turn = turn_after(view_turn, pose.orientation);
    pose_place = view * pose.position;
    pose_x = rotate(turn, vec3(pose.scale.x, 0.0, 0.0));
    pose_y = rotate(turn, vec3(0.0, pose.scale.y, 0.0));
    pose_z = rotate(turn, vec3(0.0, 0.0, pose.scale.z));
    pose_color = vec4(pose.color, pose.visible && all(greaterThan(pose.scale, vec3(0.0))) ? pose.alpha : 0.0);
    gl_Position = vec4(0.0, 0.0, 1.0, 1.0);
}
"""

POSE_INPUTS_GLSL = """
in vec3 pose_place, pose_x, pose_y, pose_z;
in vec4 pose_color;
"""

# If a body is not drawn, all its vertices are placed behind the far plane. The body then covers no pixel.
VERTEX_GLSL = (
    POSE_INPUTS_GLSL
    + """
in vec3 place, normal;

vec3 place_in_eye_space() { return pose_place + pose_x * place.x + pose_y * place.y + pose_z * place.z; }

vec3 normal_in_eye_space() {
    vec3 scaled = normal / vec3(dot(pose_x, pose_x), dot(pose_y, pose_y), dot(pose_z, pose_z));
    vec3 turned = pose_x * scaled.x + pose_y * scaled.y + pose_z * scaled.z;
    return turned * inversesqrt(max(dot(turned, turned), 1e-30));
}

vec4 projected(vec3 at) {
    return pose_color.w > 0.0 ? clip_of(at) : vec4(0.0, 0.0, 2.0, 1.0);
}
"""
)

# Each face has a single tone, as the faces of boxes do. If a face is seen from the side, it is brighter. See `shade` in
# boxes.py.
FLAT_TONE_GLSL = """
vec3 tone_of(vec3 albedo, vec3 facing) {
    return light_eye.w > 0.5 ? albedo : lit(albedo, facing, 1.0, light_eye.xyz, up_eye.xyz);
}

float grazing_light(vec3 normal, vec3 at) {
    float grazing = 1.0 - abs(dot(normal, normalize(sight_to(at))));
    return light_eye.w > 0.5 ? 0.0 : 0.10 * grazing * grazing;
}
"""


def shader_text(*parts: str) -> str:
    """Returns the complete text of a shader."""
    return "#version 330 core\n" + "\n".join(parts)


def mesh_pose_program(context: moderngl.Context, variant: PoseVariant) -> moderngl.Program:
    """Returns the program that writes rows of MESH_POSE. With this program, draw the bodies as GL_POINTS and use
    transform feedback."""
    return context.program(vertex_shader=shader_text(FRAME_GLSL, pose_glsl(variant), _POSE_MAIN), varyings=POSE_OUTPUTS)
