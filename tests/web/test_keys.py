"""The page's keyboard: names and codes of keys, keys of the page, and keys of the program."""

from __future__ import annotations

from typing import Any

from tests.web.in_node import run_in_node
from twixt.ipc.interaction.keyboard import KEY_NAMES
from twixt.render.input.keys import KEYS

# Each case is a keyboard of its own: its status, and acts. An act is a key event, or "releases".
SCRIPT = """
const {Keyboard} = await import(WEB + "user_input.js");
answer(given.map(({status = {paused: false}, acts, hasKeys = true, layout = {}, control = null}) => {
  const keyboard = new Keyboard();
  keyboard.hasKeys = hasKeys;
  keyboard.layout = new Map(Object.entries(layout));
  keyboard.reflect(status);
  const none = {shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, repeat: false, isComposing: false};
  if (acts[0] === "help") return [keyboard.help];
  return acts.map((act) => act === "releases" ? keyboard.releases() : keyboard.stroke({...none, ...act}, control));
}));
"""
LISTENS = {"paused": False, "listens": True}
OWN_LOOP = {"listens": True}

# `KeyboardEvent.code` of each key on a US keyboard that has another name there than in GLFW.
CODES = {
    "'": "Quote", ",": "Comma", "-": "Minus", ".": "Period", "/": "Slash", ";": "Semicolon", "=": "Equal",
    "[": "BracketLeft", "\\": "Backslash", "]": "BracketRight", "`": "Backquote", "world_1": "IntlBackslash",
    "world_2": "IntlRo", "left_ctrl": "ControlLeft", "right_ctrl": "ControlRight", "left_super": "MetaLeft",
    "right_super": "MetaRight", "menu": "ContextMenu", "left_shift": "ShiftLeft", "right_shift": "ShiftRight",
    "left_alt": "AltLeft", "right_alt": "AltRight",
}  # fmt: skip
ARROWS = ("left", "right", "up", "down")


def code_of(name: str) -> str:
    if name in CODES:
        return CODES[name]
    if len(name) == 1:
        return f"Digit{name}" if name.isdigit() else f"Key{name.upper()}"
    words = "".join(word.capitalize() for word in name.split("_"))
    return f"Arrow{words}" if name in ARROWS else words.replace("Keypad", "Numpad")


def down(key: str, code: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "keydown", "key": key, "code": code or code_of(key), **more}


def up(key: str, code: str = "", **more: Any) -> dict[str, Any]:
    return {**down(key, code, **more), "type": "keyup"}


def strokes(*acts: Any, **given: Any) -> list[Any]:
    return run_in_node(SCRIPT, [{"acts": acts, **given}])[0]


def test_each_key_has_the_code_and_the_name_of_the_window() -> None:
    found = strokes(*(down("Unidentified", code_of(name)) for name in KEY_NAMES.values()), status=OWN_LOOP)
    assert {stroke["event"]["key"]: stroke["event"]["key_name"] for stroke in found} == KEY_NAMES


def test_keys_of_the_page_are_those_of_the_window() -> None:
    actions = {
        "Space": "pause", ".": "step", "[": "slower", "]": "faster", "R": "reset", "I": "method", "C": "clock",
        "P": "prefer", "F": "frame", "H": "overlay", "V": "split", "T": "trails", "F12": "screenshot",
    }  # fmt: skip
    # A page injects no trouble (S), and the browser closes a tab.
    assert set(actions) == KEYS.keys() - {"S", "Esc"}
    keys = [" " if name == "Space" else name.lower() for name in actions]
    found = strokes(*(down(key, "Space" if key == " " else "") for key in keys))
    assert [stroke["action"] for stroke in found] == list(actions.values())
    assert all(stroke["isUsed"] and stroke["event"] is None for stroke in found)
    assert [stroke["action"] for stroke in strokes(*(down(key, "KeyI", ctrlKey=True) for key in keys))] == [None] * 13


def test_the_help_has_the_lines_of_the_window_for_the_keys_that_have_an_effect() -> None:
    of_page = {"F1": "these keys", "?": "these keys"}
    right = {key: text for key, text in KEYS.items() if key not in ("S", "Esc")} | of_page
    (found,) = strokes("help")
    assert {line["key"]: line["text"] for line in found} == right
    (found,) = strokes("help", status={"paused": False, "own_keys": ["v", "space"]})
    assert {line["key"] for line in found} == right.keys() - {"V", "Space"}
    assert strokes("help", hasKeys=False) == [[]]
    assert [one["action"] for one in strokes(down("F1", "F1"), down("?", "Slash", shiftKey=True))] == ["help"] * 2


def test_a_repeated_key_acts_only_for_the_time_scale() -> None:
    found = strokes(down("]"), down("]", repeat=True), down("i"), down("i", repeat=True), status=LISTENS)
    assert [stroke["action"] for stroke in found] == ["faster", "faster", "method", None]
    assert [stroke["event"]["action"] for stroke in found] == ["press", "repeat", "press", "repeat"]
    assert all(stroke["event"]["is_viewers"] for stroke in found)


def test_own_keys_and_all_keys_without_the_pages_are_the_programs() -> None:
    own = {**LISTENS, "own_keys": ["i", "space"]}
    found = strokes(down("i"), up("i"), down(" ", "Space"), down("c"), up("c"), status=own)
    assert [stroke["action"] for stroke in found] == [None, None, None, "clock", None]
    assert [stroke["event"]["is_viewers"] for stroke in found] == [False, False, False, True, True]
    assert [stroke["action"] for stroke in strokes(down("i"), down("r"), status=LISTENS, hasKeys=False)] == [None, None]


def test_a_users_own_loop_gets_the_keys_that_would_control_a_simulation_and_r_asks_for_a_reset() -> None:
    found = strokes(*(down(key, "Space" if key == " " else "") for key in " .[]ri"), status=OWN_LOOP)
    assert [stroke["action"] for stroke in found] == [None, None, None, None, "reset", "method"]
    deaf = strokes(down(" ", "Space"), status={})
    assert deaf[0]["action"] == "pause", "the page could not say that it does nothing"


def test_names_are_characters_of_the_users_layout_and_of_the_digits_places() -> None:
    layout = {"KeyY": "z", "KeyA": "ф", "Digit1": "&"}
    found = strokes(
        down("Z", "KeyY", shiftKey=True), down("ф", "KeyA"), down("&", "Digit1"), down("ü", "BracketLeft"),
        status=OWN_LOOP, layout=layout,
    )  # fmt: skip
    assert [stroke["event"]["key_name"] for stroke in found] == ["z", "a", "1", "["]
    assert found[0]["event"]["mods"] == 1
    plain = strokes(down("z", "KeyY"), down("Z", "KeyY", shiftKey=True), status=OWN_LOOP)
    assert [stroke["event"]["key_name"] for stroke in plain] == ["z", "y"]


def test_held_keys_are_released_when_the_page_loses_the_keyboard() -> None:
    found = strokes(down("a"), down("b"), up("b"), "releases", up("a"), status=LISTENS)
    assert [(event["key_name"], event["action"]) for event in found[3]] == [("a", "release")]
    assert found[4]["event"] is None


def test_a_program_that_does_not_listen_gets_no_keys() -> None:
    found = strokes(down("a"), up("a"))
    assert [stroke["event"] for stroke in found] == [None, None]
    assert not found[0]["isUsed"]


def test_the_keys_of_a_focused_control_stay_with_it() -> None:
    acts = down("ArrowLeft", "ArrowLeft"), down(" ", "Space"), down("i")
    for control, is_kept in (("INPUT", [True, True, False]), ("BUTTON", [False, True, False]), ("CANVAS", [False] * 3)):
        found = strokes(*acts, status=LISTENS, control=control)
        assert [stroke["event"] is None for stroke in found] == is_kept
        assert [stroke["action"] for stroke in found] == [None, None if is_kept[1] else "pause", "method"]
