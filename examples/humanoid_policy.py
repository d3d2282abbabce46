"""A humanoid that a policy moves: MuJoCo steps, the policy decides every fifth step, and the window never waits for it.

Run it with: python humanoid_policy.py [FILE] (needs, in the checkout: pip install '.[mujoco]' gymnasium)
"""

import sys
import time
from importlib.resources import files
from typing import Unpack

import mujoco
import numpy as np

from twixt import ViewerOptions, mujoco_viewer


def policy(time_s: float, actuators: int) -> np.ndarray:
    """Actions in -1 .. 1, one an actuator. A trained network takes its place; this one waves."""
    return np.asarray(0.6 * np.sin(2 * np.pi * time_s + np.arange(actuators)))


def main(path: str = "", **options: Unpack[ViewerOptions]) -> None:
    """Move until the window is closed. options: those of `twixt.show`, such as seconds=10."""
    model = mujoco.MjModel.from_xml_path(path or str(files("gymnasium") / "envs/mujoco/assets/humanoid.xml"))
    data = mujoco.MjData(model)
    with mujoco_viewer.launch_passive(model, data, **options) as viewer:
        viewer.cam.distance = 4.0  # metres; MuJoCo's own shows the whole floor
        begin, steps = time.perf_counter(), 0
        while viewer.is_running():
            if steps % 5 == 0:
                low, high = model.actuator_ctrlrange.T
                data.ctrl[:] = (low + high) / 2 + (high - low) / 2 * policy(data.time, model.nu)
            mujoco.mj_step(model, data)
            viewer.sync()
            steps += 1
            time.sleep(max(0.0, begin + data.time - time.perf_counter()))


if __name__ == "__main__":
    main(*sys.argv[1:2])
