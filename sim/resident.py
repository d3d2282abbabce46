"""How much memory this process holds, so that a report shows a world that leaks.

Always: what the kernel counts as resident, the shared snapshots that were touched included. None where there is no
/proc to ask (not Linux).
"""

from __future__ import annotations

import os


def resident_mib() -> float | None:
    """Of this process, now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
