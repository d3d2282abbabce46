"""A loop of your own around a MuJoCo model: you step, and publish when you like. Here a domino run, ten times a second.

Run it with: python model_loop.py (needs, in the checkout: pip install '.[mujoco]')
"""

import time
from typing import Unpack

import mujoco

import twixt
from twixt import mujoco_viewer

COUNT = 16
DOMINO = '<body pos="{x} 0 0.2"><freejoint/><geom type="box" size="0.03 0.12 0.2" rgba="{red} 0.5 0.7 1"/></body>'
DOMINOES = "".join(DOMINO.format(x=0.18 * i, red=0.3 + 0.6 * i / COUNT) for i in range(COUNT))
LIGHT = '<light directional="true" dir="-0.3 0.4 -1" diffuse="0.8 0.8 0.8"/>'
MODEL = f'<mujoco><worldbody>{LIGHT}<geom type="plane" size="4 2 0.1"/>{DOMINOES}</worldbody></mujoco>'
PUBLISH_HZ = 10  # the window draws between these states: ten a second look as even as a hundred


def main(**options: Unpack[twixt.ViewerOptions]) -> None:
    """Fall until the window is closed. options: those of `twixt.show`, such as seconds=10."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.qvel[[0, 4]] = 0.8, 4.0  # m/s, rad/s: the first domino is pushed over
    each = round(1 / PUBLISH_HZ / model.opt.timestep)
    with twixt.show(mujoco_viewer.scene(model), dt=1 / PUBLISH_HZ, **options) as view:
        begin = time.perf_counter()
        while view.is_open:
            mujoco.mj_step(model, data, nstep=each)
            mujoco_viewer.publish(view, data)
            time.sleep(max(0.0, begin + data.time - time.perf_counter()))


if __name__ == "__main__":
    main()
