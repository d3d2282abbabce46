"""The state machine whose runs are kill orders: what may be done to whom, at which instants.

Instants are drawn like everything else, as milliseconds since the act before: they are an order's subject. Nothing is
awaited by them; what is checked is awaited in `Order.finish`, with a bound that fails loudly.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.long.endings.order import Order

MOST_VIEWERS = 3
# At once, while a process starts (it takes 100 to 400 ms), and while it runs.
INSTANTS_MS = st.one_of(st.integers(0, 40), st.integers(0, 400), st.integers(0, 900))
WORLDS = st.sampled_from(["metronome", "growing:Growing", "growing:Growing", "growing:Loading"])
ENDS = st.sampled_from([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
HOLDS = st.sampled_from([signal.SIGSTOP, signal.SIGCONT])
LAST = st.sampled_from(["SIGKILL", "SIGTERM", "SIGINT", "Ctrl-C", "close"])
# Real viewers cost most of an order; those that only read come three times as often.
VIEWERS = st.sampled_from(["light", "light", "light", "view"])
LAUNCHERS = st.sampled_from(["run", "run", "sim", "sim", "loop"])

# How many orders make a line of progress.
SAID_EVERY = 50


@dataclass
class Tally:
    """What came of many orders. is_strict: the first that is wrong fails."""

    environ: Mapping[str, str]
    is_strict: bool = True
    orders: int = 0
    wrong: list[str] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)
    longest_clean_up_s: float = 0.0
    slowest: str = ""
    say: Callable[[str], object] = str


class KillOrder(RuleBasedStateMachine):
    """One order: an `Order` and the acts on it."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self._tally = tally
        self._order = Order(tally.environ, tally.endings)
        self._last, self._has_own_viewer = "SIGINT", False
        # By what was done alone: what may come next must not depend on how fast processes are.
        self._is_held = self._is_ended = False

    @initialize(
        role=LAUNCHERS, world=WORLDS, has_window=st.booleans(), ends=st.integers(0, 5), last=LAST, ms=INSTANTS_MS,
        viewers=st.lists(VIEWERS, max_size=2),
    )  # fmt: skip
    def launch(
        self, role: str, world: str, has_window: bool, ends: int, last: str, ms: int, viewers: list[str]
    ) -> None:
        self._last, self._has_own_viewer = last, role != "sim"
        self._order.cast.launch(role, world, has_window, 0.6 if ends == 5 else None)
        self._order.cast.wait(ms)
        for viewer in viewers:
            self._order.cast.attach(viewer, has_window)

    @precondition(lambda self: self._is_ended)
    @rule(role=LAUNCHERS, world=WORLDS, has_window=st.booleans())
    def launch_again(self, role: str, world: str, has_window: bool) -> None:
        self._has_own_viewer, self._is_held, self._is_ended = role != "sim", False, False
        self._order.await_end_of_launcher()
        self._order.cast.launch(role, world, has_window, None)

    @precondition(lambda self: len(self._order.cast.viewers) < MOST_VIEWERS)
    @rule(ms=INSTANTS_MS, role=VIEWERS, has_window=st.booleans())
    def attach(self, ms: int, role: str, has_window: bool) -> None:
        self._order.cast.wait(ms)
        self._order.cast.attach(role, has_window)

    @rule(ms=INSTANTS_MS, number=HOLDS)
    def hold_physics(self, ms: int, number: signal.Signals) -> None:
        self._is_held = number == signal.SIGSTOP
        self._order.cast.wait(ms)
        self._order.cast.signal_physics(number)

    @rule(ms=INSTANTS_MS, number=ENDS, whole_group=st.booleans())
    def end_physics(self, ms: int, number: signal.Signals, whole_group: bool) -> None:
        self._is_ended = self._is_ended or not self._is_held or number == signal.SIGKILL
        self._order.cast.wait(ms)
        self._order.cast.signal_physics(number, whole_group and number == signal.SIGINT)

    @precondition(lambda self: self._order.cast.viewers or self._has_own_viewer)
    @rule(ms=INSTANTS_MS, which=st.integers(0, 5), number=HOLDS)
    def hold_a_viewer(self, ms: int, which: int, number: signal.Signals) -> None:
        self._order.cast.wait(ms)
        self._order.cast.signal_viewer(which, number)

    @precondition(lambda self: self._order.cast.viewers or self._has_own_viewer)
    @rule(ms=INSTANTS_MS, which=st.integers(0, 5), number=ENDS)
    def end_a_viewer(self, ms: int, which: int, number: signal.Signals) -> None:
        self._order.cast.wait(ms)
        self._order.cast.signal_viewer(which, number)

    @precondition(lambda self: self._order.cast.viewers or self._has_own_viewer)
    @rule(ms=INSTANTS_MS, which=st.integers(0, 5))
    def close_a_viewer(self, ms: int, which: int) -> None:
        self._order.cast.wait(ms)
        self._order.cast.close(which)

    def teardown(self) -> None:
        order, tally = self._order, self._tally
        order.finish(self._last)
        tally.orders += 1
        if order.clean_up_s > tally.longest_clean_up_s:
            tally.longest_clean_up_s, tally.slowest = order.clean_up_s, order.story()
        if order.wrong:
            tally.wrong.append(order.story())
            tally.say(f"order {tally.orders}:\n{order.story()}")
            assert not tally.is_strict, order.story()
        if tally.orders % SAID_EVERY == 0:
            tally.say(f"{tally.orders} orders, {len(tally.wrong)} wrong")
