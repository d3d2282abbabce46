import numpy as np
from twixt import Bodies, Scene, Sphere, World

class Orbit(World):
    """100 beads on a ring."""
    dt = 1 / 60                                        # seconds of simulated time per step

    def __init__(self, count: int = 100, seed: int = 0):
        self.bodies = Bodies(count)                    # structured array views: position, orientation, velocity, ...
        self.scene = Scene([Sphere(radius=0.1)] * count)   # shapes, one per body; a camera may be given, else all is framed
        self.phase = np.linspace(0, 2 * np.pi, count, endpoint=False)

    def step(self, dt: float) -> None:
        self.phase += dt
        self.bodies.position[:, 0] = np.cos(self.phase)
        self.bodies.position[:, 1] = np.sin(self.phase)
