"""This package is the boundary to the operating system. It has the modules `memory`, `names`, `wakes` and `children`.
`sys.platform` decides which module of a system each name stands for.

Module `interface` defines a Protocol for each of these modules. Only the modules in this folder use calls that some
systems do not have. Each module is imported when it is first used, so the start of a viewer waits only for the import
of `children`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # defined here, because an import of `typing` takes some ms
if TYPE_CHECKING:
    from twixt.ipc.system.interface import Children, Names, SharedMemory, Wakes

    memory: SharedMemory
    names: Names
    wakes: Wakes
    children: Children
    if sys.platform == "linux":
        from twixt.ipc.system import linux_children, linux_memory, linux_names, linux_wakes

        memory, names, wakes, children = linux_memory, linux_names, linux_wakes, linux_children
elif sys.platform == "linux":

    def __getattr__(name: str) -> object:
        import importlib

        if name not in ("memory", "names", "wakes", "children"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = globals()[name] = importlib.import_module(f"{__name__}.linux_{name}")
        return module

else:
    from twixt.ipc.system.interface import UnsupportedSystem

    raise UnsupportedSystem(f"twixt runs only on Linux, and this system is {sys.platform!r}; run it on Linux")
