"""The columns of a frame log: PresentMon's names first, then our own with their units.

The first fifteen are those of PresentMon 1.10 in its order, so that readers of its files open ours; a
value we cannot know is `NA` or that tool's word for unknown. `Runtime` is 1.x's name (2.x says
`PresentRuntime`). Then every field of a `FrameRow` under its own name, and a few ages worked out from
them for the reader's convenience, which reading a log ignores.
"""

from __future__ import annotations

MISSING = "NA"

# As PresentMon means them, with swap in the place of Present and its return in the place of the display:
# the way from there to the glass is not visible to a program.
PRESENTMON = (
    "Application",
    "ProcessID",
    "SwapChainAddress",
    "Runtime",
    "SyncInterval",  # refreshes planned for the frame; 0 where the display does not block
    "PresentFlags",
    "Dropped",
    "TimeInSeconds",  # of the swap call, since the first one
    "msInPresentAPI",  # inside the swap call
    "msBetweenPresents",  # between swap calls
    "AllowsTearing",
    "PresentMode",
    "msUntilRenderComplete",  # from the swap call; negative: drawing was complete before it
    "msUntilDisplayed",  # from the swap call to its return
    "msBetweenDisplayChange",  # between swap returns: the frame interval
)
DERIVED = ("cpu_ms", "sample_age_ms", "newest_age_ms", "sim_to_present_ms")
