"""Trouble in the real command: the same states with it and without, and what a viewer sees of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.processes import Run, Starter, one_line, starter, until
from twixt.ipc.commands import Command
from twixt.ipc.session import attach, running
from twixt.ipc.session.link import Link

pytestmark = pytest.mark.slow

EVERYTHING = ("--slow-physics", "1-6", "--stall", "120@0.3", "--drop", "30", "--delay", "80+-20")


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Starter]:
    """Starts `twixt` without a display; links of this process find what it starts."""
    with starter(tmp_path, os.environ) as starts:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(starts.runtime_folder))
        yield starts


def state(run: Run) -> str:
    """The hash that it printed."""
    assert run.end() == 0, run.err
    return run.out.strip()


def refused(run: Run, *parts: str) -> None:
    assert run.end() == 2, run.err
    one_line(run, *parts)


def heads(link: Link, count: int) -> list:
    """The next snapshots' heads."""
    seen: list = []

    def enough() -> bool:
        link.poll()
        seen.extend(view.head for view in link.unread(1 << 24))
        return len(seen) >= count

    until(enough, f"{count} snapshots")
    return seen


def test_the_states_are_the_same_bytes_with_every_trouble(start: Starter) -> None:
    arguments = ("sim", "balls", "--set", "count=40", "--steps", "60", "--hash")
    runs = [
        start(*arguments, *trouble, "--name", f"lab-{number}")
        for number, trouble in enumerate([(), EVERYTHING, ("--trouble", "mobile", "--seed", "0")])
    ]
    hashes = [state(run) for run in runs]
    assert [run.left() for run in runs] == [[], [], []]
    assert len(hashes[0]) == 64
    assert len(set(hashes)) == 1


def test_widened_steps_are_made_again_from_their_log(start: Starter) -> None:
    world = ("sim", "balls", "--set", "count=40", "--hash")
    wide = ("--steps", "40", "--when-slow", "widen", "--max-step-ms", "50", "--slow-physics", "20", "--dt-log", "steps")
    log_run = start(*world, *wide)
    first = state(log_run)
    assert log_run.left() == []
    assert "40" in (start.folder / "steps").read_text().splitlines()[-1]
    assert state(start(*world, "--dt-replay", "steps", "--slow-physics", "3")) == first
    assert state(start(*world, "--steps", "40")) != first
    refused(start(*world, "--seed", "1", "--dt-replay", "steps"), "'seed 0'", "'seed 1'", "the same world")
    (start.folder / "steps").write_text("twixt dt log 1\nworld balls\n12 and a half\n")
    refused(start(*world, "--dt-replay", "steps"), "damaged in line 3", "'12 and a half'")
    refused(start(*world, "--dt-replay", "nowhere"), "cannot read", "--dt-log")
    short = ("--when-slow", "widen", "--max-step-ms", "5")
    refused(start(*world, *short), "--max-step-ms", "at least the world's own step", "got 5")


def test_a_viewer_sees_delayed_snapshots_in_order_and_takes_the_delay_away(start: Starter) -> None:
    run = start("sim", "metronome", "--name", "lab", "--delay", "80+-20", "--drop", "10", "--slow-physics", "2-4")
    until(lambda: running() == ["lab"], "its name")
    link = attach("lab", timeout_s=30)
    seen = [head for head in heads(link, 60) if head.tick > 10]
    ticks = [head.tick for head in seen]
    assert ticks == sorted(set(ticks))
    assert min(head.published_ns - head.due_ns for head in seen) >= 60_000_000
    asked = {"slow_physics_ms": [2, 4], "stall": None, "drop_percent": 10, "delay_ms": [80, 20]}
    until(lambda: link.poll() or (link.status or {}).get("trouble") == asked, "the status says what is in force")
    for name in ("delay", "drop", "slow_physics"):
        link.send(Command(name))
    nothing = {"slow_physics_ms": None, "stall": None, "drop_percent": 0.0, "delay_ms": None}
    until(lambda: link.poll() or (link.status or {}).get("trouble") == nothing, "the trouble is over")
    assert link.status["trouble_asked"] == asked
    until(
        lambda: any(head.published_ns - head.due_ns < 0 for head in heads(link, 1)),
        "snapshots ahead of their due instants again",
    )
    link.close()
    run.interrupt()
    assert run.end() == 130


def test_the_error_for_an_unknown_preset_names_all_presets(start: Starter) -> None:
    unknown = start("run", "--trouble", "storm")
    assert unknown.end() == 2
    assert "'lan', 'wifi', 'mobile', 'slow', 'stalls'" in unknown.err
