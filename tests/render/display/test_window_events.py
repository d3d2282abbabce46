"""What changed about a display: told once, in words, and never for what is not known."""

from __future__ import annotations

import pytest

from twixt.render.display.window_events import SLEPT_NS, Changes, Signs

AT_60 = Signs(7, (1280, 800, 60), 1, 5)


@pytest.mark.parametrize(
    ("signs", "said"),
    [
        (AT_60._replace(monitor=8, mode=(1920, 1080, 144)), ["the window is on another monitor"]),
        (AT_60._replace(mode=(1280, 800, 90)), ["the monitor's mode changed to 1280x800, 90 Hz"]),
        (AT_60._replace(monitors=2), ["the number of monitors changed to 2"]),
        (AT_60._replace(asleep_ns=3_000_000_005), ["the machine slept for 3.0 s"]),
        (AT_60._replace(asleep_ns=SLEPT_NS // 2), []),
        (AT_60._replace(asleep_ns=-5), []),
        (Signs(), []),
        (AT_60, []),
    ],
)
def test_a_change_is_told_once(signs, said):
    changes = Changes()
    assert changes.look(AT_60) == []
    assert changes.look(signs) == said
    assert changes.look(signs) == []


def test_what_was_not_known_before_is_no_change_and_what_is_not_known_for_a_while_is_remembered():
    changes = Changes()
    assert changes.look(Signs(asleep_ns=0)) == []
    assert changes.look(AT_60) == []
    assert changes.look(Signs()) == []
    assert changes.look(AT_60._replace(monitor=9)) == ["the window is on another monitor"]


def test_sleep_from_nought_is_noticed():
    changes = Changes()
    changes.look(Signs(asleep_ns=0))
    assert changes.look(Signs(asleep_ns=10 * SLEPT_NS)) == ["the machine slept for 1.0 s"]
