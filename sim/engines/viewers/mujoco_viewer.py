"""`twixt.mujoco_viewer` replaces MuJoCo's viewer.

    from twixt import mujoco_viewer  # instead of: import mujoco.viewer as mujoco_viewer

    with mujoco_viewer.launch_passive(model, data) as viewer:
        while viewer.is_running():
            mujoco.mj_step(model, data)
            viewer.sync()

`launch_passive`, `launch` and `launch_from_path` accept the same arguments as in MuJoCo. A loop that already has a view
of twixt uses `scene(model)` and `publish(view, data)`. docs/engines.md lists for every name of MuJoCo's viewer whether
it works, differs or has no effect.

The import raises an ImportError if the package `mujoco` is not installed.
"""

from twixt.sim.engines.mujoco.mujoco_package import required

required()  # before the other import, so that nothing else is imported if the package is missing

from twixt.sim.engines.mujoco.mujoco_viewer import (  # noqa: E402
    Handle,
    launch,
    launch_from_path,
    launch_passive,
    publish,
    scene,
)

__all__ = ["Handle", "launch", "launch_from_path", "launch_passive", "publish", "scene"]
