"""This module has the checks of `twixt doctor` about the instants at which frames appear. The checks use presentation
feedback, the instant at which a swap returns, and fences that block.

This module swaps an empty picture in a window for one or two seconds and records what happens. Each check is a pure
function of these observations and returns a `Verdict`.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from twixt.render.pacing.refresh import AT_ONCE_NS, LONGEST_FENCE_NS, WAITED_NS

GOOD, USABLE, BAD = "good", "usable", "bad"


class Verdict(NamedTuple):
    """Result of one check. point: what was checked. grade: GOOD, USABLE or BAD. USABLE means that it works, but with
    the drawback that `says` names."""

    point: str
    grade: str
    says: str


SWAPS_TIMED_NS = 1_500_000_000
# MOST_SWAPS: largest number of swaps in a trial if swaps do not wait. FEWEST_REPORTS: smallest number of presentation
# reports that counts as feedback.
MOST_SWAPS, FEWEST_REPORTS = 120, 10
FENCES = 12
# Pause in seconds before each swap if swaps do not wait. During the pause the display has time to show the frame.
PAUSE_S = 0.005


class SwapObservations(NamedTuple):
    """Observations of a trial: the swaps of the trial, and the display's presentation feedback on these swaps.

    way: name of the kind of feedback. silence: reason why there is no feedback. returns_ns: instants at which swaps
    returned. presents_ns: instants at which the display showed frames, according to its reports. present_delays_ns:
    for each frame in presents_ns, the time from the swap's return until the frame was shown, in ns. discarded: number
    of frames that the display did not show. swap_ns, fence_ns: median durations of a swap and of a fence. is_tried:
    True if twixt's support for this kind of feedback was tested on hardware.
    """

    way: str
    silence: str
    returns_ns: list[int]
    presents_ns: list[int]
    present_delays_ns: list[int]
    flags: str
    discarded: int
    swap_ns: int
    fence_ns: int
    is_tried: bool

    @property
    def instants_ns(self) -> list[int]:
        """Returns the instants at which frames were shown. If there are too few reports, returns the instants at which
        swaps returned."""
        return self.presents_ns if len(self.presents_ns) >= FEWEST_REPORTS else self.returns_ns


def watch(window: Any, blocks: bool) -> SwapObservations:
    """Swaps with presentation feedback for `SWAPS_TIMED_NS`, then swaps `FENCES` times with a fence. blocks: True if
    swaps wait for the display."""
    window.ask_for_presents()
    returns_ns: dict[int, int] = {}
    presents_ns: list[int] = []
    present_delays_ns: list[int] = []
    swaps_ns: list[int] = []
    flags, discarded = "", 0
    begin_ns = time.perf_counter_ns()
    while time.perf_counter_ns() - begin_ns < SWAPS_TIMED_NS and (blocks or len(returns_ns) < MOST_SWAPS):
        swaps_ns.append(swap(window, None if blocks else PAUSE_S))
        returns_ns[window.swap_number] = time.perf_counter_ns()
        for report in window.drain_presents():
            if report.was_shown and report.swap_number in returns_ns:
                presents_ns.append(report.present_ns)
                present_delays_ns.append(report.present_ns - returns_ns[report.swap_number])
                flags = report.flags
            discarded += not report.was_shown
    times = window.present_times
    return SwapObservations(
        way=times.way,
        silence=times.silence,
        returns_ns=list(returns_ns.values()),
        presents_ns=presents_ns,
        present_delays_ns=present_delays_ns,
        flags=flags,
        discarded=discarded,
        swap_ns=_middle(swaps_ns),
        fence_ns=_middle([_fence(window) for _ in range(FENCES)]),
        is_tried=window.backend == "wayland",
    )


# Text for displays on which swaps return immediately and drawing waits instead. On such a display neither feedback nor
# a fence tells when a frame is shown.
COUNTED = (
    "No swap and no fence waits for the display. twixt counts refreshes by the instants at which drawing may continue. "
    "It notices a new refresh rate within a few seconds, but not a half, a third ... of the old rate. If a frame takes "
    "longer than a refresh, its present time is an estimate"
)


def presents(seen: SwapObservations, blocks: bool) -> Verdict:
    """Checks presentation feedback. If there is no feedback, the verdict names the method that replaces it."""
    tried = "" if seen.is_tried else ", not tried on hardware"
    if len(seen.present_delays_ns) >= FEWEST_REPORTS:
        off_ms = np.array(seen.present_delays_ns) / 1e6
        usual_ms = float(np.median(off_ms))
        spread_ms = float(np.percentile(np.abs(off_ms - usual_ms), 99))
        lost = f", {seen.discarded} discarded" if seen.discarded else ""
        return Verdict(
            "presents", GOOD,
            f"the display reports when it shows frames ({seen.way}{tried}: {len(seen.present_delays_ns)} of "
            f"{len(seen.returns_ns)} swaps{lost}; {seen.flags or 'software timestamps'}); the median swap returns "
            f"{abs(usual_ms):.2f} ms {'before' if usual_ms >= 0 else 'after'} its frame is shown; 99 % of the swaps "
            f"differ from the median by at most {spread_ms:.2f} ms",
        )  # fmt: skip
    way = f"{seen.way}{tried}: " if seen.way else ""
    why = f"the display does not report when it shows frames ({way}{seen.silence or 'too few reports'})"
    if blocks and _fence_serves(seen):
        return Verdict("presents", USABLE, f"{why}; the end of the fence after the swap is used instead")
    if blocks and seen.swap_ns < AT_ONCE_NS:
        return Verdict("presents", USABLE, f"{why}. {COUNTED}")
    if blocks:
        return Verdict(
            "presents", USABLE, f"{why}; the return of the swap is used instead; the delay to the screen is unknown"
        )
    return Verdict("presents", USABLE, f"{why}; the instant at which the timer swaps a frame is used instead")


def fence(seen: SwapObservations, blocks: bool) -> Verdict:
    """Checks the fence after a swap. The verdict is good if the fence waits for the next buffer, or if the swap itself
    waits."""
    took = f"a swap takes {seen.swap_ns / 1e6:.2f} ms, and the fence after it takes {seen.fence_ns / 1e6:.2f} ms"
    if blocks and seen.swap_ns >= AT_ONCE_NS:
        return Verdict("fence", GOOD, f"a fence is not needed, because the swap waits for the display ({took})")
    if _fence_serves(seen):
        return Verdict("fence", GOOD, f"the swap returns at once, and the fence waits for the display ({took})")
    return Verdict("fence", USABLE, f"neither the swap nor the fence waits for the display ({took})")


def swap(window: Any, pause_s: float | None = None) -> int:
    """Swaps an empty picture one time. Returns the duration of the swap in ns. pause_s: time to sleep before the swap,
    in seconds. If `pause_s` is None, there is no sleep."""
    window.poll()
    window.screen.clear(0.1, 0.1, 0.12)
    if pause_s is not None:
        time.sleep(pause_s)
    begin_ns = time.perf_counter_ns()
    window.swap()
    return time.perf_counter_ns() - begin_ns


def _fence(window: Any) -> int:
    swap(window)
    begin_ns = time.perf_counter_ns()
    window.present_times.next_buffer(LONGEST_FENCE_NS)
    return time.perf_counter_ns() - begin_ns


def _fence_serves(seen: SwapObservations) -> bool:
    return seen.swap_ns < AT_ONCE_NS and seen.fence_ns > WAITED_NS


def _middle(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]
