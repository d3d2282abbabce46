"""Pages that are made from the code: docs/reference.md from the docstrings, docs/command-line.md from --help."""

from __future__ import annotations

import re

import pytest

import twixt
from docs import command_line, reference
from twixt import mujoco_viewer
from twixt.ipc import errors
from twixt.ipc.scene.mesh_files import VARIABLE
from twixt.sim.process.viewer_command import PYTHON_VARIABLE

REMEDY = "{} is not what the code gives; make reference writes it again"


@pytest.mark.slow
def test_the_reference_has_the_present_docstrings() -> None:
    assert reference.PAGE.read_text() == reference.page(), REMEDY.format(reference.PAGE)


def test_the_reference_has_all_public_names() -> None:
    names = [name for _, group in reference.GROUPS.values() for name in group]
    assert len({*names}) == len(names)
    assert {name for name in names if "." not in name} - reference.NOT_IMPORTED.keys() == {*twixt.__all__}
    engine = {f"mujoco_viewer.{name}" for name in mujoco_viewer.__all__}
    assert {name for name in names if name.startswith("mujoco_viewer.")} == engine


def test_text_of_a_docstring_becomes_markdown() -> None:
    text = "See `show` and `twixt.View.publish`, not `show` of <others>:\n\n    show()\n\nA sum is\n1 + 2."
    assert reference.prose(text, "show") == (
        "See `show` and [`twixt.View.publish`](#viewpublish), not `show` of \\<others>:\n\n    show()\n\nA sum is 1 + 2."
    )


def test_no_wrapped_line_begins_with_a_sign_of_markdown() -> None:
    text = "x" * (reference.WIDTH - 3) + " y + z and 1. other"
    assert [line[:1] for line in reference.wrapped(text).splitlines()] == ["x", "y"]


def test_the_command_line_page_has_the_present_help() -> None:
    text = command_line.PAGE.read_text()
    assert text == command_line.page(text), REMEDY.format(command_line.PAGE)


def test_the_command_line_page_has_the_exit_codes_and_variables() -> None:
    text = command_line.PAGE.read_text()
    without = errors.WITHOUT_DISPLAY
    codes = {errors.FINISHED, errors.FAILED, errors.REFUSED, without, errors.INTERRUPTED, errors.READER_GONE}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == codes
    assert f"`{PYTHON_VARIABLE}`" in text
    assert f"`{VARIABLE}`" in text
