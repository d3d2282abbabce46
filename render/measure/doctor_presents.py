"""What `twixt doctor` says of presents: whether the display tells of them, how far off a swap's return is, and whether
a fence after the swap waits where the swap does not.

Swaps a window's empty picture for a second or two. The judgements are pure: what was seen in, verdicts out.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from twixt.render.display.present_times import AT_ONCE_NS, LONGEST_FENCE_NS, WAITED_NS
from twixt.render.measure.verdict import GOOD, USABLE, Verdict

SWAPS_TIMED_NS = 1_500_000_000
# More frames are not needed, where swaps wait for nothing; few enough words are as good as none.
MOST_SWAPS, LEAST_WORDS = 120, 10
FENCES = 12
# A swap that waits for nothing leaves the display no time to show what it is asked about.
PAUSE_S = 0.005


class Seen(NamedTuple):
    """Some swaps. presents_ns: when the display said that it showed some; offs_ns: how long after their returns that
    was;
    silence: why it is not asked any more."""

    way: str
    silence: str
    returns_ns: list[int]
    presents_ns: list[int]
    offs_ns: list[int]
    flags: str
    discarded: int
    swap_ns: int  # the usual swap and fence
    fence_ns: int
    is_tried: bool  # its way of telling has been seen to work

    @property
    def instants_ns(self) -> list[int]:
        """The best that is known of when swaps were shown."""
        return self.presents_ns if len(self.presents_ns) >= LEAST_WORDS else self.returns_ns


def watch(window: Any, blocks: bool) -> Seen:
    """Swaps, asks, and fences."""
    window.ask_for_presents()
    returns_ns: dict[int, int] = {}
    presents_ns: list[int] = []
    offs_ns: list[int] = []
    swaps_ns: list[int] = []
    flags, discarded = "", 0
    begin_ns = time.perf_counter_ns()
    while time.perf_counter_ns() - begin_ns < SWAPS_TIMED_NS and (blocks or len(returns_ns) < MOST_SWAPS):
        swaps_ns.append(swap(window, None if blocks else PAUSE_S))
        returns_ns[window.swap_number] = time.perf_counter_ns()
        for said in window.take_presents():
            if said.was_shown and said.swap_number in returns_ns:
                presents_ns.append(said.present_ns)
                offs_ns.append(said.present_ns - returns_ns[said.swap_number])
                flags = said.flags
            discarded += not said.was_shown
    times = window.present_times
    return Seen(
        times.way, times.silence, list(returns_ns.values()), presents_ns, offs_ns, flags, discarded, _middle(swaps_ns),
        _middle([_fence(window) for _ in range(FENCES)]), window.backend == "wayland",
    )  # fmt: skip


def presents(seen: Seen, blocks: bool) -> Verdict:
    """By what presents are known here."""
    tried = "" if seen.is_tried else ", not tried on hardware"
    if len(seen.offs_ns) >= LEAST_WORDS:
        off_ms = np.array(seen.offs_ns) / 1e6
        usual_ms = float(np.median(off_ms))
        spread_ms = float(np.percentile(np.abs(off_ms - usual_ms), 99))
        lost = f", {seen.discarded} discarded" if seen.discarded else ""
        return Verdict(
            "presents", GOOD,
            f"the display says when it shows frames ({seen.way}{tried}: {len(seen.offs_ns)} of {len(seen.returns_ns)} "
            f"swaps{lost}; {seen.flags or 'software stamps'}); a swap returns {abs(usual_ms):.2f} ms "
            f"{'before' if usual_ms >= 0 else 'after'} that, 99 % within {spread_ms:.2f} ms of it",
        )  # fmt: skip
    way = f"{seen.way}{tried}: " if seen.way else ""
    why = f"the display does not say when it shows frames ({way}{seen.silence or 'too few words'})"
    if blocks and _fence_serves(seen):
        return Verdict("presents", USABLE, f"{why}; the fence after the swap stands for it")
    if blocks:
        return Verdict("presents", USABLE, f"{why}; the swap's return stands for it, the way to the glass is unknown")
    return Verdict("presents", USABLE, f"{why}; frames are taken for shown when the timer has them swapped")


def fence(seen: Seen, blocks: bool) -> Verdict:
    """Whether the next buffer is waited for after the swap."""
    took = f"swaps take {seen.swap_ns / 1e6:.2f} ms, a fence after them {seen.fence_ns / 1e6:.2f}"
    if blocks and seen.swap_ns >= AT_ONCE_NS:
        return Verdict("fence", GOOD, f"not needed, the swap itself waits ({took})")
    if _fence_serves(seen):
        return Verdict("fence", GOOD, f"the swap returns at once and the fence waits in its place ({took})")
    return Verdict("fence", USABLE, f"waits for nothing, as the swap does ({took})")


def swap(window: Any, pause_s: float | None = None) -> int:
    """One swap of an empty picture; how long it took."""
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


def _fence_serves(seen: Seen) -> bool:
    return seen.swap_ns < AT_ONCE_NS and seen.fence_ns > WAITED_NS


def _middle(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]
