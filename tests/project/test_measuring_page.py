"""docs/measuring.md states all keys of the report, all columns of the frame log, and the limits of the code."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from bench.pages import BEGIN
from tests.long.injected import machine, page
from twixt.cli.command_line import commands
from twixt.ipc.config.troubles import LONGEST_DELAY_MS, LONGEST_MS, PRESETS, Troubles
from twixt.render.measure import evenness, frame_log, report_keys, run_figures, summary
from twixt.sim.publish import publisher

PAGE = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text()
TEXT = re.sub(r"\s+", " ", PAGE)


def part(title: str) -> str:
    """The text below a heading of the page."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        (r"if at most (\S+) % of the frames are bad", (100 * summary.MOST_BAD_SHARE,)),
        (r"fall due within (\S+) s before and after", (evenness.HALF_WINDOW_NS / 1e9,)),
        (r"frames within (\S+) s of a pause", (evenness.HALF_WINDOW_NS / 1e9,)),
        (r"unknown or below (\S+) also has no animation error", (evenness.LEAST_RATE,)),
        (r"its animation error is above (\S+) ms", (run_figures.BAD_ERROR_MS,)),
        (r"woke more than (\S+) ms late", (run_figures.LATE_WAKE_MS,)),
        (r"visible more than (\S+) ms after they were due", (publisher.LATE_NS / 1e6,)),
        (
            r"keeps the newest (\S+) frames \((\S+) minutes at 60 fps\)",
            (frame_log.KEPT_FRAMES, frame_log.KEPT_FRAMES // 3600),
        ),
        (r"20 to 120 ms \(at most (\S+) ms\)", (LONGEST_MS,)),
        (r"stay in order \(at most (\S+) ms\)", (LONGEST_DELAY_MS,)),
        (r"At least (\S+)% of the undisturbed cases", (100 * page.ENOUGH,)),
        (r"from (\S+) ms before the first frame that the trouble", (machine.MARGIN_NS / 1e6,)),
        (
            r"other programs ran for more than (\S+) ms while twixt waited for a core for more than (\S+) ms",
            (machine.OTHERS_MS, machine.WAITED_MS),
        ),
        (r"fewer than (\S+) in 1,000 undisturbed frames", (1000 * page.MOST_BAD,)),
        (r"wake error is below (\S+) ms", (page.QUIET_WAKE_US / 1e3,)),
    ],
)
def test_the_page_states_the_numbers_of_the_code(sentence: str, values: tuple[float, ...]) -> None:
    found = re.search(sentence, TEXT)
    assert found is not None, sentence
    assert [float(number.replace(",", "")) for number in found.groups()] == pytest.approx(list(values))


def test_the_page_has_all_keys_of_the_report() -> None:
    for section, keys in report_keys.SECTIONS.items():
        (row,) = (line for line in part("The report").splitlines() if line.startswith(f"| `{section}` |"))
        for key, kind in keys.items():
            assert f"`{key}{'{}' if kind == report_keys.SPREAD else ''}`" in row, f"{section}.{key}"
    assert [name for name in (*report_keys.HEAD, report_keys.SCHEMA) if f"`{name}`" not in PAGE] == []
    assert [name for name in report_keys.OLDER_SCHEMAS if f"`{name}`" not in PAGE] == []
    for name, definition in report_keys.LOW_1_PERCENT.items():
        assert f"| `{name}` | {definition.removeprefix('the ')} |" in PAGE
    assert [name for name in report_keys.RENDER_COSTS if f"| `{name}` |" not in PAGE] == []
    assert [sign for sign in report_keys.OPERATORS if f"`{sign}`" not in PAGE] == []


def test_the_page_has_all_columns_of_the_frame_log() -> None:
    log = part("The frame log")
    assert [name for name in frame_log.HEADER if f"`{name}`" not in log] == []
    assert "first fifteen columns" in log
    assert len(frame_log.PRESENTMON) == 15


def test_the_page_has_all_sources_of_present_times() -> None:
    assert [name for name in run_figures.PRESENTS if f"| `{name}` |" not in PAGE] == []


def test_the_page_has_the_flags_of_each_preset() -> None:
    fields = {field.name for field in dataclasses.fields(Troubles)}
    for name, preset in PRESETS.items():
        (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `--trouble {name}` |"))
        words = re.findall(r"`(--.*?)`", row)[-1].split()
        read = commands["run"].build("run").make_context("run", words).params
        assert Troubles(**{field: read[field] for field in fields if read[field] is not None}) == preset


def test_the_page_has_the_marker_line_of_its_figures() -> None:
    assert BEGIN in PAGE
