/**
 * The keyboard: keys of the page, and key events for the program, with the names and codes of
 * ipc/interaction/keyboard.py.
 *
 * Always: a key that the program owns does nothing in the page. If the page has used the press of a key, the events of
 * its repeats and its release tell this as well. Every key whose press was sent is released, at the latest when the
 * page loses the keyboard. Pure: reads no clock, touches no document.
 */

const SHIFT = 1, CTRL = 2, ALT = 4, SUPER = 8;
// Keys of the page as in the window, each with the name of its action.
const BINDINGS = {
  " ": "pause", ".": "step", "[": "slower", "]": "faster", r: "reset", i: "method", c: "clock", p: "prefer",
  f: "frame", h: "overlay", t: "trails",
};
// Keys that change the simulation. In a user's own loop they belong to the program.
const ASK_PHYSICS = ["pause", "step", "slower", "faster", "reset"];
const REPEATING = "[]";
// Keys with which a focused control of the page is used, by its element.
const CONTROL_KEYS = {
  BUTTON: [" ", "Enter"],
  INPUT: [" ", "Home", "End", "PageUp", "PageDown", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"],
};
const CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789',-./;=[\\]`";

// GLFW's code and the name of each key on a US keyboard, by `KeyboardEvent.code`.
const PLACES = new Map();
for (const character of CHARACTERS) {
  const name = /[a-z]/.test(character) ? `Key${character.toUpperCase()}` : `Digit${character}`;
  PLACES.set(name, [character.toUpperCase().charCodeAt(0), character]);
}
const SIGNS = {
  Quote: "'", Comma: ",", Minus: "-", Period: ".", Slash: "/", Semicolon: ";", Equal: "=", BracketLeft: "[",
  Backslash: "\\", BracketRight: "]", Backquote: "`",
};
for (const [code, sign] of Object.entries(SIGNS)) PLACES.set(code, [sign.charCodeAt(0), sign]);
const WORDS = {
  Space: [32, "space"], IntlBackslash: [161, "world_1"], IntlRo: [162, "world_2"], Escape: [256, "escape"],
  Enter: [257, "enter"], Tab: [258, "tab"], Backspace: [259, "backspace"], Insert: [260, "insert"],
  Delete: [261, "delete"], ArrowRight: [262, "right"], ArrowLeft: [263, "left"], ArrowDown: [264, "down"],
  ArrowUp: [265, "up"], PageUp: [266, "page_up"], PageDown: [267, "page_down"], Home: [268, "home"],
  End: [269, "end"], CapsLock: [280, "caps_lock"], ScrollLock: [281, "scroll_lock"], NumLock: [282, "num_lock"],
  PrintScreen: [283, "print_screen"], Pause: [284, "pause"], NumpadDecimal: [330, "keypad_decimal"],
  NumpadDivide: [331, "keypad_divide"], NumpadMultiply: [332, "keypad_multiply"],
  NumpadSubtract: [333, "keypad_subtract"], NumpadAdd: [334, "keypad_add"], NumpadEnter: [335, "keypad_enter"],
  NumpadEqual: [336, "keypad_equal"], ShiftLeft: [340, "left_shift"], ControlLeft: [341, "left_ctrl"],
  AltLeft: [342, "left_alt"], MetaLeft: [343, "left_super"], ShiftRight: [344, "right_shift"],
  ControlRight: [345, "right_ctrl"], AltRight: [346, "right_alt"], MetaRight: [347, "right_super"],
  ContextMenu: [348, "menu"],
};
for (const [code, place] of Object.entries(WORDS)) PLACES.set(code, place);
for (let number = 1; number <= 25; number++) PLACES.set(`F${number}`, [289 + number, `f${number}`]);
for (let number = 0; number <= 9; number++) PLACES.set(`Numpad${number}`, [320 + number, `keypad_${number}`]);

/**
 * What a key event does. action: name of the page's action, or null. event: fields of `UserEvent` for the program, or
 * null. isUsed: true if the browser must do nothing else with the key.
 * @typedef {{action: ?string, event: ?Object, isUsed: boolean}} Stroke
 */

/** The keyboard of one page. */
export class Keyboard {
  /** False if all keys are for the program: the option `keys`. */
  hasKeys = true;
  /** Characters that the keys of the user's layout type without modifiers, by `KeyboardEvent.code`, if it is known. */
  layout = new Map();
  #ownKeys = new Set();
  #listens = false;
  #isOwnLoop = true;
  #usedCodes = new Set();  // held keys whose press the page has used
  #sent = new Map();  // fields of the event of each held key that was sent, by its code

  /** Follows the status of the simulation. A user's own loop has no field `paused`. */
  reflect(status) {
    this.#ownKeys = new Set(status.own_keys);
    this.#listens = status.listens === true;
    this.#isOwnLoop = !("paused" in status);
  }

  /** True if the simulation is a user's own loop. */
  get isOwnLoop() {
    return this.#isOwnLoop;
  }

  /** True if the program may receive events. */
  get listens() {
    return this.#listens || this.#isOwnLoop;
  }

  /** True if the program receives a request for a reset as an event: a user's own loop that reads events. */
  get resetIsEvent() {
    return this.#isOwnLoop && this.#listens;
  }

  /**
   * @param {KeyboardEvent} event  `keydown` or `keyup`
   * @param {?string} control  name of the element of the focused control, such as "INPUT"; null if there is none
   * @returns {Stroke}
   */
  stroke(event, control = null) {
    const nothing = {action: null, event: null, isUsed: false};
    if (event.isComposing) return nothing;
    const isUp = event.type === "keyup", [code, place] = PLACES.get(event.code) ?? [0, ""];
    const character = event.key.length === 1 ? event.key.toLowerCase() : "";
    const hasModifier = event.ctrlKey || event.altKey || event.metaKey;
    if (CONTROL_KEYS[control]?.includes(event.key) && !this.#sent.has(code)) return nothing;
    let action = null;
    if (!isUp) {
      if (!event.repeat) this.#usedCodes.delete(code);
      action = hasModifier ? null : this.#actionOf(character, place);
      if (action !== null && !event.repeat) this.#usedCodes.add(code);
      if (event.repeat && !REPEATING.includes(character)) action = null;
    }
    const fields = {
      name: "key", key: code, action: isUp ? "release" : event.repeat ? "repeat" : "press", mods: modsOf(event),
      is_viewers: this.#usedCodes.has(code), key_name: this.#nameOf(event, place),
    };
    // Systems tell no release of a key that is released while Super is held.
    const mayBeSent = code !== 0 && this.listens && (!event.metaKey || place.endsWith("_super"));
    const isSent = isUp ? this.#sent.has(code) : mayBeSent;
    if (isSent && isUp) this.#sent.delete(code);
    else if (isSent) this.#sent.set(code, fields);
    const isProgramsKey = isSent && !hasModifier && event.key !== "Tab" && !/^F\d+$/.test(event.key);
    const isUsed = action !== null || this.#usedCodes.has(code) || this.#isOwned(place) || isProgramsKey;
    return {action, event: isSent ? fields : null, isUsed};
  }

  /** Events of the releases of all held keys. Call this when the page loses the keyboard. */
  releases() {
    const released = [...this.#sent.values()].map((fields) => ({...fields, action: "release", mods: 0}));
    this.#sent.clear();
    this.#usedCodes.clear();
    return released;
  }

  /** The page's action of a key: by its character, or by its place on a US keyboard. */
  #actionOf(character, place) {
    const name = [character, place === "space" ? " " : place].find((one) => Object.hasOwn(BINDINGS, one));
    if (!this.hasKeys || name === undefined || this.#isOwned(name === " " ? "space" : name)) return null;
    const action = BINDINGS[name];
    const isPrograms = this.#isOwnLoop && this.#listens && ASK_PHYSICS.includes(action) && action !== "reset";
    return isPrograms ? null : action;
  }

  #isOwned(name) {
    return this.#ownKeys.has(name);
  }

  /** Name of the key: the character that it types without Shift, or the name of its place. */
  #nameOf({code, key, shiftKey, altKey}, place) {
    if (place.length !== 1 || /\d/.test(place)) return place;
    const typed = this.layout.get(code) ?? (shiftKey || altKey ? "" : key);
    const character = typed.length === 1 ? typed.toLowerCase() : "";
    return character && CHARACTERS.includes(character) ? character : place;
  }
}

function modsOf({shiftKey, ctrlKey, altKey, metaKey}) {
  return SHIFT * shiftKey + CTRL * ctrlKey + ALT * altKey + SUPER * metaKey;
}
