"""The command line: what it offers, and what it loads for that."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from twixt.cli.command_line import commands, group
from twixt.cli.flags import flags_of
from twixt.ipc.config.flags import BOTH, MEASURE, SIM, VIEW, Config, flag_name
from twixt.ipc.session import open_listener
from twixt.sim.worlds import WORLDS

ROOT = Path(__file__).parents[2]
# A press of Tab, a cry for help: neither waits for these.
HEAVY = {"numpy", "glfw", "moderngl", "imgui_bundle", "matplotlib", "rich"}
SAYS_WHAT_IS_LOADED = f"""
import atexit, os, sys
atexit.register(lambda: print("LOADED", *sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr))
sys.path.append({str(ROOT)!r})
import twixt
sys.exit(twixt.main(sys.argv[1:]))
"""


def loaded_by(*arguments: str, **variables: str) -> tuple[str, list[str]]:
    """What a command says, and the heavy libraries it loaded for that."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", SAYS_WHAT_IS_LOADED, *arguments],
        env={**os.environ, **variables}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, ended.stderr.split("LOADED", 1)[1].split()


def completed(words: str, **variables: str) -> list[str]:
    """What a shell offers for the last of these words, which may be empty; nothing heavy is loaded for it."""
    typed = words.split(" ")
    said, loaded = loaded_by(
        _TWIXT_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(typed) - 1), **variables
    )
    assert not loaded
    return [line.split(",", 1)[1] for line in said.splitlines() if line]


@pytest.mark.parametrize(
    "arguments",
    ["--help", "--version", "run --help", "measure -h", "view --help", "worlds"],
)
def test_what_tells_about_twixt_loads_no_numpy(arguments: str) -> None:
    said, loaded = loaded_by(*arguments.split())
    assert said
    assert not loaded


def test_a_shell_completes_commands_and_the_worlds_of_the_default_one() -> None:
    offered = completed("twixt ")
    assert set(commands) | set(WORLDS) == set(offered)
    assert completed("twixt me") == ["measure", "metronome"]
    assert "--slow-physics" in completed("twixt --s")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("twixt run ba", ["balls"]),
        ("twixt measure metro", ["metronome"]),
        ("twixt run --clock ", ["auto", "ahead", "newest-two", "buffered"]),
        ("twixt balls --interpolation he", ["hermite"]),
        ("twixt view --pac", ["--pacing"]),
        ("twixt view --stil", ["--still-view"]),
        ("twixt sim --ste", ["--steps"]),
        ("twixt run --log frames", ["frames"]),
        ("twixt run --trails a", ["all"]),
    ],
)
def test_a_shell_completes_worlds_flags_and_choices(words: str, offered: list[str]) -> None:
    assert completed(words) == offered


def test_a_shell_completes_the_simulations_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert completed("twixt view ") == []
    listener = open_listener("lab")
    try:
        assert completed("twixt view ") == ["lab"]
    finally:
        listener.close()


def names_of(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts}


@pytest.mark.parametrize(
    ("name", "sides", "own"),
    [
        ("run", (BOTH, SIM, VIEW), {"world", "--web", "--full"}),
        ("measure", (BOTH, SIM, VIEW, MEASURE), {"world", "--web", "--against", "--repeat", "--full"}),
        ("sim", (BOTH, SIM), {"world", "--web", "--steps", "--hash", "--json"}),
        ("view", (BOTH, VIEW), {"name", "--wait", "--web", "--full"}),
        ("report", (), {"log", "--json", "--plot", "--full"}),
        ("compare", (), {"a", "b", "--plot"}),
        (
            "serve",
            (),
            {
                "name",
                "--port",
                "--host",
                "--cert",
                "--key",
                "--plain",
                "--allow-host",
                "--allow-origin",
                "--allow-control",
                "--seconds",
            },
        ),
        ("doctor", (), set()),
        ("worlds", (), set()),
    ],
)
def test_each_command_has_its_options(name: str, sides: tuple[str, ...], own: set[str]) -> None:
    flags = {flag.opts[0] for flag in flags_of(*sides)}
    assert names_of(commands[name].build(name)) == flags | own


def test_every_field_of_a_config_that_has_a_side_is_a_flag_of_some_command() -> None:
    said = set().union(*(names_of(entry.build(name)) for name, entry in commands.items()))
    fields = {item: field for item, field in Config.__dataclass_fields__.items() if field.metadata}
    assert fields
    assert {flag_name(name) for name in fields} <= said


def config_of(words: str) -> dict[str, Any]:
    """Values of the options and arguments of `twixt run` in these words."""
    return commands["run"].build("run").make_context("run", words.split()).params


@pytest.mark.parametrize(
    ("words", "trails", "world"),
    [
        ("circles", None, "circles"),
        ("circles --trails", 1.0, "circles"),
        ("--trails circles", 1.0, "circles"),
        ("--trails my_module:World", 1.0, "my_module:World"),
        ("--trails infinite_ones:World", 1.0, "infinite_ones:World"),
        ("--trails --fps 30", 1.0, "balls"),
        ("--trails -- circles", 1.0, "circles"),
        ("--trails 5", 5.0, "balls"),
        ("circles --trails .5 --fps 30", 0.5, "circles"),
        ("--trails all circles", "all", "circles"),
        ("--trails=all circles", "all", "circles"),
        ("--trails=2e1", 20.0, "balls"),
    ],
)
def test_a_flag_may_be_given_without_its_value(words: str, trails: Any, world: str) -> None:
    read = config_of(words)
    assert (read["trails"], read["world"]) == (trails, world)


@pytest.mark.parametrize("value", ["alll", "ALL", "5s", "-x", "1,5"])
def test_a_misspelled_value_of_such_a_flag_is_named(value: str) -> None:
    for words in (f"--trails {value}", f"--trails={value}"):
        if words == "--trails -x":
            continue  # another flag
        with pytest.raises(click.BadParameter, match=f"must be SECONDS.all, got '{value}' .write seconds, such as"):
            config_of(words)


def test_a_negative_value_of_such_a_flag_is_no_flag() -> None:
    assert config_of("--trails -5")["trails"] == -5.0  # which `Config` refuses


@pytest.mark.parametrize(
    ("words", "camera", "world"),
    [("circles", "auto", "circles"), ("--still-view circles", "still", "circles"), ("--still-view", "still", "balls")],
)
def test_a_switch_sets_the_word_that_a_program_passes(words: str, camera: str, world: str) -> None:
    read = config_of(words)
    assert (read["camera"], read["world"]) == (camera, world)


@pytest.mark.parametrize("name", ["run", "measure", "view"])
def test_the_help_lists_a_switch_without_a_value(name: str) -> None:
    said = CliRunner().invoke(commands[name].build(name), ["--help"]).output
    assert re.search(r"\n  --still-view  +keep the first view;", said)


def test_a_switch_takes_no_value() -> None:
    with pytest.raises(click.BadOptionUsage, match="--still-view"):
        config_of("--still-view=auto")


def test_the_help_of_the_whole_names_every_command() -> None:
    said = group().get_help(click.Context(group(), info_name="twixt"))
    assert all(f"\n  {name} " in said for name in commands)


def test_only_the_command_that_is_asked_for_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    made = type(commands["run"]).build

    def noted(entry: object, name: str) -> click.Command:
        built.append(name)
        return made(entry, name)  # type: ignore[arg-type]

    monkeypatch.setattr(type(commands["run"]), "build", noted)
    group().main(["worlds"], standalone_mode=False)
    assert built == ["worlds"]
