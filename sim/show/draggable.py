"""A body of a view that users drag with the mouse. The program reads its position and publishes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twixt.ipc.errors import InvalidValue, text_of
from twixt.ipc.scene.checks import SceneError, vector
from twixt.ipc.session.messages import MOST_DRAGGABLE

if TYPE_CHECKING:
    from twixt.ipc.session.host import Host
    from twixt.ipc.session.viewers import ReceivedActions


class DraggableBody:
    """A body that users drag with the mouse. `View.draggable` returns it.

    Attributes:
        body: Index of the body's record.

    Examples:
        ```python
        import twixt

        with twixt.show(twixt.Scene([twixt.Sphere(0.2)]), dt=1 / 60) as view:
            target = view.draggable(0, position=(0, 0, 1))
            for t in view.real_time():
                view.publish(position=target.position)
        ```
    """

    __slots__ = ("_actions", "body")

    def __init__(self, actions: ReceivedActions, body: int) -> None:
        self._actions, self.body = actions, body

    @property
    def position(self) -> NDArray[np.float64]:
        """Position of the body, (3,) float64 in metres, in the world frame. Each read gives a new array.

        While a user drags the body, the point of the body that the user has grabbed follows the pointer, in the plane
        that faces the camera. Otherwise the position keeps its last value. The program may assign another position; a
        drag replaces it. twixt does not move the body: publish this position.

        Raises:
            TwixtError: The assigned value is not three finite numbers.
        """
        return np.array(self._actions.dragged[self.body])

    @position.setter
    def position(self, position: ArrayLike) -> None:
        self._actions.dragged[self.body] = checked_position(position)

    @property
    def is_dragged(self) -> bool:
        """True while a user drags the body."""
        return any(pull.body == self.body and pull.is_held and not pull.is_turn for pull in self._actions.pulls)


def checked_position(position: Any) -> tuple[float, float, float]:
    """Returns `position` as a tuple. Raises TwixtError for anything but three finite numbers."""
    try:
        return vector("position of a draggable body", position)
    except SceneError as error:
        raise InvalidValue(f"{error}; give x, y, z in metres") from None


def draggable_body(host: Host, body: Any, bodies: int, position: Any) -> DraggableBody:
    """Makes a body draggable. bodies: number of bodies while nothing is published. position: see `View.draggable`.
    Raises TwixtError for a body that does not exist, for a wrong position, and for too many draggable bodies."""
    actions, newest = host.actions, host.ring.newest()
    count = bodies if newest is None else len(newest.bodies)
    is_whole = isinstance(body, int | np.integer) and not isinstance(body, bool)
    if not (is_whole and 0 <= body < count):
        raise InvalidValue(f"draggable(body) must be the index of one of {count} bodies, got {text_of(body)}")
    body = int(body)
    if position is not None:
        actions.dragged[body] = checked_position(position)
    elif body not in actions.dragged:
        published = np.full(3, np.nan) if newest is None else newest.bodies["position"][body]
        if not np.isfinite(published).all():
            raise InvalidValue(
                f"body {body} has no position yet; publish it first, or give its position: "
                f"view.draggable({body}, position=(x, y, z))"
            )
        actions.dragged[body] = checked_position(published)
    if len(actions.dragged) > MOST_DRAGGABLE:
        del actions.dragged[body]
        raise InvalidValue(f"a view may have {MOST_DRAGGABLE} draggable bodies at most; make fewer bodies draggable")
    return DraggableBody(actions, body)
