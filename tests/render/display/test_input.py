"""Keys of any keyboard layout, from what a display tells of a press."""

from __future__ import annotations

import pytest

from twixt.render.display.input import NONE, Key, Keyboard, name_of
from twixt.render.input.keys import KEYS, bound

GERMAN = {place: place for place in "qwertuiopasdfghjklyxcvbnm,.-1234567890"} | {"[": "ü", "]": "+", ";": "ö"}
CYRILLIC = dict(zip("qwertyuiop[]asdfghjkl;'zxcvbnm,./", "йцукенгшщзхъфывапролджэячсмитьбю.", strict=True))


def keyboard(layout: dict[str, str]) -> Keyboard:
    return Keyboard(layout.values)


def press(layout: dict[str, str], place: str, *modifiers: str) -> Key:
    return keyboard(layout).press(layout[place], place, frozenset(modifiers), 7)


@pytest.mark.parametrize("place", [key.lower() for key in KEYS if len(key) == 1 and key != "."])
def test_a_layout_without_latin_letters_is_obeyed_by_place(place: str) -> None:
    assert bound(press(CYRILLIC, place)) == place.upper()


def test_a_character_that_the_layout_has_elsewhere_is_not_looked_for_in_its_american_place() -> None:
    assert bound(press(CYRILLIC, "/")) == "."
    assert bound(press(CYRILLIC, ".")) == ""
    assert press(GERMAN, "y").name == "Y"


def test_a_sign_that_a_layout_makes_with_altgr_alone_is_there_in_both_ways() -> None:
    assert bound(press(GERMAN, "[")) == "["
    german = keyboard(GERMAN)
    told = german.press("8", "8", NONE, 7)
    assert bound(told) == ""
    assert german.typed("[") == (told, Key("[", 7))
    windows = keyboard(GERMAN)
    windows.press("8", "8", frozenset(("Ctrl", "Alt")), 7)
    assert windows.typed("[") is not None, "where AltGr is told as Ctrl and Alt"
    assert bound(windows.press("8", "8", frozenset(("Ctrl", "Alt")), 7)) == ""


@pytest.mark.parametrize("modifier", ["Ctrl", "Alt", "Super"])
def test_with_a_modifier_no_key_does_anything(modifier: str) -> None:
    held = frozenset((modifier,))
    assert bound(press(GERMAN, "r", modifier)) == bound(press(CYRILLIC, "r", modifier)) == ""
    assert bound(keyboard(GERMAN).press_named("Space", held, 7)) == ""


def test_shift_makes_characters_and_is_no_modifier_of_letters() -> None:
    assert bound(press(GERMAN, "r", "Shift")) == "R"
    french = keyboard({",": ";"})
    told = french.press(";", ",", frozenset(("Shift",)), 7)
    assert french.typed(".") == (told, Key(".", 7))


def test_one_press_is_one_key_however_late_and_often_its_character_comes() -> None:
    german = keyboard(GERMAN)
    german.press("r", "r", NONE, 7)
    assert german.typed("r") is None
    assert german.typed("r") is None, "the key is held down"
    german.press_named("Space", NONE, 8)
    assert german.typed(" ") is None
    assert german.typed("한") is None, "an input method commits what belongs to no key"


def test_a_key_without_an_unshifted_character_is_told_once_it_makes_one() -> None:
    keypad = keyboard(GERMAN)
    assert keypad.press("", "", NONE, 7).name == ""
    assert keypad.typed(".") == (None, Key(".", 7))


AZERTY = dict(
    zip("1234567890-qwertyuiopasdfghjkl;'zxcvbnm,./", "&é\"'(-è_çà)azertyuiopqsdfghjklmùwxcvbn,;:!", strict=True)
)
DVORAK = dict(
    zip("-=qwertyuiop[]asdfghjkl;'zxcvbnm,./", "[]',.pyfgcrl/=aoeuidhtns-;qjkxbmwvz", strict=True),
    **{digit: digit for digit in "1234567890"},
)


def names_in(layout: dict[str, str], places: str) -> str:
    return "".join(name_of(layout[place], place) for place in places)


def test_a_key_has_the_name_of_its_character_in_the_users_layout() -> None:
    assert names_in(GERMAN, "qy8") == "qy8"
    assert names_in({"y": "z", "z": "y"}, "yz") == "zy"
    assert names_in(AZERTY, "qwaz") == "azqw"
    assert names_in(AZERTY, ";m,") == "m,;"


def test_a_key_that_types_another_character_is_named_as_on_a_us_keyboard() -> None:
    assert names_in(CYRILLIC, "qwasd[") == "qwasd["
    assert names_in(GERMAN, "[;") == "[;"
    assert name_of("", "q") == "q"
    assert name_of("", "") == name_of("ß", "") == ""


def test_the_row_of_digits_is_named_by_digits_although_a_layout_types_them_with_shift() -> None:
    assert names_in(AZERTY, "1234567890") == "1234567890"
    assert name_of("2", "1") == "2"


@pytest.mark.parametrize("layout", [AZERTY, DVORAK])
def test_no_two_keys_of_a_latin_layout_have_one_name(layout: dict[str, str]) -> None:
    names = names_in(layout, "".join(layout))
    assert len(set(names)) == len(layout)
