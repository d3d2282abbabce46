"""Finds the present times of one window's swaps. It uses three sources, in this order of preference: the display, a
fence on the next buffer, the return of the swap.

It is not known in advance which source works on a display. So each source is tried, and its results decide. A display
that does not report is no longer asked. If a fence did not wait, the instant of its return is not used as a present
time. A display reports a swap some frames later or never. So `Answers` stores the open requests, up to a limited
number. A report is accepted only if it is possible. The frame must have been shown after its swap began, and its
instant must not be further in the future than displays plan.

Always: nothing here waits for a report. A fence waits `LONGEST_FENCE_NS` at most. Each swap is reported at most once,
and the accepted present times increase. `begin` loads the libraries. It runs after the first frame.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from twixt.render.pacing.refresh import LONGEST_FENCE_NS, FenceTrial

# Largest number of open requests. After this many frames in a row without a report, the display is no longer asked.
# These frames last two thirds of a second at 60 Hz. A display that reports at all reports within three frames.
MOST_OPEN = 40
# A present time is possible if it is at most LATEST_NS in the future and at most EARLIEST_NS before the swap. The
# first limit exists because displays plan a few refreshes ahead. The second limit exists because the conversion from
# another clock has an error.
LATEST_NS, EARLIEST_NS = 250_000_000, 1_000_000
# After this many impossible reports in a row, the display is no longer asked.
MOST_FALSE = 20
# Value of `Presented.flags` for a swap that the display received but never showed.
DISCARDED = "discarded"


class Presented(NamedTuple):
    """Report about one swap. present_ns: instant (perf_counter_ns) at which the swap was shown, or 0 if it was never
    shown. refresh_ns: refresh period in ns that the display reports. It is None if the display reports no period or
    a variable period. The period is not trusted. flags: words for how the swap was shown, such as "vsync hw-clock",
    or `DISCARDED` if it was never shown."""

    swap_number: int
    present_ns: int
    refresh_ns: int | None
    flags: str

    @property
    def was_shown(self) -> bool:
        return self.flags != DISCARDED


class Presentation(Protocol):
    """Interface to a display that reports when swaps were shown."""

    @property
    def way(self) -> str:
        """Name of the protocol or extension in use, such as "wp_presentation"."""

    @property
    def given_up(self) -> str:
        """Reason why the display is no longer asked, or "" while it is asked."""

    @property
    def output(self) -> int:
        """Id of the monitor that showed the last frame, or 0 if it is unknown."""

    def ask(self, swap_number: int) -> None:
        """Asks the display when the swap with this number is shown. Call this just before the swap."""

    def swapped(self) -> None:
        """Call this just after the swap."""

    def drain(self) -> list[Presented]:
        """Returns the reports received since the last call. Never waits."""

    def close(self) -> None: ...


class Answers:
    """Open requests to one display, and the reports of this display. Stops asking if the display never reports. Pure.

    given_up: reason why the display is no longer asked, or "" while it is asked. answered: number of reports that a
    swap was shown. discarded: number of reports that a swap was never shown.
    """

    def __init__(self) -> None:
        self.given_up = ""
        self.answered = self.discarded = 0  # counts since the start
        self._out: deque[tuple[int, int]] = deque()  # number of each swap, and instant of its request in ns
        self._reports: list[Presented] = []
        self._unanswered = self._false = 0
        self._last_ns = 0

    def asked(self, swap_number: int, now_ns: int) -> int | None:
        """Records a request about a swap. If there are too many requests, drops the oldest request and returns the
        number of its swap. Else returns None."""
        self._out.append((swap_number, now_ns))
        self._unanswered += 1
        if self._unanswered > MOST_OPEN:
            silence = "stopped answering" if self.answered else "never answers"
            self.give_up(f"{silence}: {MOST_OPEN} frames without a report")
        return self._out.popleft()[0] if len(self._out) > MOST_OPEN else None

    def presented(self, swap_number: int, present_ns: int, refresh_ns: int, flags: str, now_ns: int) -> bool:
        """Records the report that a swap was shown. Returns True if the report is accepted. refresh_ns: reported
        refresh period in ns, or 0 if the display did not report it."""
        asked_ns = self._asked_ns(swap_number)
        if asked_ns is None:
            return False
        is_true = max(asked_ns - EARLIEST_NS, self._last_ns + 1) <= present_ns <= now_ns + LATEST_NS
        if not is_true:
            self._false += 1
            if self._false >= MOST_FALSE:
                self.give_up(
                    f"reports impossible times: the last present is {(present_ns - now_ns) / 1e6:.1f} ms from now"
                )
            return False
        self._false = self._unanswered = 0
        self._last_ns = present_ns
        self.answered += 1
        self._reports.append(Presented(swap_number, present_ns, refresh_ns if refresh_ns > 0 else None, flags))
        return True

    def was_discarded(self, swap_number: int, now_ns: int) -> None:
        """Records the report that a swap will never be shown."""
        if self._asked_ns(swap_number) is None:
            return
        self._unanswered = 0
        self.discarded += 1
        self._reports.append(Presented(swap_number, 0, None, DISCARDED))

    def drain(self) -> list[Presented]:
        """Returns the reports that were accepted since the last call, in the order in which they came."""
        reports, self._reports = self._reports, []
        return reports

    def give_up(self, why: str) -> None:
        """Stops asking the display, and stores the reason `why`, unless a reason is already stored."""
        self.given_up = self.given_up or why
        self._out.clear()

    def _asked_ns(self, swap_number: int) -> int | None:
        """Removes the request about a swap. Returns the instant of the request, or None if there was no such
        request."""
        for at, (number, asked_ns) in enumerate(self._out):
            if number == swap_number:
                del self._out[at]
                return asked_ns
        return None


class Fence(Protocol):
    """Waits for at most `timeout_ns` until the next buffer can be drawn on."""

    def __call__(self, timeout_ns: int) -> object: ...


class PresentTimes:
    """Present times of one window. presentation: function that returns the interface to the window's display, or None
    if there is none. fence: function that waits for the next buffer."""

    def __init__(self, presentation: Callable[[], Presentation | None], fence: Fence) -> None:
        self._make, self.next_buffer = presentation, fence
        self._presentation: Presentation | None = None
        self._no_presentation = "not requested"
        self.trial = FenceTrial()
        self.swap_number = 0  # number of the last swap
        self.is_vsynced = False
        self._begin_ns = 0
        self._answered = False

    @property
    def source(self) -> str:
        """Current source of present times: "display", "fence", "swap" or "timer"."""
        if self._answered and self._presentation is not None and not self._presentation.given_up:
            return "display"
        return self.source_without_display

    @property
    def source_without_display(self) -> str:
        """Source of the present time of a swap that the display does not report: "fence", "swap" or "timer"."""
        if self.trial.serves:
            return "fence"
        return "swap" if self.is_vsynced else "timer"

    @property
    def silence(self) -> str:
        """Reason why the display is not asked, or "" while it is asked."""
        return self._no_presentation if self._presentation is None else self._presentation.given_up

    @property
    def way(self) -> str:
        """Name of the protocol or extension that reports shown swaps, or "" if there is none."""
        return self._presentation.way if self._presentation is not None else ""

    @property
    def output(self) -> int:
        """Id of the monitor that showed the last frame, or 0 if it is unknown."""
        return self._presentation.output if self._presentation is not None else 0

    def begin(self) -> None:
        """Begins to ask the display. Further calls do nothing."""
        if self._presentation is not None or self._no_presentation != "not requested":
            return
        try:
            self._presentation = self._make()
            self._no_presentation = "this display has no way to report it"
        except (OSError, AttributeError) as error:  # a library is missing or too old
            self._no_presentation = str(error)

    def before_swap(self) -> None:
        """Call this just before a swap."""
        self.swap_number += 1
        if self._presentation is not None:
            self._presentation.ask(self.swap_number)
        self._begin_ns = time.perf_counter_ns()

    def after_swap(self) -> None:
        """Call this just after the swap has returned."""
        self.trial.swapped(time.perf_counter_ns() - self._begin_ns, self.is_vsynced and self.source != "display")
        if self._presentation is not None:
            self._presentation.swapped()

    def fence(self) -> int | None:
        """Waits for the next buffer if fences are in use or on trial. Returns the instant at which the wait ended.
        Returns None if there was no fence, if the fence did not wait, or if fences are still on trial."""
        if not self.trial.is_on or self.source == "display":
            return None
        begin_ns = time.perf_counter_ns()
        self.next_buffer(LONGEST_FENCE_NS)
        end_ns = time.perf_counter_ns()
        waited = self.trial.fenced(end_ns - begin_ns)
        return end_ns if waited and self.trial.serves else None

    def drain(self) -> list[Presented]:
        """Returns the reports received since the last call. Never waits."""
        if self._presentation is None:
            return []
        reports = self._presentation.drain()
        self._answered = self._answered or any(report.was_shown for report in reports)
        return reports

    def close(self) -> None:
        """Stops asking the display. This may be called more than once."""
        if self._presentation is not None:
            self._presentation.close()


# Largest number of a system clock. clockid_t is a signed int. Negative numbers stand for the clocks of file
# descriptors.
LARGEST_CLOCK_ID = 0x7FFFFFFF

# Number of times that the two clocks are read. Only the fastest reading counts. During a slower reading, the thread
# may have lost its core.
LOOKS = 3


def offset_ns(clock_id: int | None) -> int | None:
    """Difference in ns between `perf_counter_ns` and the system clock `clock_id`. An instant of that clock plus this
    difference is an instant of `perf_counter_ns`. Returns None if there is no such clock. The difference is
    measured at each call, because the system clock may be set or may run at a different rate."""
    if clock_id is None or clock_id > LARGEST_CLOCK_ID:
        return None
    if clock_id == time.CLOCK_MONOTONIC and "MONOTONIC" in time.get_clock_info("perf_counter").implementation:
        return 0
    try:
        return min(_offset_once(clock_id) for _ in range(LOOKS))[1]
    except OSError:
        return None


def _offset_once(clock_id: int) -> tuple[int, int]:
    """Reads both clocks once. Returns the duration of the reading, and the difference between the clocks, both in
    ns."""
    before_ns = time.perf_counter_ns()
    there_ns = time.clock_gettime_ns(clock_id)
    after_ns = time.perf_counter_ns()
    return after_ns - before_ns, (before_ns + after_ns) // 2 - there_ns
