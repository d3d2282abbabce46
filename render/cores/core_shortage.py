"""Shortage of cores: its detection, and the bound on the viewer's frames per second meanwhile.

The one idea: the kernel counts how long a thread waits for a core. Physics that never rests (an unthrottled loop, an
overloaded world) and waits loses time to other threads, the viewer's among them. Then the frame rate is lowered step
by step, until physics no longer waits or the viewer's share of a core is too small to matter. Physics that rests
between its steps loses nothing, however busy the machine is, and the frame rate stays.

- Cheaper drawing first: the rate is not lowered while drawing can still get cheaper.
- Fast attack, slow release: a step down every 0.3 s while physics waits, a smaller step up every 0.7 s while it does
  not. A rate that was too high is tried again after growing intervals, or the rate would oscillate.
- The median of the last differences is judged, so that a spike does not count.
- The bound is never under 15 frames a second, and never so low that the viewer gets less than 0.10 of a core: that
  share costs physics a few percent at most.
- `is_short` is also set where this process waits itself: drawing then gets cheaper, which helps both.

Pure: the last differences of samples in, decisions out. Without a new difference the last decision stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from twixt.render.cores.core_load import JUDGED, CoreUse, UsualCoreUse, usual_use

# Share of the time for which physics waits: above WAITS frames become fewer, below WAITS_NOT more are tried. Some
# waiting is the kernel's own.
WAITS, WAITS_NOT = 0.04, 0.02
# Waiting of this process as a share of its running and waiting: above STARVES cores are short, up to STARVES_NOT they
# are not.
STARVES, STARVES_NOT = 0.30, 0.10
# Lowest bound, in frames per second: 15, plus one for the frames that a busy machine loses.
LEAST_FPS = 16.0
# The rate is not lowered below the one at which the viewer takes this share of a core: with one other busy program on
# two cores, physics loses half of that share.
LEAST_SHARE = 0.10
# Factors of a step of the bound, and how long its effect is awaited.
DOWN, DOWN_NS, UP, UP_NS = 0.8, 300_000_000, 1.1, 700_000_000
# Longest time until a rate that was too high is tried again; the time starts at UP_NS and doubles at each failure.
LONGEST_UP_NS = 8 * UP_NS
# The bound is dropped where frames come at less than this share of it: something else limits them. It is under one
# half, because where swap blocks a bound just under the display's rate halves the rate.
REACHED = 0.45
# Highest bound, in frames per second: more than displays show.
MOST_FPS = 250.0
# `is_short` ends this long after the last sign of a shortage.
CALM_NS = 3_000_000_000


class CoreShortage:
    """Shortage as seen by one viewer. is_short: cores are short. most_fps: bound on the frame rate, None: no bound."""

    def __init__(self) -> None:
        self.is_short = False
        self.most_fps: float | None = None
        self._changed_ns = self._short_ns = 0
        self._too_many_fps: float | None = None  # rate at which physics waited
        self._again_ns = UP_NS  # how long until that rate is tried again

    def observe(self, uses: Sequence[CoreUse]) -> None:
        """Updates `is_short` and `most_fps`, once JUDGED differences are known."""
        if len(uses) < JUDGED:
            return
        usual = usual_use(uses)
        self._judge(uses[-1].now_ns, usual)
        self._bound(uses[-1], usual)

    def _judge(self, now_ns: int, usual: UsualCoreUse) -> None:
        if usual.waits > WAITS or usual.starved > STARVES:
            self.is_short, self._short_ns = True, now_ns
        elif usual.waits > WAITS_NOT or usual.starved > STARVES_NOT:
            self._short_ns = now_ns  # between the limits: is_short stays
        elif now_ns - self._short_ns >= CALM_NS:
            self.is_short = False

    def _bound(self, last: CoreUse, usual: UsualCoreUse) -> None:
        passed_ns = last.now_ns - self._changed_ns
        if usual.waits > WAITS and passed_ns >= DOWN_NS:
            if not last.is_cheapest:
                return
            now = min(self.most_fps or MOST_FPS, usual.fps)
            wanted = max(now * DOWN, _least_fps(usual))
            if wanted < now:
                if self._too_many_fps is not None and now >= self._too_many_fps:
                    self._again_ns = min(2 * self._again_ns, LONGEST_UP_NS)
                self._too_many_fps = now
                self._set(wanted, last.now_ns)
        elif self.most_fps is not None and usual.waits < WAITS_NOT and passed_ns >= UP_NS:
            self._raise(self.most_fps, usual.fps, passed_ns, last.now_ns)

    def _raise(self, most_fps: float, fps: float, passed_ns: int, now_ns: int) -> None:
        """Raises the bound by a step, unless the new rate was too high a short while ago."""
        if self._too_many_fps is not None and fps >= self._too_many_fps:
            self._too_many_fps, self._again_ns = None, UP_NS  # that rate is no longer too high
        more = most_fps * UP
        if self._too_many_fps is not None and more >= self._too_many_fps and passed_ns < self._again_ns:
            return
        self._set(None if more > MOST_FPS or fps < REACHED * most_fps else more, now_ns)

    def _set(self, fps: float | None, now_ns: int) -> None:
        self.most_fps, self._changed_ns = fps, now_ns


def _least_fps(usual: UsualCoreUse) -> float:
    return max(LEAST_FPS, LEAST_SHARE * usual.fps / usual.share if usual.share > 0 else LEAST_FPS)
