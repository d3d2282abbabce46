"""This module imports the package `mujoco` at its first use, and loads model files.

Always: if the package is missing, the error message contains the command that installs it. If the version is untested,
a warning is printed one time, and the version is used.
"""

from __future__ import annotations

import importlib
import os
import re
from types import ModuleType
from typing import TYPE_CHECKING

from twixt.ipc.errors import InvalidType, TwixtError, install_command, is_utf8, text_of
from twixt.ipc.process.notices import print_notice

if TYPE_CHECKING:
    from mujoco import MjModel


# Oldest and newest tested version of MuJoCo, each as (major, minor).
TESTED = (3, 17), (4, 0)

_loaded: ModuleType | None = None


class MissingPackage(TwixtError, ModuleNotFoundError):
    """A package that an engine's viewer requires is not installed."""


def required() -> ModuleType:
    """Returns the package `mujoco`. Raises MissingPackage if it is not installed."""
    global _loaded
    if _loaded is None:
        try:
            found = importlib.import_module("mujoco")
        except ModuleNotFoundError as error:
            if error.name != "mujoco":
                raise
            command = install_command("mujoco")
            missing = f"twixt's MuJoCo viewer needs the package mujoco; install it with: {command}"
            raise MissingPackage(missing, name="mujoco") from None
        if note := version_note(str(found.__version__)):
            print_notice(note)
        _loaded = found
    return _loaded


def version_note(version: str) -> str:
    """Returns a note about a MuJoCo version outside of the range `TESTED`. The note is empty for a tested version.
    version: a text such as "4.1.0"."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    found = (int(numbers[1]), int(numbers[2])) if numbers else TESTED[1]
    oldest, newest = (".".join(map(str, tested)) for tested in TESTED)
    if TESTED[0] <= found <= TESTED[1]:
        return ""
    than = f"older than {oldest}, the oldest" if found < TESTED[0] else f"newer than {newest}, the newest"
    return f"mujoco {version} is {than} version with which twixt was tested; it is used anyway"


class _OnFirstUse:
    def __getattr__(self, name: str) -> object:
        return getattr(required(), name)


if TYPE_CHECKING:
    import mujoco as mujoco
else:
    mujoco = _OnFirstUse()


# The code below loads models from files. Always: if a file cannot be loaded, the error contains the file's name and
# MuJoCo's message.


# Endings of the names of the files that MuJoCo loads: MJCF or URDF, binary models, archives.
ENDINGS = (".xml", ".urdf", ".mjb", ".mjz")
PREFIX = "mujoco:"


def is_model(name: str) -> bool:
    """True if the name of a world stands for a model file: `mujoco:FILE`, or a name with one of the ENDINGS."""
    return name.startswith(PREFIX) or name.lower().endswith(ENDINGS)


def loaded_model(path: str | os.PathLike[str]) -> MjModel:
    """Loads the model in a file. Raises TwixtError if the file does not exist or MuJoCo cannot load it."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidType(f"a model's file must be named by a path, got {text_of(path)}")
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
    # The class of the error depends on MuJoCo's version and on the fault. It may be ValueError, FatalError or another
    # class.
    except Exception as error:
        raise TwixtError(f"MuJoCo cannot load {name!r}: {' '.join(str(error).split())}; correct the file") from error
