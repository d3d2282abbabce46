"""The user's function of `--on-event`: it is called for each event that is due.

    def on_event(event):
        print(event.name, event.sim_time, event.body)

What the function raises is reported once. The function is called for later events all the same: an event log that
failed once goes on.
"""

from __future__ import annotations

import inspect
from typing import Protocol

from twixt.ipc.errors import TwixtError
from twixt.ipc.process.notices import print_notice
from twixt.ipc.process.user_code import user_crash
from twixt.ipc.ring.events import Event
from twixt.render.interpolation.blending import find

FLAG = "--on-event"


class EventFunction(Protocol):
    """A function for `--on-event module:function`. It is called once for each event, in order, right after the frame
    that is the first to show the event's instant."""

    def __call__(self, event: Event, /) -> object:
        """Receives one event.

        Args:
            event: The event.

        Returns:
            Any object. It is ignored.
        """


class CalledFunction:
    """The user's function. name: the text that was given to `--on-event`. failures: number of calls that raised.
    failed: the first of these exceptions, as one line; empty if there was none."""

    def __init__(self, function: EventFunction, name: str) -> None:
        self.name, self.failed = name, ""
        self.calls = self.failures = 0
        self._function = function

    def __call__(self, event: Event) -> None:
        """Calls the function. Of what it raises, only KeyboardInterrupt leaves this call, and what ends a process."""
        self.calls += 1
        try:
            self._function(event)
        except (Exception, SystemExit) as error:  # if the user's code calls sys.exit, the viewer must not end
            self.failures += 1
            if not self.failed:
                crash = user_crash(self.name, error)
                self.failed = str(crash)
                print_notice(f"{crash}; it is called for later events", crash.traceback_text)

    @property
    def message(self) -> str:
        """Text for the user about calls that raised; empty if there were none."""
        if not self.failures:
            return ""
        return f"{FLAG}: {self.failed} ({self.failures} of {self.calls} calls)"


def load(reference: str) -> CalledFunction:
    """Loads the function that `--on-event module:function` names. Raises TwixtError if there is no such function or if
    it cannot be called with one argument, and UserCodeCrashed if the module raises an exception when it is imported."""
    found = find(reference, FLAG, "my_events:on_event", "def {name}(event)")
    rule = f"{FLAG}: {reference} must be a function of one argument (the event)"
    if not callable(found):
        raise TwixtError(f"{rule}, got {found!r}")
    called = found if inspect.isroutine(found) or inspect.isclass(found) else type(found).__call__
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        raise TwixtError(f"{rule}, got an async function, whose body nothing would run; write it with def")
    if inspect.isgeneratorfunction(called):
        raise TwixtError(f"{rule}, got a generator, whose body nothing would run; write it without yield")
    try:
        inspect.signature(found).bind(None)
    except TypeError as error:
        raise TwixtError(f"{rule}; it cannot be called so: {error}") from None
    except ValueError:  # some functions of C have no signature
        pass
    return CalledFunction(found, reference)
