"""This folder is for MuJoCo. mujoco_viewer replaces MuJoCo's passive viewer by one import. model_world runs a model
file as a world.

If the package `mujoco` is not installed, the import of `mujoco_viewer` from here raises an error with advice. All
modules can be imported without the package. handle defines the handle of a passive viewer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from twixt.sim.engines.mujoco import mujoco_viewer as mujoco_viewer
else:

    def __getattr__(name: str) -> object:
        if name != "mujoco_viewer":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        from twixt.sim.engines.mujoco.mujoco_package import required

        required()
        return importlib.import_module(f"{__name__}.mujoco_viewer")
