"""The deforming surfaces of a world: the vertices of cloth, skins and soft bodies, which each step writes.

The vertices of all deforming bodies are one block of memory in the format of a snapshot. So one copy publishes them.

Always: a body has as many vertices as the mesh of its shape. At first the vertices are the rest shape. If a vertex is
not finite, it is reported, and its body is not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidType, InvalidValue, TwixtError, named_arguments, refusal, text_of
from twixt.ipc.scene import Scene
from twixt.ipc.scene.groups import LAST_BODY
from twixt.ipc.scene.scene import shape_list
from twixt.ipc.scene.surfaces import (
    FARTHEST_VERTEX,
    Extras,
    SurfaceRows,
    are_drawable,
    deforming,
    packed,
    surface_rows,
    unpacked,
)
from twixt.ipc.session.host import Host
from twixt.ipc.snapshot import MARK, NO_MARKS, vertex_records
from twixt.sim.array_arguments import array_refusal, kind_of, without_mask


@named_arguments
class Surfaces:
    """Vertices of the deforming bodies of a scene. `surfaces[body]` is a writable float32 array (v, 3).

    At first they are the vertices of the meshes. `len(surfaces)` is the number of deforming bodies, and iteration
    yields their indices. In a world, set `self.surfaces`. In your own loop, pass the object or arrays to
    `View.publish`.

    Args:
        scene: Scene of the bodies.
        count: Number of bodies. By default one for each shape of the scene.

    Attributes:
        vertices: Vertices of all deforming bodies, one body after the other, float32 (all v, 3). The vertices are in
            metres, each in the frame of its body.
        records: The same vertices as records, in the format of a snapshot.

    Raises:
        TwixtError: No body of the scene deforms, or an argument is invalid.

    Examples:
        ```python
        from twixt import Mesh, Scene, Surfaces

        flag = Mesh([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]], [[0, 1, 2], [0, 2, 3]], deforms=True)
        surfaces = Surfaces(Scene([flag]))
        surfaces[0][2] = (1, 0.2, 1)  # x, y, z of vertex 2 of body 0
        ```
    """

    vertices: NDArray[np.float32]
    records: NDArray[np.void]

    def __init__(self, scene: Scene, count: int | None = None) -> None:
        if not isinstance(scene, Scene):
            raise InvalidType(f"Surfaces needs a Scene, got {type(scene).__name__}; such as Surfaces(self.scene)")
        is_whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if count is not None and not (is_whole and 0 <= count <= LAST_BODY + 1):
            raise refusal(count, int, np.integer)(
                f"Surfaces(count) must be a whole number of bodies >= 0, got {text_of(count)}"
            )
        self._rows = surface_rows(scene, len(scene.shapes) if count is None else count)
        if not len(self._rows.bodies):
            raise InvalidValue("Surfaces needs a scene in which a body deforms; make its shape Mesh(..., deforms=True)")
        self.records = np.zeros(vertex_records(self._rows.vertices), MARK)
        self.vertices = unpacked(self.records, self._rows.vertices)
        shapes = shape_list(scene).rows_for(int(self._rows.bodies[-1]) + 1)
        for place, body in enumerate(self._rows.bodies):
            mesh = deforming(shape_list(scene).table[shapes[body]])
            assert mesh is not None
            self.vertices[self._rows.rows(place)] = mesh.vertices

    def __len__(self) -> int:
        return len(self._rows.bodies)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows.bodies.tolist())

    def __getitem__(self, body: int) -> NDArray[np.float32]:
        """View of the vertices of one body.

        Args:
            body: Index of the body.

        Returns:
            float32 (v, 3), in metres in the body's own frame.

        Raises:
            TwixtError: The body does not deform.
        """
        return self.vertices[self._rows.rows(self._place(body))]

    def __setitem__(self, body: int, vertices: ArrayLike) -> None:
        """Copies vertices into those of one body.

        Args:
            body: Index of the body.
            vertices: (v, 3), in metres in the body's own frame.

        Raises:
            TwixtError: The body does not deform, or the vertices have another shape or type.
        """
        target = self[body]
        target[...] = checked_vertices(f"surfaces[{body}]", vertices, len(target))

    def after(self, marks: NDArray[np.void] = NO_MARKS) -> Extras:
        """Records of marks, followed by the vertices as records.

        Args:
            marks: Records of marks, (m,) of dtype `twixt.ipc.snapshot.MARK`.

        Returns:
            The records. Publish them before the vertices change.
        """
        return packed(marks, self.records, self._rows.vertices)

    def _is_for(self, scene: Scene, count: int) -> bool:
        """True if the bodies of these surfaces are exactly those that deform among the first `count` bodies of a
        scene."""
        return self._has_rows(surface_rows(scene, count))

    def _has_rows(self, rows: SurfaceRows) -> bool:
        """True if `rows` has the same bodies, each with the same number of vertices."""
        return np.array_equal(rows.bodies, self._rows.bodies) and np.array_equal(rows.starts, self._rows.starts)

    def _fault(self, tick: int, way_out: str) -> str:
        """Warning about the first vertex that cannot be drawn after step number `tick`. Empty if there is none.
        way_out: advice for the user, as from `way_out_in`."""
        if are_drawable(self.vertices):
            return ""
        is_fine = (np.abs(self.vertices) < FARTHEST_VERTEX).all(axis=1)
        row = int(np.argmin(is_fine))
        at = int(np.searchsorted(self._rows.starts, row, "right")) - 1
        return (
            f"vertex {row - self._rows.starts[at]} of the surface of body {self._rows.bodies[at]} is at "
            f"{np.array2string(self.vertices[row], separator=', ')} after step {tick}; that body is not drawn; "
            f"{way_out}"
        )

    def _place(self, body: Any) -> int:
        place = int(np.searchsorted(self._rows.bodies, body)) if isinstance(body, int | np.integer) else len(self)
        if place >= len(self) or self._rows.bodies[place] != body:
            few = ", ".join(map(str, self._rows.bodies[:8].tolist())) + (" ..." if len(self) > 8 else "")
            raise InvalidValue(f"only the bodies that deform have surfaces, {few}; got {text_of(body)}")
        return place


def checked_vertices(name: str, vertices: ArrayLike, count: int) -> NDArray[Any]:
    """`vertices` as an array of numbers, (count, 3). Raises TwixtError for another shape or type."""
    try:
        array = np.asarray(without_mask(name, vertices))
    except TwixtError:
        raise
    except (ValueError, TypeError) as error:
        raise InvalidType(
            f"{name} must be numbers of shape ({count}, 3), got {type(vertices).__name__} ({error})"
        ) from None
    if array.dtype.kind not in "iuf" or array.shape != (count, 3):
        raise array_refusal(array, "fiu")(f"{name} must be numbers of shape ({count}, 3), got {kind_of(array)}")
    return array


# A mapping from each deforming body to its vertices. If only one body deforms, its vertices alone are accepted.
GivenSurfaces = Mapping[int, ArrayLike] | ArrayLike


class ShownSurfaces:
    """The surfaces of a view from publish to publish. They belong to the scene of `host`; if that scene is replaced,
    they are adapted to the new one.

    Vertices that the user passes are checked and written. All other vertices stay unchanged. Always: a publish that
    raises changes nothing, because new vertices are written into a second block. That block becomes the current one
    after the publish is complete.

    are_shown: True after surfaces were given for the first time. A publish without surfaces then repeats the last
    vertices.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._read: tuple[int, Scene] | None = None  # Version of the scene that was read last, and that scene.
        self.are_shown = False
        self._now: Surfaces | None = None
        self._next: Surfaces | None = None

    def written(self, given: GivenSurfaces | None, count_of: Callable[[], int]) -> Surfaces | None:
        """Surfaces with the vertices in `given` and the previous vertices of all other bodies. None if no vertices
        were ever given. count_of: function that returns the number of bodies. Raises TwixtError."""
        if given is None and self._now is None:
            return None
        count, scene = count_of(), self._scene()
        if self._now is None or self._next is None or not self._next._is_for(scene, count):
            if not len(surface_rows(scene, count).bodies):
                if given is None:
                    return None
                raise InvalidValue(
                    "publish(surfaces) needs a body that deforms; make its shape Mesh(..., deforms=True)"
                )
            self._next = Surfaces(scene, count)
        if self._now is not None:
            _keep(self._now, self._next)
        if given is not None:
            for body, vertices in _by_body(self._next, given).items():
                target = self._next[body]
                target[...] = checked_vertices(f"publish(surfaces) of body {body}", vertices, len(target))
        return self._next

    def complete(self) -> None:
        """Makes the surfaces that were written last the current ones. Call it after these surfaces are published."""
        self._now, self._next = self._next, self._now
        self.are_shown = self._now is not None

    def _scene(self) -> Scene:
        published = self._host.scene
        if self._read is None or self._read[0] != published.version:
            self._read = published.version, published.unpacked()
        return self._read[1]


def _keep(now: Surfaces, into: Surfaces) -> None:
    """Copies the vertices of each body that has the same number of vertices in both surfaces."""
    if now._has_rows(into._rows):
        into.vertices[...] = now.vertices
        return
    for body in set(now) & set(into):
        if now[body].shape == into[body].shape:
            into[body] = now[body]


def _by_body(surfaces: Surfaces, given: GivenSurfaces) -> Mapping[int, ArrayLike]:
    if isinstance(given, Mapping):
        return given
    if isinstance(given, Surfaces):
        return {body: given[body] for body in given}
    if len(surfaces) > 1:
        raise InvalidValue(
            f"publish(surfaces) must be {{body: vertices}} if several bodies deform; here {len(surfaces)} deform"
        )
    return {int(surfaces._rows.bodies[0]): given}
