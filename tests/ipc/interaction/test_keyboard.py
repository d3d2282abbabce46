"""Names of keys, and which keys are down in several viewers."""

from __future__ import annotations

from typing import Any

import pytest

from twixt.ipc.errors import TwixtError
from twixt.ipc.interaction.events import MOST_KEY
from twixt.ipc.interaction.keyboard import BOTH_SIDES, CHARACTERS, KEY_NAMES, KeyStates, names_of


def test_every_key_of_glfw_has_a_name_of_its_own() -> None:
    glfw = pytest.importorskip("glfw")
    codes = {
        code for name, code in vars(glfw).items() if name.startswith("KEY_") and name not in ("KEY_UNKNOWN", "KEY_LAST")
    }
    assert set(KEY_NAMES) == codes
    assert len(set(KEY_NAMES.values())) == len(codes)
    assert max(codes) <= MOST_KEY


def test_letters_and_signs_are_named_by_their_characters_and_the_others_by_words() -> None:
    named = {code: KEY_NAMES[code] for code in (65, 90, 48, 91, 96, 32, 256, 263, 290, 314, 320, 335, 340, 345)}
    assert list(named.values()) == [
        "a", "z", "0", "[", "`", "space", "escape", "left", "f1", "f25", "keypad_0", "keypad_enter", "left_shift",
        "right_ctrl",
    ]  # fmt: skip
    assert {name for name in KEY_NAMES.values() if len(name) == 1} == CHARACTERS


def test_a_name_stands_for_itself_and_the_modifiers_for_both_sides() -> None:
    assert names_of("left") == ("left",)
    assert {names_of(key) for key in ("shift", "ctrl", "alt", "super")} == set(BOTH_SIDES.values())
    assert names_of("shift") == ("left_shift", "right_shift")
    assert {name for both in BOTH_SIDES.values() for name in both} <= set(KEY_NAMES.values())


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("Left", 'did you mean "left"?'), ("A", 'did you mean "a"?'), (" ", 'did you mean "space"?'),
        ("esc", 'did you mean "escape"?'), ("return", 'did you mean "enter"?'), ("page up", 'did you mean "page_up"?'),
        ("", ""), (65, ""), (None, ""), (["a"], ""), ("ß", ""),
    ],
)  # fmt: skip
def test_another_word_is_refused_with_the_word_that_was_meant(key: Any, hint: str) -> None:
    with pytest.raises(TwixtError) as refused:
        names_of(key)
    said = str(refused.value)
    assert "a key must be named by its character" in said
    assert f"got {key!r}" in said
    assert said.endswith(hint or repr(key))


def test_a_key_is_down_while_any_viewer_holds_it() -> None:
    keys = KeyStates()
    keys.press("one", 65, "a")
    keys.press("other", 65, "a")
    keys.press("other", 66, "b")
    assert (keys.down, keys.presses) == ({"a", "b"}, {"a": 2, "b": 1})
    keys.release("one", 65)
    assert keys.down == {"a", "b"}
    assert keys.release_all("other") == {65: "a", 66: "b"}
    assert (keys.down, keys.presses) == (set(), {"a": 2, "b": 1})


def test_two_keys_of_one_name_are_told_apart() -> None:
    keys = KeyStates()
    keys.press("one", 45, "-")
    keys.press("one", 47, "-")
    keys.release("one", 45)
    assert keys.down == {"-"}
    keys.release("one", 47)
    assert keys.down == set()


def test_a_release_without_a_press_changes_nothing() -> None:
    keys = KeyStates()
    keys.release("one", 65)
    assert keys.release_all("one") == {}
    assert (keys.down, keys.presses) == (set(), {})
