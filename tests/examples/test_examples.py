"""The programs in examples/: each runs, each has its picture in the gallery."""

from __future__ import annotations

import csv
import json
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.examples.gallery import EXAMPLES, PAGE, PICTURES, SHOWN, Shown, page
from twixt.ipc.ring.events import Event
from twixt.ipc.session import running
from twixt.sim.world.world import drawable_scene
from twixt.sim.world.world_guard import check_world

ACTUATED = """<mujoco><worldbody><body><joint name="hinge" axis="0 1 0"/><geom size="0.1"/></body></worldbody>
<actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator></mujoco>"""
# Those that show how little it takes.
SHORT = ("mujoco_dropin", "humanoid_policy", "model_loop", "mesh_file", "pong", "paper_figure", "orbit", "bounce")


def named(module: str) -> dict[str, object]:
    return runpy.run_path(str(EXAMPLES / f"{module}.py"))


def test_every_example_is_in_the_gallery_and_has_its_picture() -> None:
    assert {shown.module for shown in SHOWN} == {file.stem for file in EXAMPLES.glob("*.py")}
    assert {shown.module for shown in SHOWN} == {file.stem for file in PICTURES.glob("*.png")}
    assert PAGE.read_text() == page(), "regenerate it: python -m tests.examples.gallery --only none"


def test_examples_of_how_little_it_takes_are_short() -> None:
    lines = {module: len((EXAMPLES / f"{module}.py").read_text().splitlines()) for module in SHORT}
    assert {module: count for module, count in lines.items() if count > 40} == {}


@pytest.mark.parametrize("shown", [shown for shown in SHOWN if shown.world], ids=lambda shown: shown.module)
def test_a_world_of_the_examples_moves_and_can_be_drawn(shown: Shown) -> None:
    world = named(shown.module)[shown.world]()  # type: ignore[operator]
    check_world(world)
    before = world.bodies.records.copy()
    for _ in range(20):
        world.step(world.dt)
    after = world.bodies.records
    assert np.isfinite(after["position"]).all()
    assert (after != before).any()
    assert len(drawable_scene(world).shapes) > 0


def test_the_ball_of_the_game_stays_in_its_field_and_a_missed_one_is_a_cut() -> None:
    game = named("pong")["Pong"](seed=1)  # type: ignore[operator]
    places, epochs = [], []
    for _ in range(3000):
        game.step(game.dt)
        places.append(game.bodies.position[0, :2].copy())
        epochs.append(int(game.bodies.records["epoch"][0]))
    assert (np.abs(places) <= (2.9, 2.1)).all()
    jumps = np.linalg.norm(np.diff(places, axis=0), axis=1) > 0.3
    assert jumps.any()
    assert (jumps == (np.diff(epochs) != 0)).all()


@pytest.mark.parametrize("physics_hz", [60, 10, 5])
def test_balls_touch_the_floor_at_their_events_and_are_never_below_it(physics_hz: int) -> None:
    example = named("bounce")
    world, radius, hits = example["Bounce"](), example["RADIUS"], []  # type: ignore[operator]
    world.emit = lambda name, **given: hits.append((name, given["body"], given["position"][2], given["strength"]))
    for _ in range(20 * physics_hz):
        hits.clear()
        world.step(1 / physics_hz)
        height = world.bodies.position[:, 2] - radius
        assert (height >= 0).all()
        assert [body for _, body, _, _ in hits] == np.flatnonzero(height == 0).tolist()
        assert all(name == "hit" and z == 0 and 0 < strength < 9 for name, _, z, strength in hits)


@pytest.mark.parametrize("module", ["mujoco_dropin", "model_loop", "own_loop", "event_log"])
def test_a_loop_of_the_examples_runs_to_its_end(module: str, capfd: pytest.CaptureFixture[str]) -> None:
    named(module)["main"](seconds=0.1, viewer=False)  # type: ignore[operator]
    assert running() == []
    assert "no effect" not in capfd.readouterr().err


def test_the_policy_of_the_examples_moves_a_model_of_any_number_of_actuators(tmp_path: Path) -> None:
    model = tmp_path / "model.xml"
    model.write_text(ACTUATED)
    named("humanoid_policy")["main"](str(model), seconds=0.1, viewer=False)  # type: ignore[operator]
    assert running() == []


HITS = [
    Event("hit", 1.5, 2, (1.0, 2.0, 3.0), 4.0, (5.0, 6.0), "a, b", 7.5),
    Event("end", 2.0),
]


def test_the_log_of_events_has_a_line_of_json_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENT_LOG", str(tmp_path / "events.jsonl"))
    write: Any = named("event_log")["write"]
    for event in HITS:
        write(event)
    first, second = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert first == {
        "name": "hit", "sim_time": 1.5, "body": 2, "position": [1, 2, 3], "strength": 4, "late_ms": 7.5,
        "values": [5, 6], "text": "a, b",
    }  # fmt: skip
    assert (second["name"], second["body"], second["position"]) == ("end", None, None)


def test_the_log_of_events_can_be_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENT_LOG", str(tmp_path / "events.csv"))
    write: Any = named("event_log")["write"]
    for event in HITS:
        write(event)
    with (tmp_path / "events.csv").open(newline="") as file:
        head, first, second = csv.reader(file)
    assert dict(zip(head, first, strict=True))["position"] == "1.0 2.0 3.0"
    assert dict(zip(head, first, strict=True))["text"] == "a, b"
    assert second[:4] == ["end", "2.0", "", ""]


def test_sounds_say_once_what_to_install_and_stay_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    sounds: dict[str, Any] = named("sounds")
    for event in HITS * 3:
        sounds["play"](event)
    player = sounds["play"].__globals__["player"]
    player.opening.join()
    sounds["play"](HITS[0])
    assert capsys.readouterr().err == "sounds: silent; to hear events: pip install pygame-ce\n"
    assert not player.play(1.0)


def test_sounds_leave_out_late_events_and_those_for_which_no_voice_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    sounds: dict[str, Any] = named("sounds")
    played: list[float] = []
    channel = SimpleNamespace(play=played.append, set_volume=lambda share: None)
    free = [channel, channel]
    sounds["play"](HITS[0])
    player = sounds["play"].__globals__["player"]
    player.opening.join()
    player.tones = list(range(24))
    player.mixer = SimpleNamespace(find_channel=lambda: free.pop() if free else None)
    sounds["play"](Event("hit", 1.0, late_ms=300.0))
    sounds["play"](Event("hit", 1.0, strength=1e30))
    sounds["play"](Event("hit", 1.0, strength=0.0))
    sounds["play"](Event("hit", 1.0))
    assert played == [23, 0]
