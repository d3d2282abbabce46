"""The camera of the page that presents: all other pages may follow it.

Always: only the newest presenter's newest camera is kept, and a presentation ends with the connection of its page.
"""

from __future__ import annotations

from collections.abc import Callable

from twixt.relay.stream import messages
from twixt.relay.stream.messages import Shown

# Limits of the instant that a presenter gives to its camera, in ns after the arrival: other pages interpolate by it.
OLDEST_NS, NEWEST_NS = -1_000_000_000, 100_000_000


class Presentation:
    """The presentation of one server. presenter: whose camera it is; None if nobody presents. number: increases with
    each change. text: the message for the pages. tell: called after each change."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self.presenter: object = None
        self.number, self.text = 0, ""
        self._begun = 0  # number of presentations that have begun
        self._tell = tell

    def show(self, presenter: object, shown: Shown, now_ns: int) -> None:
        """Takes a camera of a page over. Ignores one that a former presenter sent before it knew of the newer one."""
        if shown.camera is None:
            self.end(presenter)
        elif shown.begins or presenter is self.presenter:
            self._begun += shown.begins
            at_ns = min(max(shown.at_ns, now_ns + OLDEST_NS), now_ns + NEWEST_NS)
            self._set(presenter, messages.presented_text(shown.camera, at_ns, self._begun))

    def end(self, presenter: object) -> None:
        """Ends the presentation of this page, if it presents."""
        if presenter is self.presenter:
            self._set(None, messages.presented_text(None, 0, self._begun))

    def _set(self, presenter: object, text: str) -> None:
        self.presenter, self.text = presenter, text
        self.number += 1
        self._tell()
