"""Some kill orders in every run of the suite, always the same; `make kill-orders` makes a thousand."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.displays.rigs import Display
from tests.long.endings.machine import KillOrder, Tally
from tests.long.endings.order import OF_EVENTS

pytestmark = pytest.mark.display

ORDERS, ACTS = 15, 4


def test_whatever_is_done_to_whom_at_any_instant_nothing_is_left_and_everybody_says_why(xvfb_screen: Display) -> None:
    tally = Tally(xvfb_screen.environ)
    how = settings(
        max_examples=ORDERS, stateful_step_count=ACTS, deadline=None, database=None, derandomize=True,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck), print_blob=True,
    )  # fmt: skip
    run_state_machine_as_test(lambda: KillOrder(tally), settings=how)
    print(f"{tally.orders} orders, longest clean-up {tally.longest_clean_up_s:.2f} s")
    for what, count in sorted(tally.endings.items()):
        print(f"{count:4}  {what}")
    assert tally.endings[OF_EVENTS]
