"""The user's function of `--on-event`. It is called for each event that a frame has reached, after the frame is shown.

    def on_event(event):
        print(event.name, event.sim_time, event.body)

If the function raises an exception, its first traceback is printed, and it is called for later events all the same: an
event log that failed once goes on. A slow function is reported once. In each frame, the function is called for at most
MOST_CALLING_NS. Then the other events wait for the next frame, so that the window still answers the user.

Always: the events are passed in their order, and each at most once. Reads no clock but the caller's.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.user_code import user_crash
from twixt.ipc.ring.events import Event, event_of
from twixt.render.events.event_queue import MOST_HELD
from twixt.render.interpolation.blending import find

FLAG = "--on-event"
# Longest time for calls in one frame, in ns. After it, no further call begins. So a function that takes less than this
# per call leaves at least ten frames a second.
MOST_CALLING_NS = 50_000_000
# Calls that take longer than this in one frame are reported, in ns. Such a frame misses a refresh at 60 Hz, even if a
# busy machine has doubled the time.
SLOW_NS = 30_000_000


class EventFunction(Protocol):
    """A function for `on_event="module:function"` or `--on-event module:function`.

    The viewer's process calls the function once for each event, in order. The call comes after the first frame whose
    draw time has reached the event's instant is shown. If a call raises an exception, the traceback is printed once,
    and the function is still called for later events. If the calls in one frame take longer than 30 ms together, this
    is reported once, because frames are then late. After 50 ms, the remaining events wait for the next frame.

    Examples:
        Save this function as my_events.py, and run `twixt run WORLD --on-event my_events:on_event`.

        ```python
        from twixt import Event

        def on_event(event: Event) -> None:
            print(event.name, event.sim_time, event.body)
        ```
    """

    def __call__(self, event: Event, /) -> object:
        """Receives one event.

        Args:
            event: The event.

        Returns:
            Any object. The viewer ignores the object.
        """


class CalledFunction:
    """A user's function, and the events that wait for it. name: the text that was given to `--on-event`.

    calls, failures: number of calls, and of those that raised an exception. left_out: number of events that the
    function does not receive because MOST_HELD later ones waited. waiting: number of events that wait.
    """

    def __init__(self, function: EventFunction, name: str) -> None:
        self.name = name
        self.calls = self.failures = self.left_out = 0
        self._function = function
        self._failed = ""  # the first exception, as one line
        self._slow_ms = 0.0  # duration of the calls of the first slow frame
        self._waiting: deque[tuple[NDArray[np.void], Mapping[int, str]]] = deque()
        self.waiting = 0  # number of events that wait

    def add(self, records: NDArray[np.void], names: Mapping[int, str]) -> None:
        """Adds events, (k,) of dtype EVENT. names: their names by number."""
        if not len(records):
            return
        self._waiting.append((records, names))
        self.waiting += len(records)
        while self.waiting > MOST_HELD:
            count = min(self.waiting - MOST_HELD, len(self._waiting[0][0]))
            self.left_out += count
            self._take(count)

    def call(self, late_ns: Callable[[int], int], now_ns: Callable[[], int]) -> None:
        """Calls the function for the events that wait, for at most about MOST_CALLING_NS. late_ns: lateness of an event
        with this instant. now_ns: function that reads the clock."""
        began_ns = ends_ns = now_ns()
        while self._waiting and ends_ns - began_ns < MOST_CALLING_NS:
            records, names = self._waiting[0]
            passed = 0
            for record, instant_ns, name in zip(
                records, records["sim_time_ns"].tolist(), records["name"].tolist(), strict=True
            ):
                self._call(event_of(record, names.get(name, "?"), late_ns(instant_ns) / 1e6))
                passed, ends_ns = passed + 1, now_ns()
                if ends_ns - began_ns >= MOST_CALLING_NS:
                    break
            self._take(passed)
        if ends_ns - began_ns > SLOW_NS and not self._slow_ms:
            self._slow_ms = (ends_ns - began_ns) / 1e6
            waits = f"; {self.waiting:,} more wait for the next frames" if self.waiting else ""
            print_notice(f"{self._slow_text}{waits}; do the slow work in a thread")

    @property
    def messages(self) -> tuple[str, ...]:
        """Messages for the user: failed calls, slow calls, events that wait."""
        found = []
        if self.failures:
            found.append(f"{FLAG}: {self._failed} ({self.failures:,} of {self.calls:,} calls)")
        if self._slow_ms:
            waits = f", {self.waiting:,} events wait" if self.waiting else ""
            left_out = f", {self.left_out:,} are left out" if self.left_out else ""
            found.append(f"{self._slow_text}{waits}{left_out}")
        return tuple(found)

    def close(self) -> None:
        """Prints the number of events that were not passed to the function, if there are any."""
        if left := self.waiting + self.left_out:
            print_notice(f"{FLAG}: {left:,} events were not passed to {self.name}, because its calls took too long")

    @property
    def _slow_text(self) -> str:
        return f"{FLAG}: {self.name} took {self._slow_ms:.0f} ms in one frame, so frames are late"

    def _take(self, count: int) -> None:
        """Removes the first `count` events of the first array."""
        records, names = self._waiting[0]
        if count == len(records):
            self._waiting.popleft()
        else:
            self._waiting[0] = records[count:], names
        self.waiting -= count

    def _call(self, event: Event) -> None:
        self.calls += 1
        try:
            self._function(event)
        # The user's code must not end the viewer by sys.exit or KeyboardInterrupt. The viewer's own signals raise none.
        except BaseException as error:
            self.failures += 1
            if not self._failed:
                crash = user_crash(self.name, error)
                self._failed = str(crash)
                print_notice(f"{crash}; it is still called for later events", crash.traceback_text)


def load(reference: str) -> CalledFunction:
    """Loads the function that `--on-event module:function` names. Raises TwixtError if there is no such function or if
    it cannot be called with one argument, and UserCodeCrashed if the module raises an exception when it is imported."""
    found = find(reference, FLAG, "my_events:on_event", "def {name}(event)")
    rule = f"{FLAG}: {reference} must be a function of one argument (the event)"
    if not callable(found):
        raise TwixtError(f"{rule}, got {found!r}")
    forms = found, type(found).__call__
    if any(inspect.iscoroutinefunction(form) or inspect.isasyncgenfunction(form) for form in forms):
        raise TwixtError(f"{rule}, got an async function, which a plain call does not run; write it without async")
    if any(inspect.isgeneratorfunction(form) for form in forms):
        raise TwixtError(f"{rule}, got a generator, which a plain call does not run; write it without yield")
    try:
        inspect.signature(found).bind(None)
    except TypeError as error:
        raise TwixtError(f"{rule}; a call with one argument would fail: {error}") from None
    except ValueError:  # some functions that are written in C have no signature
        pass
    return CalledFunction(found, reference)
