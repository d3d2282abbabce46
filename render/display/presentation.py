"""When frames were really shown, in the display's own words; and those words checked before anybody believes them.

A display that is asked answers some frames later, or never: `Answers` keeps what is out, bounded, and gives a display
up that never answers. What it says is believed only where it can be true: shown after it was handed over, and not in a
future that no display plans.

Always: each swap is answered at most once; presents grow. Pure: instants in, instants out; speaks no display's
language.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

# Answers waited for at a time, and as many frames in a row without one as end the asking: two thirds of a second at
# 60 Hz. Displays answer within three frames.
MOST_OUT = 40
# A display plans no more than a few refreshes ahead, and stamps of another clock agree within this with their offset.
LATEST_NS, EARLIEST_NS = 250_000_000, 1_000_000
# So many words in a row that cannot be true, and no more are asked for.
MOST_FALSE = 20
# Flags of a swap that the display took and never showed.
DISCARDED = "discarded"


class Presented(NamedTuple):
    """One swap, shown. refresh_ns: how long the display says a refresh is, None where it does not say (or varies);
    never trusted. flags: what it says of the instant, such as "vsync hw-clock"; `DISCARDED`: never shown."""

    swap_number: int
    present_ns: int
    refresh_ns: int | None
    flags: str

    @property
    def was_shown(self) -> bool:
        return self.flags != DISCARDED


class Presentation(Protocol):
    """A display that can be asked when a swap was shown."""

    @property
    def way(self) -> str:
        """By what it is asked, as people who know displays call it."""

    @property
    def given_up(self) -> str:
        """Why it is not asked any more; "" while it is."""

    @property
    def output(self) -> int:
        """Names the monitor that showed the last frame; 0 while unknown."""

    def ask(self, swap_number: int) -> None:
        """Just before the swap of that number."""

    def swapped(self) -> None:
        """Just after it."""

    def take(self) -> list[Presented]:
        """What it said since the last call. Never waits."""

    def close(self) -> None: ...


class Answers:
    """The book of one display: what was asked, what came, and whether asking is of any use."""

    def __init__(self) -> None:
        self.given_up = ""
        self.answered = self.discarded = 0  # in all
        self._out: deque[tuple[int, int]] = deque()  # number of a swap, and when it was asked about
        self._said: list[Presented] = []
        self._unanswered = self._false = 0
        self._last_ns = 0

    def asked(self, swap_number: int, now_ns: int) -> int | None:
        """A swap is asked about; the number of the one that is not waited for any more, if there is one."""
        self._out.append((swap_number, now_ns))
        self._unanswered += 1
        if self._unanswered > MOST_OUT:
            said = "stopped to answer" if self.answered else "never answers"
            self.give_up(f"{said}: {MOST_OUT} frames without a word")
        return self._out.popleft()[0] if len(self._out) > MOST_OUT else None

    def presented(self, swap_number: int, present_ns: int, refresh_ns: int, flags: str, now_ns: int) -> bool:
        """The display says that it showed a swap; whether that can be true. refresh_ns 0: it does not say."""
        asked_ns = self._asked_ns(swap_number)
        if asked_ns is None:
            return False
        is_true = max(asked_ns - EARLIEST_NS, self._last_ns + 1) <= present_ns <= now_ns + LATEST_NS
        if not is_true:
            self._false += 1
            if self._false >= MOST_FALSE:
                self.give_up(f"says what cannot be: the last present {(present_ns - now_ns) / 1e6:.1f} ms from now")
            return False
        self._false = self._unanswered = 0
        self._last_ns = present_ns
        self.answered += 1
        self._said.append(Presented(swap_number, present_ns, refresh_ns if refresh_ns > 0 else None, flags))
        return True

    def was_discarded(self, swap_number: int, now_ns: int) -> None:
        """The display says that it will never show a swap."""
        if self._asked_ns(swap_number) is None:
            return
        self._unanswered = 0
        self.discarded += 1
        self._said.append(Presented(swap_number, 0, None, DISCARDED))

    def take(self) -> list[Presented]:
        """What was said since the last call, in the order of the words."""
        said, self._said = self._said, []
        return said

    def give_up(self, why: str) -> None:
        """Nothing is asked any more."""
        self.given_up = self.given_up or why
        self._out.clear()

    def _asked_ns(self, swap_number: int) -> int | None:
        """When it was asked about; it is not out any more."""
        for at, (number, asked_ns) in enumerate(self._out):
            if number == swap_number:
                del self._out[at]
                return asked_ns
        return None
