"""Shows one bright body that crosses a dark screen at constant velocity. It is the reference for measurements of
pictures.

The body moves along x in the plane y = 0, which faces the camera. A picture of `width_px` x `height_px` shows the body
at

    x_px = width_px / 2 + x * height_px / 6        (100 px per metre at 800x600)
    y_px = height_px / 2

The body crosses the picture in 12 s; for 800x600 this is 60 px/s. Then it is teleported back to the left. Always:
after a step, `x == position_at(simulated time)`. Between the last step of a crossing and the first step of the next
crossing, a viewer draws the body at rest at the right end. Nothing else moves. There is no ground and no outline.
"""

from __future__ import annotations

import math

from twixt.ipc.scene import Camera, Scene, Sphere
from twixt.sim.world.bodies import Bodies
from twixt.sim.world.world import World

# Time of one crossing, in seconds. At the end of each crossing the body stands still for a step. A crossing is long,
# so that a measured run contains few such ends.
CROSSING_S = 12
SPEED_M_S = 0.6
START_M = -CROSSING_S * SPEED_M_S / 2
RADIUS_M = 0.12
# A picture shows this height of the plane of motion, in metres.
VISIBLE_HEIGHT_M = 6.0
# The vertical angle of view is small. So a sphere is drawn as a disc around its projected centre (within 0.02 px),
# even near the edge of the picture.
FOV_Y_DEG = 20.0
EYE_M = VISIBLE_HEIGHT_M / 2 / math.tan(math.radians(FOV_Y_DEG / 2))

CROSSING_NS = CROSSING_S * 1_000_000_000


def position_at(sim_time_s: float) -> float:
    """Returns the x coordinate of the body, in metres, at a simulated time in seconds."""
    return START_M + SPEED_M_S * (sim_time_s % CROSSING_S)


class Metronome(World):
    """One white ball at constant speed across a black screen."""

    dt = 1 / 60

    def __init__(self, seed: int = 0) -> None:
        self.bodies = Bodies(1)
        self.scene = Scene(
            [Sphere(radius=RADIUS_M, color=(1.0, 1.0, 1.0))],
            camera=Camera(eye=(0.0, -EYE_M, 0.0), target=(0.0, 0.0, 0.0), fov_y_deg=FOV_Y_DEG),
            ground_z=None,
            background=(0.0, 0.0, 0.0),
            look="unlit",
        )
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Moves the body to the left end, and sets simulated time to 0. `seed` has no effect."""
        self.time_ns = 0
        self.bodies.teleport(0, (START_M, 0.0, 0.0))
        self.bodies.velocity[0] = (SPEED_M_S, 0.0, 0.0)

    def step(self, dt: float) -> None:
        """Advances the body by `dt` seconds."""
        crossings = self.time_ns // CROSSING_NS
        self.time_ns += round(dt * 1e9)
        x = position_at((self.time_ns % CROSSING_NS) / 1e9)
        if self.time_ns // CROSSING_NS != crossings:
            self.bodies.teleport(0, (x, 0.0, 0.0))
        else:
            self.bodies.position[0, 0] = x
