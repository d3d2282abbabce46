"""The one boundary to an operating system: `memory`, `names`, `wakes`, `children`, chosen by `sys.platform`.

`interface` says what each part does. No other module names a call that only some systems have.
"""

from __future__ import annotations

import sys

from twixt.ipc.system.interface import Children, Names, SharedMemory, UnsupportedSystem, Wakes

memory: SharedMemory
names: Names
wakes: Wakes
children: Children

if sys.platform == "linux":
    from twixt.ipc.system import linux_children, linux_memory, linux_names, linux_wakes

    memory, names, wakes, children = linux_memory, linux_names, linux_wakes, linux_children
else:
    raise UnsupportedSystem(f"twixt runs on Linux so far, and this system is {sys.platform!r}; run it on Linux")
