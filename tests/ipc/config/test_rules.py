"""How the texts of flags are read: what is taken as it stands, and how a wrong one is said to be written."""

from __future__ import annotations

import re
from typing import Any

import pytest

from twixt.ipc.config.rules import read_setting, read_size, read_split, read_stall


@pytest.mark.parametrize(
    ("read", "text", "says"),
    [
        (read_stall, "500", "write it as MS@SECONDS, such as 500@5"),
        (read_setting, "count", "write it as name=value, such as count=500"),
        (read_setting, "=5", "write it as name=value, such as count=500"),
        (read_setting, "my count=5", "write it as name=value, such as count=500"),
        (read_split, "none", "write it as LEFT,RIGHT, such as none,auto or @newest-two,@auto"),
        (read_split, "none,auto,none", "write it as LEFT,RIGHT, such as none,auto or @newest-two,@auto"),
    ],
)
def test_a_text_of_another_form_is_told_how_to_write_it(read: Any, text: str, says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        read(text)


@pytest.mark.parametrize(("read", "example"), [(read_stall, "500@5"), (read_setting, "count=500")])
def test_the_example_that_is_named_reads(read: Any, example: str) -> None:
    with pytest.raises(ValueError, match=f"such as {example}$"):
        read("")
    read(example)


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("rule=a=b", ("rule", "a=b")),
        ("name=", ("name", "")),
        ("list=1, 2", ("list", "1, 2")),
    ],
)
def test_the_first_equals_sign_ends_the_name_and_all_after_it_is_the_value(text: str, setting: tuple[str, str]) -> None:
    assert read_setting(text) == setting


@pytest.mark.parametrize(
    ("text", "size"), [("640x480", (640, 480)), ("640X480", (640, 480)), (" 640 x 480 ", (640, 480))]
)
def test_a_size_is_two_whole_numbers_around_an_x(text: str, size: tuple[int, int]) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["640", "x", "640x", "x480", "640x480x2", "640.5x480"])
def test_a_size_of_more_or_less_than_two_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_size(text)
