"""Live plots: points that a program records in its loop, and their form in a message to viewers.

`PlotRecorder.add` only stores points. The service thread thins and collects them, at most every `PERIOD_NS`, and sends
viewers all points that are kept. So a late viewer has the same plots as an early one.

Always: memory is limited, whatever the program records. Thinning keeps the lowest and the highest value of each
interval of x. A value that is not finite is a gap in the line, unless thinning puts it into one interval with others.
If x becomes smaller, the plot starts again.
"""

from __future__ import annotations

import math
import struct
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from twixt.ipc.errors import InvalidType, InvalidValue, TwixtError, text_of
from twixt.ipc.process.notices import print_notice

# Largest number of plots, and of series in all plots together. More would not fit into a window.
MOST_PLOTS, MOST_SERIES = 16, 64
LONGEST_NAME = 60
# Shortest interval between two messages with plots, in ns. The overlay is redrawn as often.
PERIOD_NS = 100_000_000
# Points of each series that are kept, and points of each series that are added in a second. Faster points are thinned,
# so that the kept points cover 10 s at least. Slower points are all kept.
KEPT_POINTS, POINTS_PER_S = 1500, 120
# Points of a series that wait to be collected. If they are more, they are thinned to a quarter.
MOST_WAITING = 1024
# Values of a larger magnitude are gaps, because a plot could not label its axis readably.
LARGEST = 1e30
POINT = struct.Struct("=dd")
MOST_PLOT_BYTES = MOST_SERIES * KEPT_POINTS * POINT.size

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlotSeries:
    """A line of a plot. name: "" if the plot has only this line. xs, ys: (n,) float64; xs never falls; a y that is NaN
    is a gap."""

    name: str
    xs: Points
    ys: Points


@dataclass(frozen=True, eq=False)
class OverlayPlot:
    """A plot as viewers draw it."""

    name: str
    series: tuple[PlotSeries, ...]


class _Recorded:
    """Points of one series. waiting: recorded and not collected yet, as bytes of `POINT`. kept: collected, (n, 2)."""

    def __init__(self, name: str, now_ns: int) -> None:
        self.name, self.collected_ns = name, now_ns
        self.waiting = bytearray()
        self.record = self.waiting.extend  # one call of C, so that threads cannot mix their points
        self.kept: Points = np.zeros((0, 2))

    def thin_waiting(self) -> None:
        """Thins the waiting points to a quarter of `MOST_WAITING`."""
        size = len(self.waiting)
        self.waiting[:size] = thinned(_last_run(_points_of(self.waiting[:size])), MOST_WAITING // 4).tobytes()

    def collect(self, now_ns: int) -> bool:
        """Moves the waiting points to the kept ones. Returns True if x became smaller."""
        size = len(self.waiting)
        points = _points_of(self.waiting[:size])
        del self.waiting[:size]
        since_s, self.collected_ns = (now_ns - self.collected_ns) / 1e9, now_ns
        before, new = self.kept, _last_run(points)
        xs = points[np.isfinite(points[:, 0]), 0]
        is_anew = bool((np.diff(xs, prepend=before[-1:, 0]) < 0).any())
        new = thinned(new, min(KEPT_POINTS, 2 + math.ceil(since_s * POINTS_PER_S)))
        self.kept = new if is_anew else np.concatenate([before, new])[-KEPT_POINTS:]
        return is_anew


class PlotRecorder:
    """Records points of plots for the viewers of one host. Any thread may call `add`. notify: function that is called
    when there are new points to collect.

    next_time_s: function that returns the simulated time, in seconds, of values that are added without x.
    """

    def __init__(self, notify: Callable[[], object], now_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self.next_time_s: Callable[[], float] = float
        self._notify, self._now_ns = notify, now_ns
        self._plots: dict[str, dict[str, _Recorded]] = {}
        self._collecting = threading.RLock()
        self._collected_ns = 0
        self._has_news = self._is_closed = self._is_full = False

    def add(self, plot: str, values: Sequence[Any], series: dict[str, Any]) -> None:
        """Records the arguments of `View.plot`. Raises TwixtError for names and values that are invalid. Ignores
        plots and series above the limits, and reports the first of them."""
        if self._is_closed:
            return
        if series:
            if len(values) > 1:
                _refuse_count(plot, values)
            x = values[0] if values else self.next_time_s()
        elif len(values) == 1:
            x, series = self.next_time_s(), {"": values[0]}
        elif len(values) == 2:
            x, series = values[0], {"": values[1]}
        else:
            _refuse_count(plot, values)
        if x.__class__ is not float:
            x = _number(plot, "x", x)
        for name, y in series.items():
            if y.__class__ is not float:
                series[name] = _number(plot, name or "the value", y)
        # A call that is refused above makes no plot.
        try:
            lines = self._plots[plot]
        except (KeyError, TypeError):
            lines = self._new_plot(plot)
        for name, y in series.items():
            line = lines.get(name)
            if line is None:
                line = self._new_line(plot, lines, name)
                if line is None:
                    continue
            line.record(POINT.pack(x, y))
            if len(line.waiting) >= MOST_WAITING * POINT.size:
                self._make_room(line)
        if not self._has_news:
            self._has_news = True
            self._notify()

    @property
    def due_ns(self) -> int | None:
        """Instant from which `message` returns a message. None if there are no new points."""
        return self._collected_ns + PERIOD_NS if self._has_news else None

    def message(self, now_ns: int) -> tuple[dict[str, Any], bytes] | None:
        """Fields and bytes of a message with all points that are kept. None if no message is due."""
        if not self._has_news or now_ns < self._collected_ns + PERIOD_NS:
            return None
        self._collected_ns, self._has_news = now_ns, False
        with self._collecting:
            plots = [(name, list(lines.values())) for name, lines in list(self._plots.items())]
            for _, lines in plots:
                _collect(lines, now_ns)
            fields = {"plots": [[name, [[line.name, len(line.kept)] for line in lines]] for name, lines in plots]}
            return fields, b"".join(line.kept.tobytes() for _, lines in plots for line in lines)

    def close(self) -> None:
        """Ignores all points from now on. Also called in a forked child, so it takes no lock."""
        self._is_closed = True

    def __reduce_ex__(self, protocol: object) -> Any:
        """A copy of a world, such as one that is used to plan ahead, plots nothing."""
        return type(None), ()

    def _make_room(self, line: _Recorded) -> None:
        now_ns = self._now_ns()
        with self._collecting:
            if now_ns - line.collected_ns < PERIOD_NS:
                line.thin_waiting()
            else:  # no viewer is attached, so the service thread collects nothing
                line.collect(now_ns)

    def _new_plot(self, name: str) -> dict[str, _Recorded]:
        _check_name("the name of a plot", name)
        with self._collecting:
            if len(self._plots) < MOST_PLOTS or name in self._plots:
                return self._plots.setdefault(name, {})
        self._report_full(f"plot {name!r}")
        return _NO_LINES

    def _new_line(self, plot: str, lines: dict[str, _Recorded], name: str) -> _Recorded | None:
        if name:
            _check_name(f"plot {plot!r}: the name of a series", name)
        if lines is _NO_LINES:
            return None
        with self._collecting:
            if sum(map(len, self._plots.values())) < MOST_SERIES or name in lines:
                return lines.setdefault(name, _Recorded(name, self._now_ns()))
        self._report_full(f"series {name!r} of plot {plot!r}")
        return None

    def _report_full(self, what: str) -> None:
        if not self._is_full:
            self._is_full = True
            print_notice(
                f"{what} is not drawn: a program may have {MOST_PLOTS} plots with {MOST_SERIES} series in all; "
                "further plots and series are not drawn either, and not reported"
            )


# The lines of a plot above the limit.
_NO_LINES: dict[str, _Recorded] = {}


def thinned(points: Points, most: int) -> Points:
    """Returns at most `most` of the points, (n, 2) with x that never falls. Each of most / 2 equal intervals of x has
    two points: its lowest and its highest value. The highest comes first if the values of the interval fall."""
    if len(points) <= most:
        return points
    xs, ys = points.T
    bins = max(1, most // 2)
    edges = np.linspace(xs[0], xs[-1], bins + 1)[:-1]
    starts = np.unique(np.searchsorted(xs, edges))
    ends = np.append(starts[1:], len(xs)) - 1
    low, high = np.fmin.reduceat(ys, starts), np.fmax.reduceat(ys, starts)
    is_falling = ys[ends] < ys[starts]
    found = np.empty((len(starts), 2, 2))
    found[:, 0, 0], found[:, 1, 0] = xs[starts], xs[ends]
    found[:, 0, 1], found[:, 1, 1] = np.where(is_falling, high, low), np.where(is_falling, low, high)
    is_used = np.ones((len(starts), 2), bool)
    is_used[:, 1] = ends > starts
    return found[is_used]


def plots_from_message(fields: dict[str, Any], raw: bytes) -> tuple[OverlayPlot, ...]:
    """Returns the plots of a message that `PlotRecorder.message` made. Raises TwixtError for any other message."""
    rows = fields.get("plots")
    if not isinstance(rows, list) or len(rows) > MOST_PLOTS or len(raw) % POINT.size or len(raw) > MOST_PLOT_BYTES:
        raise TwixtError(f"plots must be a list of at most {MOST_PLOTS}, got {type(rows).__name__}")
    points, start, found = np.frombuffer(raw).reshape(-1, 2), 0, []
    with np.errstate(invalid="ignore"):
        if not (np.abs(points[:, 0]) <= LARGEST).all() or (np.abs(points[:, 1]) > LARGEST).any():
            raise TwixtError(f"plots came with numbers beyond {LARGEST:g}")
    try:
        for name, lines in rows:
            _check_name("the name of a plot", name)
            series = []
            for label, count in lines:
                if label != "":
                    _check_name("the name of a series", label)
                if type(count) is not int or not 0 <= count <= len(points) - start:
                    raise TwixtError(f"a series of {text_of(count)[:20]} points came with {len(points) - start}")
                xs, ys = np.ascontiguousarray(points[start : start + count].T)
                series.append(PlotSeries(label, xs, ys))
                start += count
            found.append(OverlayPlot(name, tuple(series)))
    except (TypeError, ValueError) as error:
        raise TwixtError(f"plots came with damaged fields ({str(error)[:100]})") from error
    return tuple(found)


def _collect(lines: Iterable[_Recorded], now_ns: int) -> None:
    anew = [line for line in lines if line.collect(now_ns)]
    if not anew:
        return
    newest_x = max((line.kept[-1, 0] for line in anew if len(line.kept)), default=-math.inf)
    for line in lines:
        if line not in anew and len(line.kept) and line.kept[-1, 0] > newest_x:
            line.kept = np.zeros((0, 2))


def _points_of(content: bytearray) -> Points:
    points = np.frombuffer(content).reshape(-1, 2)
    with np.errstate(invalid="ignore"):
        points[~(np.abs(points) <= LARGEST)] = np.nan
    return points


def _last_run(points: Points) -> Points:
    """The points with a finite x, beginning at the last point whose x is smaller than the x before it."""
    points = points[np.isfinite(points[:, 0])]
    falls = np.flatnonzero(np.diff(points[:, 0]) < 0)
    return points[falls[-1] + 1 :] if len(falls) else points


def _check_name(what: str, name: Any) -> None:
    if not (isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable()):
        raise InvalidValue(
            f"{what} must be a text of 1 to {LONGEST_NAME} characters in one line, got {text_of(name)[:80]}"
        )


def _number(plot: str, what: str, value: Any) -> float:
    shape = tuple(getattr(value, "shape", ()))
    if shape == () and not isinstance(value, str | bytes | bytearray | complex | np.complexfloating):
        try:
            return float(value)
        except OverflowError:  # an integer too large to be drawn
            return math.nan
        except (TypeError, ValueError):
            pass
    got = f"an array of shape {shape}; plot its mean, or each element as a series" if shape else text_of(value)[:60]
    raise InvalidType(f"plot {plot!r}: {what} must be one number, got {got}")


def _refuse_count(plot: str, values: Sequence[Any]) -> NoReturn:
    raise InvalidValue(
        f"plot {plot!r} takes x and series by name, x and y, or y alone, got {len(values)} numbers; "
        'such as plot("energy", t, kinetic=k, potential=p)'
    )
