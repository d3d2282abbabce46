"""Surfaces of a view between publishes: passed vertices are checked and written, the others keep their values.

Always: a publish that is refused changes nothing: the next vertices are written into a second block, which becomes the
present one once the publish is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numpy.typing import ArrayLike

from twixt.ipc.errors import TwixtError
from twixt.ipc.scene import Scene
from twixt.ipc.scene.surfaces import surface_rows
from twixt.ipc.session.host import Host
from twixt.sim.world.surfaces import Surfaces, checked_vertices

# Vertices by body, or of the only body that deforms.
GivenSurfaces = Mapping[int, ArrayLike] | ArrayLike


class ShownSurfaces:
    """Vertices of the deforming bodies in the scene of `host`, also after that is replaced.

    are_shown: True once surfaces were given; later publishes without surfaces keep them.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._read: tuple[int, Scene] | None = None  # version, and the scene
        self.are_shown = False
        self._now: Surfaces | None = None
        self._next: Surfaces | None = None

    def written(self, given: GivenSurfaces | None, count_of: Callable[[], int]) -> Surfaces | None:
        """Surfaces with the vertices `given`; None before any were given. count_of: returns the number of bodies.
        Raises TwixtError."""
        if given is None and self._now is None:
            return None
        count, scene = count_of(), self._scene()
        if self._now is None or self._next is None or not self._next.is_for(scene, count):
            if not len(surface_rows(scene, count).bodies):
                if given is None:
                    return None
                raise TwixtError("publish(surfaces) needs a body that deforms; make its shape Mesh(..., deforms=True)")
            self._next = Surfaces(scene, count)
        if self._now is not None:
            _keep(self._now, self._next)
        if given is not None:
            for body, vertices in _by_body(self._next, given).items():
                target = self._next[body]
                target[...] = checked_vertices(f"publish(surfaces) of body {body}", vertices, len(target))
        return self._next

    def complete(self) -> None:
        """Makes the surfaces written last the present ones, after their publish."""
        self._now, self._next = self._next, self._now
        self.are_shown = self._now is not None

    def _scene(self) -> Scene:
        published = self._host.scene
        if self._read is None or self._read[0] != published.version:
            self._read = published.version, published.unpacked()
        return self._read[1]


def _keep(now: Surfaces, into: Surfaces) -> None:
    """Copies the vertices of bodies that have the same number in both."""
    if now.has_rows(into.rows):
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
        raise TwixtError(
            f"publish(surfaces) must be {{body: vertices}} where several bodies deform; here {len(surfaces)} do"
        )
    return {int(surfaces.rows.bodies[0]): given}
