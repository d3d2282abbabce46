"""A drawing of your own: an arrow along every body's velocity, and in words how fast the fastest is.

Run it with: twixt run balls --draw draw_speed:draw
"""

import numpy as np

from twixt import DrawFrame

SECONDS = 0.5  # an arrow ends where its body would be after so long
SLOWEST = 0.3  # m/s; what is slower gets no arrow
HEAD = 0.25  # of an arrow's length


def draw(frame: DrawFrame) -> None:
    """Called once a frame. Snapshots carry velocities, poses are where bodies are drawn."""
    velocity = frame.previous.bodies["velocity"]
    if frame.next is not None and len(frame.next.bodies) == len(velocity):
        velocity = velocity + frame.alpha * (frame.next.bodies["velocity"] - velocity)
    speed = np.linalg.norm(velocity, axis=1)
    moving = frame.poses.visible & (speed > SLOWEST)
    if not moving.any():
        return
    start, arrow = frame.poses.position[moving], SECONDS * velocity[moving]
    share = speed[moving, None] / speed[moving].max()
    color = (1 - share) * (0.5, 0.8, 1.0) + share * (1.0, 0.5, 0.2)
    tip = start + arrow
    side = HEAD / 2 * np.cross(arrow, (0, 0, 1))
    frame.lines(start, tip, color)
    for wing in (side, -side):
        frame.lines(tip, tip - HEAD * arrow + wing, color)

    fastest = np.argmax(np.where(moving, speed, 0))
    frame.points(frame.poses.position[fastest], color=(1, 1, 1), size_px=8)
    frame.label(frame.poses.position[fastest], f"{speed[fastest]:.1f} m/s")
