"""Events and live plots of a user's loop, and screenshots that it requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike, NDArray

from twixt.ipc.session.screenshots import Screenshot, screenshot_path
from twixt.sim.publish.event_buffer import EventBuffer
from twixt.sim.show.session import ViewerSession
from twixt.sim.show.shown_bodies import ShownBodies


class RunPictures:
    """Base class of `View`; it emits events, plots values and requests screenshots. now: the bodies that are published.
    events: buffer of the events."""

    _events: EventBuffer

    def __init__(self, session: ViewerSession, now: ShownBodies, events: EventBuffer, dt_ns: int) -> None:
        self._session, self._published, self._events = session, now, events
        self._plots = session.host.plots
        # The session must not refer to the view, so the function is not a method.
        self._plots.next_time_s = partial(_next_time_s, now, dt_ns)

    def emit(
        self,
        name: str,
        /,
        *,
        body: int | None = None,
        position: Sequence[float] | NDArray[Any] | None = None,
        strength: float = 1.0,
        values: Sequence[float] | NDArray[Any] = (),
        text: str = "",
        at: float | None = None,
    ) -> None:
        """Emits an event: something that happened in the state that is published next.

        The event belongs to the next state that is published, even if this is the first state. If the next state
        restarts the world (with a smaller simulated time), the event belongs to the restarted world. For limits,
        corrections and costs see `World.emit`. Any thread may call this method. After `close`, this method does
        nothing.

        Args:
            name: Name of the event, 1 to 40 bytes in UTF-8, without control characters.
            body: Index, in the next publish, of the body to which the event happened. If you publish with `ids`, pass
                the index of the body's row in `ids`. The viewer then gets the number of the body's record.
            position: Point in the world, (3,), metres.
            strength: Strength of the event, >= 0, in a unit of your choice.
            values: Up to four numbers.
            text: Short text, up to 15 bytes in UTF-8.
            at: Simulated time at which the event happened, in seconds. The time must be later than the last publish,
                and not later than the next publish. The default is the time of the next publish.

        Raises:
            TwixtError: An argument is invalid (see `World.emit`).

        Examples:
            ```python
            import math
            import twixt

            with twixt.show(twixt.Scene([twixt.Sphere(0.2)]), dt=1 / 60) as view:
                for t in view.real_time():
                    if t % 0.5 < 1 / 60:
                        view.emit("beat", body=0, strength=2.0)
                    view.publish(position=(0, 0, 1 + abs(math.sin(2 * math.pi * t))))
            ```
        """
        if not self._session.is_closed:
            self._events.emit(name, body, position, strength, values, text, at)

    def emit_many(
        self,
        name: str,
        /,
        *,
        body: ArrayLike | None = None,
        position: ArrayLike | None = None,
        strength: ArrayLike = 1.0,
        values: ArrayLike | None = None,
        at: ArrayLike | None = None,
        text: str = "",
    ) -> None:
        """Emits n events of one name. From about 20 events on, this is faster than n calls of `emit`.

        The arguments have the same shapes as in `World.emit_many`. Bodies and times mean the same as in `emit`. After
        `close`, this method does nothing.

        Args:
            name: Name of the events.
            body: (n,), indices of bodies. `body` and the next arguments may also be one value for all events.
            position: (n, 3), points in the world, metres.
            strength: Strengths of the events, (n,), >= 0.
            values: (n, k), up to four numbers for each event.
            at: Simulated times of the events, (n,), in seconds.
            text: Short text that all events have.

        Raises:
            TwixtError: An argument is invalid (see `World.emit_many`).
        """
        if not self._session.is_closed:
            self._events.emit_many(name, body, position, strength, values, at, text)

    def plot(self, name: str, /, *values: float, **series: float) -> None:
        """Adds a point to the live plot `name` in the overlay.

        Pass y, or x and y, or x and one value for each named series. If x is smaller than before, the plot starts
        again. A call takes about a microsecond and never waits. Viewers get the points 10 times a second. Each series
        keeps its last 1500 points. If a series gets more than 120 points a second, only the lowest and the highest
        value of each interval are kept. So a series shows at least 10 s. A program may have 16 plots, and 64 series in
        all plots together. Further plots and series are ignored, and this is reported once. Any thread may call this
        method. After `close`, this method does nothing.

        Args:
            name: Title of the plot, 1 to 60 characters in one line.
            *values: Pass y, or x and y. With `series`, pass x or nothing. The default x is the simulated time of the
                next publish, in seconds. Each value is a number, or an array without dimensions. NaN and infinities
                make a gap in the line.
            **series: One value for each series, by the name of the series. Each value is a number, NaN and infinities
                included.

        Raises:
            TwixtError: A value is not a number, the number of values is wrong, or the name is not a text of 1 to 60
                characters in one line.

        Examples:
            ```python
            import math
            import twixt

            with twixt.show(twixt.Scene([twixt.Sphere()]), dt=1 / 60) as view:
                for t in view.real_time():
                    view.plot("height", math.sin(t))
                    view.plot("energy", t, kinetic=math.cos(t) ** 2, potential=math.sin(t) ** 2)
                    view.publish(position=(0, 0, 1 + math.sin(t)))
            ```
        """
        self._plots.add(name, values, series)

    def screenshot(self, path: str | PathLike[str], overlay: bool = False) -> Screenshot:
        """Requests a PNG file of the frame that draws the state that was published last. Returns at once.

        The viewer writes the first frame that shows this state or a later state. If several viewers are attached, the
        window that attached first writes it. Without a window, a visible page of the browser view draws it. A loop that
        is faster than real time publishes more states before the frame is drawn. `Screenshot.steps_late` is the number
        of these states. To get exactly this state, call `view.screenshot(path).wait(10)` before the next publish. The
        file appears when it is complete, and replaces an existing file. A hidden window writes its pictures when it is
        shown again. `close` waits for the requested pictures for at most 5 s.

        If a picture cannot be written, the loop continues. Possible reasons are: the folder does not exist, the
        permission is missing, there is no viewer, no page is visible, the viewer was closed, or 16 other pictures are
        not written yet. Each reason is printed once.

        Args:
            path: Path of the file. A relative path begins in this program's working directory, and `~` is the home
                folder.
            overlay: True to include the panels of the overlay, if the overlay is visible. Texts, labels and images of
                the program are always in the picture.

        Returns:
            The request. `Screenshot.is_done` and `Screenshot.wait(timeout_s)` tell when the file is complete. If the
            file was not written, `Screenshot.error` is the reason.

        Raises:
            TwixtError: `path` does not name a PNG file.

        Examples:
            ```python
            import twixt

            with twixt.show(twixt.Scene([twixt.Sphere()]), dt=1 / 60) as view:
                view.publish(position=(0, 0, 1))
                if not (picture := view.screenshot("sphere.png")).wait(10):
                    print(picture.error)
            ```
        """
        requests, absolute = self._session.host.screenshots, screenshot_path(path)
        reason = self._session.close_reason
        if self._session.is_closed or (reason is not None and not self._session.host.viewers):
            screenshot = Screenshot(absolute)
            requests.fail(screenshot, f"there is no viewer: {reason}")
            return screenshot
        return requests.add(absolute, self._published.tick - 1, bool(overlay))


def _next_time_s(now: ShownBodies, dt_ns: int) -> float:
    """Simulated time of the next publish in seconds, if it is `dt_ns` after the last one."""
    last_ns = now.sim_time_ns
    return 0.0 if last_ns is None else (last_ns + dt_ns) / 1e9
