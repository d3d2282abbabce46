"""MuJoCo: its passive viewer replaced by one import, and worlds from model files.

`from twixt import mujoco_viewer` requires the package `mujoco`; it is checked here, so that all modules can be imported
without it.
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
