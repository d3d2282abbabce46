"""The last seconds of work, replayed against another frame interval: what would have been seen, as a cost.

cost = hitch ms a second (by how much frames were seen later than they were drawn for) + 16.7 for each frame a second
fewer than the display's own interval would show. Every frame is taken to start as soon as the one before was shown.
Pure, and slow in Python (0.4 us a frame and candidate): whoever asks spreads the candidates over frames.
"""

from __future__ import annotations

from collections.abc import Sequence

# What one frame a second fewer counts, in hitch ms a second: one refresh at 60 Hz.
LOST_FRAME_MS = 16.7
# The first frame known to be late is planned for so many times its usual work.
LATE_FRAME = 1.2
# Frames meant for several refreshes are swapped this share of a refresh before their own.
HOLD_SHARE = 0.6
# A frame drawn within this share of an interval after its point is on the grid.
ON_GRID = 0.02


def usual_before(cycles: Sequence[int]) -> list[int]:
    """For each frame the median of the three before it."""
    usual = []
    a = b = c = sorted(cycles)[len(cycles) // 2] if cycles else 0
    for cycle in cycles:
        usual.append(max(min(a, b), min(max(a, b), c)))
        a, b, c = b, c, cycle
    return usual


def cost_on_timer(cycles: Sequence[int], usual: Sequence[int], interval_ns: int, base_ns: int) -> float:
    """Of frames on a grid of any interval."""
    now = hitch = 0
    was_late = False
    tolerated = round(ON_GRID * interval_ns)
    for cycle, expected in zip(cycles, usual, strict=True):
        planned = (now // interval_ns + 1) * interval_ns
        if now + expected > planned + tolerated:
            first_that_fits = not was_late and expected <= interval_ns
            planned = now + (round(LATE_FRAME * expected) if first_that_fits else expected)
            was_late = True
        else:
            was_late = False
        now += cycle
        if now < planned:
            now = planned
        else:
            hitch += now - planned
    return _cost(hitch, now, len(cycles), base_ns)


def cost_on_refreshes(
    cycles: Sequence[int], usual: Sequence[int], refreshes: int, period_ns: int, guard_ns: int, base: int = 1
) -> float:
    """Of frames that each take `refreshes` or more whole refreshes. base: refreshes wanted at least."""
    shown = hitch = 0
    for cycle, expected in zip(cycles, usual, strict=True):
        planned = max(refreshes, (expected + guard_ns - 1) // period_ns + 1)
        needed = (cycle + guard_ns - 1) // period_ns + 1
        if needed > planned:
            hitch += needed - planned
            planned = needed
        shown += planned
    return _cost(hitch * period_ns, shown * period_ns, len(cycles), base * period_ns)


def cost_on_queue(cycles: Sequence[int], usual: Sequence[int], refreshes: int, period_ns: int, base: int = 1) -> float:
    """Of frames of which one may wait to be shown while the next is drawn: a long one is forgiven where short ones follow.

    A jerk is an interval longer than the one before it, however well it was foreseen.
    """
    done = before = shown = hitch = 0
    last_ns = refreshes * period_ns
    held_ns = round(HOLD_SHARE * period_ns)
    for cycle, expected in zip(cycles, usual, strict=True):
        start = max(done, before)
        done = start + cycle
        if refreshes > 1:
            done = max(done, max(shown + refreshes * period_ns, start + expected) - held_ns)
        seen = max(-(-done // period_ns), shown // period_ns + 1) * period_ns
        hitch += max(0, seen - shown - last_ns)
        last_ns = max(period_ns, seen - shown)
        before, shown = shown, seen
    return _cost(hitch, shown, len(cycles), base * period_ns)


def queue_holds_ns(refreshes: int, period_ns: int) -> int:
    """The longest cycle for which frames of so many refreshes are no dearer than those of one more: work between the two
    drains the queue, and every few frames take one more refresh."""
    return (refreshes + 1) ** 2 * period_ns // (refreshes + 2)


def _cost(hitch_ns: int, span_ns: int, frames: int, base_ns: int) -> float:
    if span_ns <= 0:
        return 0.0
    seconds = span_ns / 1e9
    return hitch_ns / 1e6 / seconds + LOST_FRAME_MS * max(0.0, 1e9 / base_ns - frames / seconds)
