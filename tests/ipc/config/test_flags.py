"""What a run can be told: how the texts of flags read, the rules their values keep, and presets."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twixt.ipc.config.flags import BOTH, CLOCKS, INTERPOLATIONS, VIEW, WINDOW, Config, flag, flag_name
from twixt.ipc.config.rules import (
    ConfigError,
    read_auto_ms,
    read_delay,
    read_range_ms,
    read_setting,
    read_size,
    read_split,
    read_stall,
    read_trails,
)
from twixt.ipc.config.troubles import LONGEST_DELAY_MS, LONGEST_MS, PRESETS, Troubles, breaks_rule


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (read_range_ms, "40", (40, 40)),
        (read_range_ms, "20-120", (20, 120)),
        (read_stall, "500@5", (500, 5)),
        (read_stall, "0", (0, 1)),
        (read_delay, "80", (80, 0)),
        (read_delay, "80+-20", (80, 20)),
        (read_delay, "80±20", (80, 20)),
        (read_size, "800x600", (800, 600)),
        (read_auto_ms, "auto", None),
        (read_auto_ms, "33.5", 33.5),
        (read_trails, "all", "all"),
        (read_trails, "0.5", 0.5),
        (read_setting, "count=500", ("count", "500")),
        (read_split, "none,auto", (("none", ""), ("auto", ""))),
        (read_split, "auto@newest-two, auto@auto", (("auto", "newest-two"), ("auto", "auto"))),
        (read_split, "@buffered,@auto", (("", "buffered"), ("", "auto"))),
        (read_split, "my.blend:Ease,none", (("my.blend:Ease", ""), ("none", ""))),
    ],
)
def test_a_text_reads_as_its_value(read: Any, text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_range_ms, "20-"),
        (read_stall, "500"),
        (read_stall, "@"),
        (read_delay, "80+-"),
        (read_delay, "80-20"),
        (read_trails, "alll"),
        (read_trails, ""),
        (read_setting, "=5"),
        (read_split, "none"),
        (read_split, "none,auto,linear"),
    ],
)
def test_a_text_of_another_form_is_a_value_error(read: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(text)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            {"interpolation": "cubic"},
            "--interpolation must be one of auto, hermite, .* or your own module:Class, got 'cubic'",
        ),
        ({"interpolation": "my blend:Ease"}, "got 'my blend:Ease'"),
        ({"viewer_nice": 20}, "--viewer-nice must be a whole number from 0 .* to 19 .*, got 20"),
        ({"viewer_nice": -1}, "--viewer-nice must be .* got -1"),
        ({"viewer_nice": 1.5}, "--viewer-nice must be .* got 1.5"),
        ({"viewer_nice": True}, "--viewer-nice must be .* got True"),
        ({"clock": "late"}, "--clock must be one of auto, ahead, newest-two, buffered, got 'late'"),
        ({"prefer": "speed"}, "--prefer must be one of latency, balanced, smooth, got 'speed'"),
        ({"split": (("none", ""), ("cubic", ""))}, "the method of a half of --split must be one of .* got 'cubic'"),
        ({"split": (("none", "late"), ("", ""))}, "the clock of a half of --split must be one of .* got 'late'"),
        ({"buffer_ms": -1.0}, "--buffer-ms must be a finite number >= 0 and <= 60000, got -1.0"),
        ({"buffer_ms": 1e300}, "--buffer-ms must be a finite number >= 0 and <= 60000, got 1e\\+300"),
        ({"slow_render_ms": 1e300}, "--slow-render must be a finite number >= 0 and <= 60000, got 1e\\+300"),
        ({"fps": 1e-300}, "--fps must be at least 0.1 Hz, got 1e-300"),
        ({"publish_hz": 1e-300}, "--publish-hz must be at least 0.1 Hz, got 1e-300"),
        ({"name": "\u0663"}, "--name must be 1 to 64 letters, digits, - or _, got '\u0663'"),
        ({"seconds": 1e300}, r"--seconds must be at most 1e\+09, got 1e\+300"),
        ({"chase_ms": 1e300}, "--chase-ms must be at most 60000"),
        ({"chase_ms": 0.0}, "--chase-ms must be a finite number > 0, got 0.0"),
        ({"draw": "marks"}, "--draw must be module:function, such as my_marks:draw, got 'marks'"),
        ({"slow_physics_ms": (120.0, 20.0)}, r"--slow-physics must be .*shortest <= longest.*, got 120-20"),
        ({"stall": (500.0, 0.0)}, r"--stall must be length in ms and interval in seconds .*, got 500@0"),
        ({"stall": (1e9, 5.0)}, r"--stall must be .* <= 60000 "),
        ({"drop_percent": 101.0}, "--drop must be a percentage, 0 <= percent <= 100, got 101.0"),
        ({"drop_percent": float("nan")}, "--drop must be .* got nan"),
        ({"delay_ms": (20.0, 80.0)}, r"--delay must be mean and jitter in ms, 0 <= jitter <= mean .*, got 20\+-80"),
        ({"delay_ms": (9000.0, 2000.0)}, "mean \\+ jitter <= 10000"),
        ({"trouble": "storm"}, "--trouble must be one of lan, wifi, mobile, slow, stalls, got 'storm'"),
        ({"when_slow": "stop"}, "--when-slow must be one of dilate, widen, got 'stop'"),
        ({"max_step_ms": 50.0}, "--max-step-ms 50 needs --when-slow widen; add that, or leave out --max-step-ms"),
        ({"max_step_ms": 0.0, "when_slow": "widen"}, "--max-step-ms must be a finite number > 0"),
        ({"dt_replay": "x", "when_slow": "widen"}, "leave one out"),
        ({"seed": -1}, "--seed must be a whole number >= 0, got -1"),
        ({"size_px": (5, 600)}, "--size must be from 16x16 to 16384x16384, got 5x600"),
        ({"size_px": 600}, r"--size must be two values, \(width, height\), got 600"),
        ({"size_px": (800.5, 600)}, r"--size must be whole numbers of pixels, got \(800.5, 600\)"),
        ({"name": "a/b"}, "--name must be 1 to 64 letters, digits, - or _, got 'a/b'"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_flag_rule_and_value(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Config(**values)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"lead_ms": -1.0}, "--lead must be a finite number >= 0, got -1.0"),
        ({"at_s": float("inf")}, "--at must be a finite number >= 0, got inf"),
        ({"seconds": float("inf")}, "--seconds must be a finite number > 0, got inf"),
        ({"seconds": "five"}, "--seconds must be a finite number > 0, got 'five'"),
        ({"fps": 0.0}, "--fps must be a finite number > 0, got 0.0"),
        ({"pacing": "fast"}, "--pacing must be one of auto, vsync, timer, unlimited, got 'fast'"),
        ({"camera": "stil"}, "camera must be one of auto, still, got 'stil'"),
        ({"camera": 3}, "camera must be one of auto, still, got 3"),
        ({"camera": None}, "camera must be one of auto, still, got None"),
        (
            {"dt_replay": "steps", "when_slow": "widen"},
            "--dt-replay cannot be combined with --when-slow widen, because the log sets each step's length; "
            "leave one out",
        ),
        (
            {"split": "none"},
            '--split must be two values, such as (("none", ""), ("auto", "")), got \'none\'',
        ),
        (
            {"split": ("none", "auto")},
            "each half of --split must be two values, (method, clock); \"\" is the method or clock of the run, got 'none'",
        ),
    ],
)
def test_a_refusal_is_one_sentence_of_flag_rule_and_value(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Config(**values)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("field", "first", "last", "below", "above"),
    [
        ("fps", 0.1, 1e9, 0.0999, 1.001e9),
        ("publish_hz", 0.1, 1e9, 0.0999, 1.001e9),
        ("seconds", 1e-9, 1e9, 0.0, 1.001e9),
        ("chase_ms", 1e-9, 60_000.0, 0.0, 60_001.0),
        ("buffer_ms", 0.0, 60_000.0, -0.001, 60_001.0),
        ("slow_render_ms", 0.0, 60_000.0, -0.001, 60_001.0),
        ("lead_ms", 0.0, 1e12, -0.001, float("inf")),
        ("at_s", 0.0, 1e12, -0.001, float("inf")),
    ],
)
def test_a_bound_is_still_allowed_and_what_is_beyond_is_not(
    field: str, first: float, last: float, below: float, above: float
) -> None:
    for value in (first, last):
        assert getattr(Config(**{field: value}), field) == value  # type: ignore[arg-type]
    for value in (below, above, float("nan"), "1"):
        with pytest.raises(ConfigError, match=f"^{flag_name(field)} must be "):
            Config(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("size_px", [(16, 16), (16, 16384), (16384, 16), (16384, 16384)])
def test_a_window_may_be_as_small_and_as_large_as_is_said(size_px: tuple[int, int]) -> None:
    assert Config(size_px=size_px).size_px == size_px


@pytest.mark.parametrize("size_px", [(15, 16), (16, 15), (16385, 600), (800, 16385)])
def test_a_window_is_no_smaller_and_no_larger(size_px: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=f"from 16x16 to 16384x16384, got {size_px[0]}x{size_px[1]}$"):
        Config(size_px=size_px)


@pytest.mark.parametrize("name", ["lab", "Lab2", "my-lab", "my_lab", "-a_", "x" * 64, "-" * 63 + "x"])
def test_a_name_may_be_of_letters_digits_dashes_and_underscores(name: str) -> None:
    assert Config(name=name).name == name


@pytest.mark.parametrize("name", ["", "-", "_", "-_", "my lab", "../lab", "x" * 65, 5, ["lab"]])
def test_a_name_that_is_no_word_or_too_long_or_no_text_is_refused(name: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        Config(name=name)
    assert str(refused.value) == f"--name must be 1 to 64 letters, digits, - or _, got {name!r}"


@pytest.mark.parametrize("method", [*INTERPOLATIONS, "my_blend:Ease", "my.blend:Ease"])
@pytest.mark.parametrize("clock", CLOCKS)
def test_every_method_and_clock_is_taken(method: str, clock: str) -> None:
    assert Config(interpolation=method, clock=clock, split=((method, clock), ("", ""))).interpolation == method


def test_a_switch_may_be_a_bool_of_numpys() -> None:
    assert not Config.from_json(Config(overlay=np.False_).to_json()).overlay  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="--overlay must be True or False, got 1"):
        Config(overlay=1)


@pytest.mark.parametrize(
    ("trails", "seconds"),
    [(None, 1), (False, 1), (True, 1), (1, 1), (5.0, 5), (0.25, 0.25), (1e9, 1e9), ("all", float("inf"))],
)
def test_trails_are_a_switch_or_have_a_length(trails: Any, seconds: float) -> None:
    for config in (Config(trails=trails), Config.from_json(Config(trails=trails).to_json())):
        assert (config.trails, config.trail_seconds) == (trails, seconds)
    assert Config.from_json(Config(trails=np.True_).to_json()).trails is True  # type: ignore[arg-type]
    assert Config.from_json(Config(trails=np.float32(5)).to_json()).trails == 5.0  # type: ignore[arg-type]


@pytest.mark.parametrize("trails", [0, -1.0, float("nan"), float("inf"), 1.1e9, "alll", "5", (), [5.0]])
def test_trails_of_another_length_are_refused(trails: Any) -> None:
    with pytest.raises(ConfigError) as refused:
        Config(trails=trails)
    said = '--trails must be a number of seconds > 0 and <= 1e+09, or "all", got '
    assert str(refused.value) == f"{said}{trails!r}"


def test_a_config_crosses_to_the_other_process_whole() -> None:
    config = Config(
        settings=(("count", "5"),),
        stall=(500, 5),
        delay_ms=(80, 20),
        drop_percent=5,
        trouble="wifi",
        split=(("none", ""), ("auto", "newest-two")),
        when_slow="widen",
        max_step_ms=50,
        buffer_ms=33,
        trails=True,
        draw="marks:draw",
        camera="still",
    )
    assert Config.from_json(config.to_json()) == config


def test_a_path_and_a_number_of_numpys_cross_as_what_they_say(tmp_path: Path) -> None:
    given: Any = {"log": tmp_path / "frames.csv", "fps": np.float32(60), "size_px": (np.int64(640), 480)}
    crossed = Config.from_json(Config(**given).to_json())
    assert crossed == Config(log=str(tmp_path / "frames.csv"), fps=60.0, size_px=(640, 480))
    assert [type(each) for each in (crossed.log, crossed.fps, *crossed.size_px)] == [str, float, int, int]


def test_what_no_text_can_say_does_not_cross() -> None:
    given: Any = object()
    with pytest.raises(TypeError):
        Config(command=given).to_json()


def test_a_flag_is_a_field_with_a_default_that_says_how_it_is_typed() -> None:
    @dataclasses.dataclass
    class Own:
        plain: int = flag(5, "how many")
        full: float = flag(
            0.5, "how much", float, "MS", side=VIEW, heading=WINDOW, choices=("0.5", "1"), name="--much", bare="1",
            stores="on",
        )  # fmt: skip

    assert (Own().plain, Own().full) == (5, 0.5)
    plain, full = dataclasses.fields(Own)
    nothing_said = {"heading": "", "read": None, "metavar": "", "choices": (), "name": "", "bare": "", "stores": ""}
    assert plain.metadata == {"help": "how many", "side": BOTH} | nothing_said
    said = {"heading": WINDOW, "read": float, "metavar": "MS", "choices": ("0.5", "1"), "name": "--much"}
    said |= {"bare": "1", "stores": "on"}
    assert full.metadata == {"help": "how much", "side": VIEW} | said


def test_every_flag_has_help_and_a_heading() -> None:
    for item in dataclasses.fields(Config):
        if item.metadata:
            assert item.metadata["help"], item.name
            assert item.metadata["heading"], item.name
            assert flag_name(item.name).startswith("--")


# -- troubles and presets


def test_flags_win_over_a_preset_and_nothing_is_nothing() -> None:
    assert Config().troubles == Troubles()
    assert Config(trouble="mobile").troubles == PRESETS["mobile"]
    mixed = Config(trouble="mobile", drop_percent=0.0, stall=(0, 1), slow_physics_ms=(1, 2)).troubles
    assert mixed == Troubles((1, 2), None, 0.0, PRESETS["mobile"].delay_ms)
    assert Config(slow_physics_ms=(0, 0), delay_ms=(0, 0)).troubles == Troubles()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_keeps_the_rules(name: str) -> None:
    troubles = PRESETS[name]
    assert troubles == troubles.tidy() != Troubles()
    Config(
        slow_physics_ms=troubles.slow_physics_ms,
        stall=troubles.stall,
        drop_percent=troubles.drop_percent,
        delay_ms=troubles.delay_ms,
    )


numbers = (
    st.floats(allow_nan=True, allow_infinity=True) | st.integers() | st.booleans() | st.none() | st.text(max_size=3)
)


@given(st.sampled_from(["slow_physics", "stall", "drop", "delay"]), numbers | st.lists(numbers, max_size=3))
def test_whatever_keeps_a_rule_is_always_finite_and_bounded(kind: str, value: Any) -> None:
    if breaks_rule(kind, value) or value is None:
        return
    if kind == "drop":
        assert 0 <= value <= 100
    else:
        assert len(value) == 2
        assert all(0 <= each <= 86_400 for each in value)
        assert value[0] <= {"slow_physics": LONGEST_MS, "stall": LONGEST_MS, "delay": LONGEST_DELAY_MS}[kind]


# -- files


def test_files_to_be_written_need_a_folder_before_the_run(tmp_path: Path) -> None:
    Config(dt_log=str(tmp_path / "steps"), dt_replay="nowhere/steps").check_files()
    with pytest.raises(ConfigError, match=r"--dt-log .* the folder .* does not exist"):
        Config(dt_log="nowhere/steps").check_files()


def test_a_file_needs_a_name_a_folder_and_a_picture_an_ending(tmp_path: Path) -> None:
    for field, path, said in (
        ("log", "", "--log must be a file name, got ''"),
        ("json", str(tmp_path), "--json .* cannot be written"),
        ("screenshot", str(tmp_path / "picture"), "--screenshot writes a PNG file, .* name it .*picture.png"),
        ("plot", str(tmp_path / "plot.txt"), "--plot writes a PNG file"),
    ):
        with pytest.raises(ConfigError, match=said):
            Config(**{field: path}).check_files()  # type: ignore[arg-type]
    Config(screenshot=str(tmp_path / "Picture.PNG"), plot=str(tmp_path / "plot.png"), log="log").check_files()


@pytest.mark.parametrize("can", [True, False])
def test_a_file_that_is_there_needs_to_be_written_itself_whatever_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can: bool
) -> None:
    there = tmp_path / "device"
    there.touch()
    writable = there if can else tmp_path
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) == writable)
    if can:
        Config(log=str(there)).check_files()
    else:
        with pytest.raises(ConfigError, match="--log .*device' cannot be written; name another file"):
            Config(log=str(there)).check_files()


def test_a_file_is_named_by_a_text_or_a_path(tmp_path: Path) -> None:
    path: Any = tmp_path / "frames.csv"
    Config(log=path, plot=path.with_suffix(".png")).check_files()
    path = tmp_path / "nowhere" / "frames.csv"
    with pytest.raises(ConfigError) as refused:
        Config(log=path).check_files()
    folder = str(path.parent)
    assert str(refused.value) == (
        f"--log {str(path)!r}: the folder {folder!r} does not exist; create it, or name another file"
    )
    path = 5
    with pytest.raises(ConfigError, match=r"^--log must be a file name, got 5$"):
        Config(log=path).check_files()


def test_a_dash_is_standard_output_whatever_has_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").mkdir()
    Config(json="-").check_files()
    with pytest.raises(ConfigError, match=r"^--json './-' cannot be written; name another file$"):
        Config(json="./-").check_files()


@pytest.mark.parametrize("field", ["log", "screenshot", "plot", "dt_log"])
def test_nothing_but_json_is_written_to_standard_output(field: str) -> None:
    flag = "--" + field.replace("_", "-")
    with pytest.raises(ConfigError, match=rf"^{flag} -: only --json can write to standard output; name a file$"):
        Config(**{field: "-"}).check_files()  # type: ignore[arg-type]
