"""When the swaps of one window were seen: by the display's own word where it speaks, else by a fence on the next buffer
where that waits, else by the swap's return.

The one idea: nobody knows beforehand what a display answers. So each way is tried, and kept by its outcome: a display
that does not answer is not asked any more, and a fence that waited for nothing is no present.

Always: never waits for a display's word; a fence, where it serves, waits `LONGEST_FENCE_NS` at most. Loads what it
needs at `begin`, which is after the first frame.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from twixt.render.display.presentation import Presentation, Presented

# A fence waits no longer: a refresh at 20 Hz.
LONGEST_FENCE_NS = 50_000_000
# A swap that comes back sooner waited for nothing; a fence that waited no longer waited for nothing, either.
AT_ONCE_NS, WAITED_NS = 200_000, 300_000
# Of so many swaps in a row, how many must have come back at once for a fence to be tried; and of so many fences how
# many must have waited for it to be kept.
WATCHED, MOSTLY = 12, 9
# After a fence that did not serve, so many frames without one, doubled each time: what did not wait then may later.
FRAMES_UNTIL_AGAIN = 240
MOST_UNTIL_AGAIN = 15_360


class FenceTrial:
    """Whether a fence after the swap serves on this display. Pure: instants in."""

    def __init__(self) -> None:
        self.is_on = False  # fences are made: on trial, or because they serve
        self.serves = False
        self._waits: list[bool] = []
        self._pause, self._next_pause = 0, FRAMES_UNTIL_AGAIN

    def swapped(self, duration_ns: int, is_vsynced: bool) -> None:
        """A swap came back after so long."""
        if self.is_on:
            if not is_vsynced:
                self._end()
            return
        if self._pause:
            self._pause -= 1
            return
        self._waits = [*self._waits[1 - WATCHED :], is_vsynced and duration_ns < AT_ONCE_NS]
        if sum(self._waits) >= MOSTLY:
            self.is_on, self._waits = True, []

    def fenced(self, duration_ns: int) -> bool:
        """A fence came back after so long; whether its return is a present."""
        waited = WAITED_NS < duration_ns < LONGEST_FENCE_NS
        self._waits = [*self._waits[1 - WATCHED :], waited]
        if len(self._waits) == WATCHED:
            self.serves = sum(self._waits) >= MOSTLY
            if not self.serves and not any(self._waits[-MOSTLY:]):
                self._end()
        return waited

    def _end(self) -> None:
        self.is_on = self.serves = False
        self._waits = []
        self._pause, self._next_pause = self._next_pause, min(2 * self._next_pause, MOST_UNTIL_AGAIN)


class Fence(Protocol):
    """Waits until the next buffer can be drawn on."""

    def __call__(self, timeout_ns: int) -> object: ...


class PresentTimes:
    """Of one window. presentation: makes what asks its display; None where nothing does. fence: see `Fence`."""

    def __init__(self, presentation: Callable[[], Presentation | None], fence: Fence) -> None:
        self._make, self.next_buffer = presentation, fence
        self._presentation: Presentation | None = None
        self._no_presentation = "not asked"
        self.trial = FenceTrial()
        self.swap_number = 0  # of the last swap
        self.is_vsynced = False
        self._begin_ns = 0
        self._answered = False

    @property
    def source(self) -> str:
        """By what the presents are known now: display | fence | swap | timer."""
        if self._answered and self._presentation is not None and not self._presentation.given_up:
            return "display"
        return self.source_without_display

    @property
    def source_without_display(self) -> str:
        """The same, where the display says nothing of a swap."""
        if self.trial.serves:
            return "fence"
        return "swap" if self.is_vsynced else "timer"

    @property
    def silence(self) -> str:
        """Why the display is not asked; "" while it is."""
        return self._no_presentation if self._presentation is None else self._presentation.given_up

    @property
    def way(self) -> str:
        """By what the display is asked; "" where nothing can be."""
        return self._presentation.way if self._presentation is not None else ""

    @property
    def output(self) -> int:
        """Names the monitor that showed the last frame; 0: not known."""
        return self._presentation.output if self._presentation is not None else 0

    def begin(self) -> None:
        """Begins to ask the display. Harmless twice."""
        if self._presentation is not None or self._no_presentation != "not asked":
            return
        try:
            self._presentation = self._make()
            self._no_presentation = "nothing here can be asked"
        except (OSError, AttributeError) as error:  # a library that is not there, or too old
            self._no_presentation = str(error)

    def before_swap(self) -> None:
        """To be called just before a swap."""
        self.swap_number += 1
        if self._presentation is not None:
            self._presentation.ask(self.swap_number)
        self._begin_ns = time.perf_counter_ns()

    def after_swap(self) -> None:
        """To be called when it has come back."""
        self.trial.swapped(time.perf_counter_ns() - self._begin_ns, self.is_vsynced and self.source != "display")
        if self._presentation is not None:
            self._presentation.swapped()

    def fence(self) -> int | None:
        """Waits for the next buffer where that serves: when it was there, None where it waited for nothing."""
        if not self.trial.is_on or self.source == "display":
            return None
        begin_ns = time.perf_counter_ns()
        self.next_buffer(LONGEST_FENCE_NS)
        end_ns = time.perf_counter_ns()
        waited = self.trial.fenced(end_ns - begin_ns)
        return end_ns if waited and self.trial.serves else None

    def take(self) -> list[Presented]:
        """What the display said since the last call. Never waits."""
        if self._presentation is None:
            return []
        said = self._presentation.take()
        self._answered = self._answered or any(word.was_shown for word in said)
        return said

    def close(self) -> None:
        """Nothing is asked any more. Harmless twice."""
        if self._presentation is not None:
            self._presentation.close()
