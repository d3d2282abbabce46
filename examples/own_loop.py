"""A loop of your own, shown in a window: a chain of beads that swings, falling from the level.

Run it with: python own_loop.py
"""

from typing import Unpack

import numpy as np

import twixt

COUNT, DT = 60, 0.002
SPACING = 0.1


def accelerations(position: np.ndarray, velocity: np.ndarray, gravity: float) -> np.ndarray:
    """Springs between neighbours, gravity, a little air. Unit masses; the first bead is held."""
    offset = np.diff(position, axis=0)
    length = np.linalg.norm(offset, axis=1, keepdims=True)
    pull = 100_000.0 * (length - SPACING) * offset / length + 20.0 * np.diff(velocity, axis=0)
    total = -0.05 * velocity
    total[:, 2] -= gravity
    total[:-1] += pull
    total[1:] -= pull
    return total


def main(**options: Unpack[twixt.ViewerOptions]) -> None:
    """Swing until the window is closed. options: those of `twixt.show`, such as seconds=10."""
    position = np.zeros((COUNT, 3))
    position[:, 0] = SPACING * np.arange(COUNT)
    velocity = np.zeros((COUNT, 3))
    camera = twixt.Camera(eye=(0.0, -17.0, -2.0), target=(0.0, 0.0, -2.5))
    scene = twixt.Scene([twixt.Sphere(radius=0.06)] * COUNT, camera=camera, ground_z=None)

    with twixt.show(scene, dt=DT, **options) as view:
        gravity, kick = view.slider("gravity", 9.81, 0, 20), view.button("kick")  # in the overlay
        for _ in view.real_time():  # a loop that does not keep to real time runs while view.is_open, at any speed
            velocity += DT * accelerations(position, velocity, gravity.value)
            if kick.pressed():
                velocity[:, 1] += 3.0
            velocity[0] = 0.0
            position += DT * velocity
            view.publish(position=position, velocity=velocity)


if __name__ == "__main__":
    main()
