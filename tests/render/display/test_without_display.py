"""What a run does that has no display: how long it lasts, and what it leaves."""

from __future__ import annotations

import pytest

from twixt.ipc.config.flags import Config
from twixt.render.display.display import without_display


@pytest.mark.parametrize(("given", "at_s"), [({}, 8.0), ({"seconds": 4.0}, 3.2), ({"at_s": 1.0}, 1.0)])
def test_the_picture_that_is_left_is_of_the_run_and_not_of_its_start(given: dict[str, float], at_s: float) -> None:
    config = without_display(Config(**given), "llvmpipe")  # type: ignore[arg-type]
    assert config.report
    assert config.screenshot == "twixt-screenshot.png"
    assert config.at_s == pytest.approx(at_s)
    assert config.seconds is not None
    assert config.at_s < config.seconds


def test_a_picture_that_was_asked_for_is_taken_at_its_own_instant() -> None:
    assert without_display(Config(screenshot="own.png"), "llvmpipe").at_s is None
