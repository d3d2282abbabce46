"""Models in files. Always: a file that cannot be loaded is refused with its name and MuJoCo's own words."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from twixt.ipc.errors import TwixtError, is_utf8, text_of
from twixt.sim.engines.mujoco.mujoco_package import mujoco

if TYPE_CHECKING:
    from mujoco import MjModel

# Endings of files that MuJoCo loads: MJCF or URDF, binary models, archives.
ENDINGS = (".xml", ".urdf", ".mjb", ".mjz")
PREFIX = "mujoco:"


def is_model(name: str) -> bool:
    """True for the name of a world that is a model file: `mujoco:FILE`, or a file that ends like a model."""
    return name.startswith(PREFIX) or name.lower().endswith(ENDINGS)


def loaded_model(path: str | os.PathLike[str]) -> MjModel:
    """The model in a file. Raises TwixtError for one that is not there or that MuJoCo refuses."""
    if not isinstance(path, str | os.PathLike):
        raise TwixtError(f"a model's file must be named by a path, got {text_of(path)}")
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise TwixtError(f"no file {text_of(name)}; give the path of a MuJoCo model, such as humanoid.xml")
    if not is_utf8(os.fsdecode(name)):
        raise TwixtError(
            f"MuJoCo opens files with UTF-8 names only, got {text_of(name)}; rename the file, or its folder"
        )
    load = mujoco.MjModel.from_binary_path if name.endswith(".mjb") else mujoco.MjModel.from_xml_path
    try:
        return load(name)
    except Exception as error:  # ValueError, FatalError and others, by version and fault
        raise TwixtError(f"MuJoCo cannot load {name!r}: {' '.join(str(error).split())}; correct the file") from error
