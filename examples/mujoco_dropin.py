"""MuJoCo's passive viewer, replaced by one import: a double pendulum swings.

Run it with: python mujoco_dropin.py (needs, in the checkout: pip install '.[mujoco]')
"""

import time
from typing import Unpack

import mujoco

from twixt import ViewerOptions, mujoco_viewer  # instead of: import mujoco.viewer as mujoco_viewer

MODEL = """<mujoco><worldbody>
  <light directional="true" dir="-0.3 0.4 -1" diffuse="0.8 0.8 0.8"/>
  <geom type="plane" size="3 3 0.1" rgba="0.3 0.35 0.4 1"/>
  <body pos="0 0 2">
    <joint axis="0 1 0"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.8 0 0" rgba="0.8 0.3 0.2 1"/>
    <body pos="0.8 0 0">
      <joint axis="0 1 0"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.8 0 0" rgba="0.2 0.5 0.8 1"/>
    </body>
  </body></worldbody></mujoco>"""


def main(**options: Unpack[ViewerOptions]) -> None:
    """Swing until the window is closed. options: those of `twixt.show`, such as seconds=10."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    with mujoco_viewer.launch_passive(model, data, **options) as viewer:
        begin = time.perf_counter()
        while viewer.is_running():
            mujoco.mj_step(model, data)
            viewer.sync()
            time.sleep(max(0.0, begin + data.time - time.perf_counter()))


if __name__ == "__main__":
    main()
