"""Vertex arrays of programs that use only some of the inputs which their buffers hold.

Always: no input is bound that the program does not use. moderngl's own `skip_errors` looks up an unknown name as
location -1; in a program that reads gl_VertexID it finds that input there and binds it, which is an OpenGL error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import moderngl

_BYTES = {"1": 1, "2": 2, "4": 4, "8": 8, "": 4}  # of one number, by the digit behind its type
_NODE = re.compile(r"(\d+)([fiu])([1248]?)")


def vertex_array(
    context: moderngl.Context, program: moderngl.Program, content: Iterable[tuple[Any, ...]], **options: Any
) -> moderngl.VertexArray:
    """Vertex array of `program`. content, options: as of moderngl's `vertex_array`; names that the program does not use
    are left out."""
    used = (_used(program, *entry) for entry in content)
    return context.vertex_array(program, [entry for entry in used if len(entry) > 2], **options)


def _used(program: moderngl.Program, buffer: moderngl.Buffer, layout: str, *names: str) -> tuple[Any, ...]:
    """The entry of a buffer, with padding in place of each input that `program` does not use."""
    nodes, kept, left = [], [], iter(names)
    for node in layout.split():
        found = _NODE.fullmatch(node)
        if found is None:  # padding, or "/v" and "/i"
            nodes.append(node)
        elif isinstance(program.get(name := next(left), None), moderngl.Attribute):
            nodes.append(node)
            kept.append(name)
        else:
            nodes.append(f"{int(found[1]) * _BYTES[found[3]]}x")
    return buffer, " ".join(nodes), *kept
