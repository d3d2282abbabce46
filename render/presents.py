"""What is known of the presents of frames: written into the rows, told to the pacer, and drawn for.

The one idea: a frame's row is written when its swap is back; the display's own word on it comes some frames later, and
is brought to the row then. What lies between a swap's return and the present hardly changes from frame to frame: the
pacer keeps to the returns, made exact by the words, and frames are drawn for when they will really be seen.

Always: never waits. A frame that the display says nothing of keeps what was known of it at its swap.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

from twixt.render.measure.frames import FrameRow
from twixt.render.measure.log import FrameLog
from twixt.render.pacing.pacer import FramePlan, Pacer
from twixt.render.recent import Recent

# Frames whose present may still be told, and how long after its swap.
MOST_AWAITED = 4
LONGEST_AWAITED_NS = 250_000_000
# The lag of presents behind returns is the median of so many words, known from the first few; after that it moves so
# slowly that nobody sees it. A display that says more than the longest is not drawn for: it would be guessing.
REMEMBERED_WORDS, FIRST_WORDS = 32, 6
LAG_MOVES_NS = 50_000
LONGEST_LAG_NS = 60_000_000
# A refresh that the display tells of is believed while its own presents are whole refreshes apart, within this share,
# and some of them a single one.
WHOLE_SHARE, WHOLE_WORDS = 0.04, 8


class Presents:
    """Of the frames of one window. lag_ns: how much later than the pacer's instants frames are seen."""

    def __init__(self, window: Any, log: FrameLog, pacer: Pacer) -> None:
        self._window, self._log, self._pacer = window, log, pacer
        self._awaited: deque[tuple[int, int, int]] = deque(maxlen=MOST_AWAITED)  # swap, its frame, its return
        self._lag = Lag()
        self._refresh = ToldRefresh()

    @property
    def lag_ns(self) -> int:
        """How long after its swap's return a frame is seen, as far as the display says."""
        return self._lag.ns if self._window.present_source == "display" else 0

    def planned(self, plan: FramePlan) -> FramePlan:
        """The plan with the instant at which the frame will be seen."""
        lag_ns = self.lag_ns
        return plan._replace(present_ns=plan.present_ns + lag_ns) if lag_ns else plan

    def seen(self, row: FrameRow) -> FrameRow:
        """The row with its present as far as it can be known before the display's word."""
        lag_ns = self.lag_ns
        return row._replace(present_ns=row.present_ns + lag_ns) if lag_ns else row

    def shown(self, frame: int, swap_end_ns: int) -> None:
        """A frame's row is in the log."""
        self._awaited.append((self._window.swap_number, frame, swap_end_ns))

    def take(self) -> None:
        """What the display said meanwhile, into rows and pacer."""
        for said in self._window.take_presents():
            frame, swap_end_ns = self._frame_of(said.swap_number, said.present_ns)
            if frame is None:
                continue
            self._log.display_said(frame, said.present_ns, said.flags)
            if said.was_shown:
                self._lag.observe(said.present_ns - swap_end_ns)
                refresh_ns = self._refresh.believed_ns(said.present_ns, said.refresh_ns)
                if self._lag.is_known:
                    self._pacer.display_said(said.present_ns - self._lag.ns, refresh_ns)

    def restart(self) -> None:
        """Another display, or frames stopped: what was learned of its lag is forgotten."""
        self._lag = Lag()
        self._refresh = ToldRefresh()

    def _frame_of(self, swap_number: int, present_ns: int) -> tuple[int | None, int]:
        for number, frame, swap_end_ns in self._awaited:
            if number == swap_number and present_ns - swap_end_ns < LONGEST_AWAITED_NS:
                return frame, swap_end_ns
        return None, 0


class Lag:
    """What lies between a swap's return and the present. ns: 0 until it is known. Pure."""

    def __init__(self) -> None:
        self.ns = 0
        self._lags = Recent(REMEMBERED_WORDS)

    @property
    def is_known(self) -> bool:
        return len(self._lags) >= FIRST_WORDS

    def observe(self, lag_ns: int) -> None:
        """Of one frame."""
        self._lags.add(lag_ns)
        if not self.is_known:
            return
        usual_ns = round(self._lags.quantile(0.5))
        if abs(usual_ns) > LONGEST_LAG_NS:
            usual_ns = 0
        if len(self._lags) == FIRST_WORDS:
            self.ns = usual_ns
        self.ns += min(max(usual_ns - self.ns, -LAG_MOVES_NS), LAG_MOVES_NS)


class ToldRefresh:
    """A refresh that a display tells of, held against its own presents. Pure."""

    def __init__(self) -> None:
        self._presents_ns: deque[int] = deque(maxlen=WHOLE_WORDS + 1)

    def believed_ns(self, present_ns: int, refresh_ns: int | None) -> int | None:
        """The refresh that came with this present; None while it is not to be believed."""
        self._presents_ns.append(present_ns)
        if not refresh_ns or len(self._presents_ns) <= WHOLE_WORDS:
            return None
        refreshes = [(later - earlier) / refresh_ns for earlier, later in pairwise(self._presents_ns)]
        is_whole = all(abs(n - round(n)) <= WHOLE_SHARE * max(1, round(n)) for n in refreshes)
        return refresh_ns if is_whole and min(map(round, refreshes)) == 1 else None
