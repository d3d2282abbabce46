"""twixt: physics in one process, drawing in another, and a picture that stays smooth.

The front door: the names a user imports, and the command line. Everything else lives in
`twixt.sim` (the physics process), `twixt.render` (the render process) and `twixt.ipc` (what they share).
"""

from __future__ import annotations

import os
import sys

__version__ = "0.1.0"
# The three folders beside this file are its subpackages, in a checkout and in an installed wheel alike.
__path__ = [os.path.dirname(os.path.abspath(__file__))]

if __name__ == "__main__":  # run as a file: `import twixt` must find this very module, not load it twice
    sys.modules["twixt"] = sys.modules["__main__"]

# Names are resolved when first used, so that `import twixt` costs nothing and `twixt --help` needs no numpy.
_HOMES = {
    "World": "twixt.sim.world",
    "Bodies": "twixt.sim.bodies",
    "show": "twixt.sim.show",
    "Scene": "twixt.ipc.scene",
    "Camera": "twixt.ipc.scene",
    "Sphere": "twixt.ipc.scene",
    "Box": "twixt.ipc.scene",
    "Plane": "twixt.ipc.scene",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'twixt' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
