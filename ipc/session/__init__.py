"""A session connects a simulation and its viewers.

The simulation uses host, service, viewers and wakes. The viewer uses link. Both use listener, wire and messages.

    listener = open_listener(name); host = Host(listener, scene, capacity)    the simulation: ring.begin,
    ring.write_plan, ...
    link = attach(name)                                                       a viewer: poll, unread, send, ...

`open_listener` needs only the standard library, so a viewer can start and connect while the simulation still imports
numpy and its world. The other modules are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twixt.ipc.commands import Command
from twixt.ipc.session.listener import open_listener, running
from twixt.ipc.system.interface import Listener

if TYPE_CHECKING:
    from twixt.ipc.session.host import Host
    from twixt.ipc.session.link import Ended, Link, attach

__all__ = ["Command", "Ended", "Host", "Link", "Listener", "attach", "open_listener", "running"]

_HOMES = {
    "Host": "twixt.ipc.session.host",
    "Link": "twixt.ipc.session.link",
    "Ended": "twixt.ipc.session.link",
    "attach": "twixt.ipc.session.link",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
