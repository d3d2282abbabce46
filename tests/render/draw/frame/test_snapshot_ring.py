"""Inputs that a program does not use are padding; the others are read from where they lie."""

from __future__ import annotations

import moderngl
import numpy as np
import pytest

from tests.render.draw.conftest import Studio
from tests.render.draw.gl_errors import gl_errors
from twixt.render.draw.frame.snapshot_ring import vertex_array

LAYOUT, NAMES = "3f 4f1 2u4 6x 1f2 /v", ("place", "color", "numbers", "share")
ROW = np.dtype([("place", "3f4"), ("color", "4u1"), ("numbers", "2u4"), ("gap", "6u1"), ("share", "f2")])
# By input: its type in GLSL, and how it becomes one number.
USES = {
    "place": ("vec3", "place.z"),
    "color": ("vec4", "color.w * 255.0"),
    "numbers": ("uvec2", "float(numbers.y)"),
    "share": ("float", "share"),
}
WORTH = {"place": 3.0, "color": 40.0, "numbers": 500.0, "share": 0.5}


def program_of(context: moderngl.Context, used: tuple[str, ...]) -> moderngl.Program:
    """Sums up what it uses, and the vertex's number."""
    inputs = "".join(f"in {USES[name][0]} {name};" for name in used)
    total = " + ".join(["float(gl_VertexID)", *(USES[name][1] for name in used)])
    shader = f"#version 330\n{inputs} out float total; void main() {{ total = {total}; }}"
    return context.program(vertex_shader=shader, varyings=["total"])


@pytest.mark.parametrize("used", [NAMES, NAMES[1:], NAMES[:-1], ("color", "share"), ("numbers",), ()], ids="-".join)
def test_used_inputs_are_read_where_they_lie_without_an_error(studio: Studio, used: tuple[str, ...]) -> None:
    context, rows = studio.context, np.zeros(2, ROW)
    rows["place"], rows["color"], rows["numbers"], rows["share"] = (1, 2, 3), (10, 20, 30, 40), (4, 500), 0.5
    results = context.buffer(reserve=8)
    studio.framebuffer.use()
    with gl_errors() as errors:
        array = vertex_array(context, program_of(context, used), [(context.buffer(rows), LAYOUT, *NAMES)])
        array.transform(results, moderngl.POINTS, vertices=2)
        assert not errors
    total = sum(WORTH[name] for name in used)
    assert np.frombuffer(results.read(), "f4").tolist() == pytest.approx([total, total + 1])


def test_an_error_of_opengl_is_counted(studio: Studio) -> None:
    context = studio.context
    content = [(context.buffer(reserve=64), "3f 4f", "place", "unknown")]
    with gl_errors() as errors:
        context.vertex_array(program_of(context, ("place",)), content, skip_errors=True)
        assert errors
