"""Where a simulation and its viewers meet: all that either side needs of the channel, under one roof.

    door = open_door(name); host = Host(door, scene, capacity)      the simulation: publish, write_plan, ...
    link = attach(name)                                             a viewer: poll, unread, send, ...

The one idea: the name is taken first, with the standard library alone, so that a viewer can be started
and can connect while the simulation still imports numpy and its world. The rest is loaded when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twixt.ipc.commands import Command
from twixt.ipc.door import Door, open_door, running

if TYPE_CHECKING:
    from twixt.ipc.host import Host
    from twixt.ipc.link import Ended, Link, attach

__all__ = ["Command", "Door", "Ended", "Host", "Link", "attach", "open_door", "running"]

_HOMES = {"Host": "twixt.ipc.host", "Link": "twixt.ipc.link", "Ended": "twixt.ipc.link", "attach": "twixt.ipc.link"}


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
