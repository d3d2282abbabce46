"""Options of a run that its page begins with, and those that it reports as ignored."""

from __future__ import annotations

import json
import math

import pytest

from twixt.ipc.config.flags import Config
from twixt.relay.serve.owned import options_of, report_ignored


def test_the_page_begins_with_the_options_that_are_set_and_ignores_those_of_a_window(
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = Config(split=(("none", ""), ("", "ahead")), trails="all", clock="auto", log="frames.csv")
    assert json.loads(json.dumps(dict(options_of(config, "lab").page))) == {
        "split": [["none", ""], ["", "ahead"]], "trails": "all",
    }  # fmt: skip
    report_ignored(config)
    said = capsys.readouterr().err
    assert "--log" in said
    assert "--split" not in said
    assert "--trails" not in said
    assert math.isinf(config.trail_seconds)
