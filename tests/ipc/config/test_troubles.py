"""Figures of trouble: what is allowed, what amounts to none, and how they are said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twixt.ipc.config.troubles import Troubles, breaks_rule

ALL = Troubles(slow_physics_ms=(20.0, 120.0), stall=(500.0, 5.0), drop_percent=2.5, delay_ms=(50.0, 25.0))


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("drop", [0, 0.5, 100], [-0.1, 100.1, True, "1", [1, 2]]),
        ("slow_physics", [(0, 0), (5, 5), [1, 60_000]], [(-1, 5), (6, 5), (1, 60_001), (1,), (1, 2, 3), 5]),
        ("stall", [(0, 0.001), (60_000, 86_400)], [(-1, 5), (60_001, 5), (1, 0), (1, 86_401), (1, "5")]),
        ("delay", [(0, 0), (5, 5), (9_999, 1)], [(5, 6), (5, -1), (9_999, 2), (False, 0), {1: 2, 3: 4}]),
    ],
)
def test_the_figures_of_a_kind_have_bounds(kind: str, right: list[Any], wrong: list[Any]) -> None:
    assert [value for value in [None, *right] if breaks_rule(kind, value)] == []
    assert [value for value in wrong if not breaks_rule(kind, value)] == []


@pytest.mark.parametrize("figure", [10**400, -(10**400), float("inf"), float("nan")])
@pytest.mark.parametrize("kind", ["slow_physics", "stall", "delay"])
def test_no_figure_is_too_large_to_be_judged(kind: str, figure: float) -> None:
    assert breaks_rule(kind, (figure, 0.5))
    assert breaks_rule(kind, (0.5, figure))
    assert breaks_rule("drop", figure)


@pytest.mark.parametrize(
    ("troubles", "tidied"),
    [
        (Troubles(slow_physics_ms=(0, 0), stall=(0, 5), delay_ms=(0, 0)), Troubles()),
        # What a step may take, or a delay without jitter, is trouble all the same.
        (Troubles(slow_physics_ms=(0, 9), delay_ms=(5, 0)), Troubles(slow_physics_ms=(0, 9), delay_ms=(5, 0))),
        (ALL, ALL),
    ],
)
def test_what_amounts_to_no_trouble_is_none(troubles: Troubles, tidied: Troubles) -> None:
    assert troubles.tidy() == tidied


def test_the_status_is_what_a_connection_can_carry() -> None:
    status = ALL.to_status()
    assert status == {
        "slow_physics_ms": [20.0, 120.0],
        "stall": [500.0, 5.0],
        "drop_percent": 2.5,
        "delay_ms": [50.0, 25.0],
    }
    assert json.loads(json.dumps(status)) == status
    assert set(Troubles().to_status().values()) == {None, 0.0}
