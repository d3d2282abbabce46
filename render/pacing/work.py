"""What frames take: usual and nearly all of them, from waking to the next frame's turn. Pure."""

from __future__ import annotations

from twixt.render.recent import Recent

# What a frame usually takes now is the median of so few that a new load shows within two frames.
LATEST_FRAMES = 3
# The work to start early for: what this share of the last frames stayed under. One long frame in 120 is not worth
# starting all others early for, one in 30 is.
REMEMBERED_FRAMES, COVERED = 100, 0.985
# The time between frames is taken from fewer: it changes with what is logged and collected there.
OVERHEAD_FRAMES = 32


class Work:
    """Fed by whichever policy places the frames, so that a change of policy forgets nothing."""

    def __init__(self) -> None:
        self._latest = Recent(LATEST_FRAMES)
        self._leads = Recent(REMEMBERED_FRAMES)  # planned start to completed drawing: work, and waking late
        self._swaps = Recent(OVERHEAD_FRAMES)
        self._overheads = Recent(OVERHEAD_FRAMES)
        self._done_ns: int | None = None

    @property
    def usual_ns(self) -> int:
        return self._latest.quantile(0.5)

    @property
    def swap_ns(self) -> int:
        """Of a swap that waits for nothing."""
        return self._swaps.quantile(0.5)

    @property
    def overhead_ns(self) -> int:
        """From a swap's return to being asked for the next frame."""
        return self._overheads.quantile(0.5)

    def lead_ns(self, unknown_ns: int) -> int:
        """From a frame's start to its completed drawing, for nearly every frame."""
        return max(self._leads.quantile(COVERED, unknown_ns), self.usual_ns)

    def asked(self, now_ns: int) -> None:
        """The next frame is asked for."""
        if self._done_ns is not None:
            self._overheads.add(max(0, now_ns - self._done_ns))

    def drawn(self, work_ns: int, lead_ns: int) -> None:
        self._latest.add(work_ns)
        self._leads.add(lead_ns)

    def swapped(self, swap_ns: int, end_ns: int) -> None:
        self._swaps.add(swap_ns)
        self._done_ns = end_ns

    def restart(self) -> None:
        """What passes until the next frame is no frame's doing."""
        self._done_ns = None

    def changed_over(self) -> None:
        """Another policy from here: waits that it sees were part of the time between frames."""
        self._overheads.clear()
        self._done_ns = None

    def forget(self) -> None:
        """The frames so far were not like those to come."""
        self._latest.clear()
        self._leads.clear()
