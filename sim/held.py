"""What a world holds, looked at after every step: the bodies it was made with, and a scene that can be drawn.

Always: what was accepted can be published and drawn. A world that takes its arrays away, or puts a scene that
cannot be in their place, crashed, though nothing was raised: it is their code that did it, while it ran.
"""

from __future__ import annotations

from twixt.ipc.errors import TwixtError, WorldCrashed
from twixt.ipc.scene import Scene
from twixt.ipc.users_code import say, users_traceback
from twixt.sim.bodies import Bodies
from twixt.sim.world import World, check_world, drawable_scene


class WorldChanged(TwixtError):
    """The user's world became one that cannot go on."""

    exit_code = 1


class Held:
    """The arrays and the scene of a world that was checked, and the dt that it is stepped with."""

    def __init__(self, world: World) -> None:
        self._dt, self._has_kept_dt, self._warning = world.dt, True, ""
        self._scene, self._declared = world.scene, world.bodies.columns.declared
        self._hold(world)

    def look(self, world: World, step: int) -> Scene | None:
        """The scene to tell viewers of, if another one than before holds after `step`. Raises WorldChanged."""
        try:
            bodies, scene = getattr(world, "bodies", None), getattr(world, "scene", None)
            if self._has_kept_dt and world.dt != self._dt:
                self._warn_of_dt(world, f"step {step}")
        except Exception as error:  # properties of the user's own
            doing = f"{type(world).__name__}.bodies, .scene or .dt"
            raise WorldCrashed(f"{doing} raised {say(error)}", users_traceback(error)) from error
        if bodies is self._bodies and scene is self._scene and len(self._bodies) == self._count:
            return None
        if bodies is not self._bodies and not (isinstance(bodies, Bodies) and len(bodies) == self._count):
            found = f"Bodies({len(bodies)})" if isinstance(bodies, Bodies) else type(bodies).__name__
            raise WorldChanged(
                f"{type(world).__name__}.bodies was Bodies({self._count}) and is {found} after step {step}; "
                "keep the one made in __init__, and use its spawn and despawn to change how many are seen"
            )
        return self._changed(world)

    def anew(self, world: World) -> Scene | None:
        """As `look`, after a reset: the bodies may be others, and more or fewer. Raises WorldChanged."""
        scene = self._changed(world, is_anew=True)
        if self._has_kept_dt and world.dt != self._dt:
            self._warn_of_dt(world, "a reset")
        return scene

    def warning(self) -> str:
        """Of what the world changed without effect, if that is new; empty otherwise."""
        warning, self._warning = self._warning, ""
        return warning

    def _warn_of_dt(self, world: World, when: str) -> None:
        self._has_kept_dt = False
        self._warning = (
            f"{type(world).__name__}.dt was {self._dt:g} and is {world.dt!r} after {when}; steps stay {self._dt:g} s "
            "long: set dt in the class or in __init__, or give --physics-hz"
        )

    def _changed(self, world: World, is_anew: bool = False) -> Scene | None:
        scene = getattr(world, "scene", None)
        if is_anew or scene is not self._scene or world.bodies is not self._bodies:
            try:
                check_world(world)
            except TwixtError as error:
                raise WorldChanged(str(error)) from error
        declared = world.bodies.columns.declared
        is_news = scene is not self._scene or declared != self._declared
        self._scene, self._declared = world.scene, declared
        self._hold(world)
        return drawable_scene(world) if is_news else None

    def _hold(self, world: World) -> None:
        self._bodies, self._count = world.bodies, len(world.bodies)
