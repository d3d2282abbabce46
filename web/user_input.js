/**
 * What the user does to the simulation and to its picture: keys, clicks, pulls and the moved view go to the program.
 *
 * The names and codes of keys are those of ipc/interaction/keyboard.py. Pointer, wheel and touch on the picture:
 *
 * | action | what it does |
 * |---|---|
 * | drag with the left button; one finger | moves the camera around its target; in a 2D view, moves the picture |
 * | drag with the right or the middle button, or with Shift | moves the picture |
 * | wheel; two fingers apart or together | zooms |
 * | two fingers | move the picture |
 * | double click; double tap | selects a body and follows it; on the background, no body |
 * | drag with Ctrl | pulls the body under the pointer; a selected body: turns it (left button) or pulls it (right) |
 * | drag a body that the program made draggable | pulls it |
 * | long touch of a body, then drag | pulls it |
 *
 * Always: the poses of the last frame are used, because the user saw that frame. Instants are those of the user's act,
 * by the server's clock, with the simulated time of that picture. While the program has locked the camera, clicks and
 * pulls still work. A key that the program owns does nothing in the page. If the page has used the press of a key, the
 * events of its repeats and its release tell this as well. Every key whose press was sent is released, and what the
 * user holds ends, at the latest when the page loses the keyboard, is hidden or is left. No class reads a clock, and
 * only `UserInput` touches the document.
 */

import {firstHit, Grab, pixelOf, pullFields, rayOf} from "./picking.js";

const SHIFT = 1, CTRL = 2, ALT = 4, SUPER = 8;
// Keys of the page, each with the name of its action and its line of help: those of the window, and two for the help.
const BINDINGS = {
  i: ["method", "interpolation"], c: ["clock", "clock"], p: ["prefer", "prefer"], v: ["split", "split view"],
  t: ["trails", "trails"], f: ["frame", "frame all"], " ": ["pause", "pause / continue"], ".": ["step", "one step"],
  "[": ["slower", "slower"], "]": ["faster", "faster"], r: ["reset", "reset"], h: ["overlay", "hide overlay"],
  f12: ["screenshot", "screenshot"], f1: ["help", "these keys"], "?": ["help", "these keys"],
};
// Keys that change the simulation. In a user's own loop they belong to the program.
const ASK_PHYSICS = ["pause", "step", "slower", "faster", "reset"];
const REPEATING = "[]";
// Keys with which a focused control of the page is used, by its element.
const CONTROL_KEYS = {
  BUTTON: [" ", "Enter"],
  SUMMARY: [" ", "Enter"],
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

  /** The keys that have an effect now: {key, action, text}. */
  get help() {
    return Object.entries(BINDINGS).filter(([key]) => this.#actionOf(key)).map(([key, [action, text]]) => (
      {key: key === " " ? "Space" : key.toUpperCase(), action, text}));
  }

  /** The page's action of a key: by its character, or by its place on a US keyboard. */
  #actionOf(character, place) {
    const name = [character, place === "space" ? " " : place].find((one) => Object.hasOwn(BINDINGS, one));
    if (!this.hasKeys || name === undefined || this.#isOwned(name === " " ? "space" : name)) return null;
    const [action] = BINDINGS[name];
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

// A press and release within this distance is a click. Two clicks within DOUBLE_MS are a double click.
const CLICK_PX = 5, TAP_PX = 12, DOUBLE_MS = 400;
// A finger that stays within TAP_PX for this long has grabbed the body under it.
const LONG_TOUCH_MS = 450;
// A pull is reported at most this many times a second.
const PULLS_PER_S = 120;
const BUTTONS = ["left", "middle", "right"];
// Notches of the wheel: browsers report pixels, lines or pages.
const PX_PER_NOTCH = 100, LINES_PER_NOTCH = 3;
// All browsers report this for a notch of a real wheel, where their pixels and lines differ by a factor of 2.5.
const WHEEL_DELTA = 120;
const ZOOM_PER_NOTCH = 0.9;

/** The hands of one user on one picture. */
export class Hands {
  /** Bodies that the user drags without Ctrl: the list that the program published in its status. */
  draggable = new Set();
  #canvas;
  #page;
  #pointers = new Map();  // by pointer id: where it is, CSS px
  #pressed = null;  // the press that may become a click
  #clickedMs = -Infinity;
  #selected = null;
  #grab = null;  // what is dragged
  #grabPointer = null;
  #pointerPx = null;  // where the pointer was last, CSS px
  #sent = pullFields();
  #sentMs = -Infinity;

  /**
   * @param {HTMLCanvasElement} canvas The picture. Its style has `touch-action: none`.
   * @param {Object} page
   * @param {Object} page.view The `View` of camera.js.
   * @param {function(): ?{scene: Object, poses: Object, drawNs: number}} page.drawn What the last frame showed; null
   *   before the first frame.
   * @param {function(Object): void} page.onClick Gets button, clicks, body, point, pointerPx, pointer, actedMs, drawNs.
   * @param {function(Object): boolean} page.onPull Gets the fields of a pull, and its `drawNs`. Returns true if it is
   *   sent.
   * @param {?function(): void} page.onGrab A long touch has grabbed a body.
   * @param {function(): boolean} page.mayPull False if the user may not control the simulation.
   */
  constructor(canvas, page) {
    this.#canvas = canvas;
    this.#page = page;
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => this.#press(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerrawupdate", (event) => this.#pullTo(event));
    canvas.addEventListener("pointerup", (event) => this.#release(event));
    canvas.addEventListener("pointercancel", (event) => this.#cancel(event));
    canvas.addEventListener("lostpointercapture", (event) => this.#cancel(event));
    canvas.addEventListener("pointerleave", () => {
      if (!this.isHeld) this.#pointerPx = null;
    });
    canvas.addEventListener("wheel", (event) => this.#wheel(event), {passive: false});
  }

  /** True while a button is held or a finger touches the picture. */
  get isHeld() {
    return this.#pointers.size > 0;
  }

  /** Points in the world of what is selected or dragged: {at, target}; null if nothing is. target: null if no pull. */
  get grabbed() {
    const drawn = this.#page.drawn(), grab = this.#grab ?? this.#selected;
    const place = drawn === null || grab === null ? null : grab.place(drawn.poses);
    if (place === null) return null;
    const seen = this.#seen(), isPulled = grab.drag !== null && !grab.drag.isTurn && seen !== null;
    return {at: place.at, target: isPulled ? grab.target(seen) : null};
  }

  /** Selects no body, for example when another world begins. */
  forget() {
    this.#selected = null;
    this.#end();
    this.#page.view.follow(null);
  }

  /** Ends a drag, and reports this at once. Call it when no further frame may come. */
  letGo(nowMs) {
    this.#end();
    this.#pointers.clear();
    this.#pressed = null;
    this.report(nowMs);
  }

  /** Reports the selected body once more with the next frame. */
  tellAgain() {
    this.#sent = pullFields();
  }

  /** The pointer on the last picture: `pointerPx` in its pixels, and `pointer` in the world; each null if unknown. */
  get pointed() {
    const seen = this.#seen();
    return seen === null ? {pointerPx: null, pointer: null} : {pointerPx: [seen.xPx, seen.yPx], pointer: seen.pointer};
  }

  /** Reports the pull if it has changed. Call it with each frame; what the pointer does is reported at once. */
  report(nowMs) {
    this.#grabLongTouch(nowMs);
    const drawn = this.#page.drawn(), grab = this.#grab ?? this.#selected;
    if (drawn === null || (grab === null && this.#sent.body === null)) return;
    const pull = grab === null ? pullFields() : grab.pull(drawn.scene, drawn.poses, drawn.drawNs, this.#seen());
    const isOver = pull.body === null || !pull.is_held;
    if (JSON.stringify(pull) === JSON.stringify(this.#sent)) return;
    if (!isOver && nowMs - this.#sentMs < 1000 / PULLS_PER_S) return;
    if (!this.#page.mayPull() || !this.#page.onPull({...pull, drawNs: drawn.drawNs})) return;
    this.#sent = pull;
    this.#sentMs = nowMs;
  }

  #press(event) {
    const at = this.#at(event);
    this.#pointerPx = at;
    this.#canvas.setPointerCapture?.(event.pointerId);
    this.#pointers.set(event.pointerId, at);
    if (this.#pointers.size > 1) {  // a second finger: neither click nor pull
      this.#pressed = null;
      if (event.pointerType === "touch") this.#end();
      return;
    }
    const isTouch = event.pointerType === "touch";
    this.#pressed = {at, event, button: event.button, limitPx: isTouch ? TAP_PX : CLICK_PX, mayGrab: isTouch};
    if (event.ctrlKey || event.metaKey) this.#begin(event, null);
    else if (this.draggable.size && event.button === 0) this.#begin(event, this.draggable);
    if (this.#grab !== null) this.report(event.timeStamp);
  }

  /** Begins a drag of a body. only: the bodies that may be dragged; null: all, or the selected one. */
  #begin(event, only) {
    const drawn = this.#page.drawn(), seen = this.#seen();
    if (drawn === null || seen === null || !this.#page.mayPull()) return;
    const isTouch = event.pointerType === "touch";
    let grab = only === null && !isTouch ? this.#selected : null, isTurn = event.button === 0;
    if (grab === null) {
      const hit = firstHit(seen.ray, drawn.scene, drawn.poses);
      isTurn = false;
      if (hit !== null && (only === null || only.has(hit.body))) grab = Grab.of(hit, drawn.poses);
    }
    if (grab === null || !grab.begin(isTurn, seen.xPx, seen.yPx, seen, drawn.poses)) return;
    this.#grab = grab;
    this.#grabPointer = event.pointerId;
    if (only === null) this.#pressed = null;
  }

  /** Grabs the body under a finger that was still for a while. */
  #grabLongTouch(nowMs) {
    if (!this.#pressed?.mayGrab || this.#grab !== null || this.#pointers.size !== 1) return;
    const {event, at, limitPx} = this.#pressed, [x, y] = this.#pointerPx;
    if (Math.hypot(x - at[0], y - at[1]) > limitPx) this.#pressed.mayGrab = false;
    else if (nowMs - event.timeStamp >= LONG_TOUCH_MS) {
      this.#pressed.mayGrab = false;
      this.#begin(event, null);
      if (this.#grab !== null) this.#page.onGrab?.();
    }
  }

  #move(event) {
    const at = this.#at(event), before = this.#pointers.get(event.pointerId);
    this.#pointerPx = at;
    if (before === undefined || (this.#grab !== null && event.pointerId === this.#grabPointer)) return;
    const others = [...this.#pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.#pointers.set(event.pointerId, at);
    const {view} = this.#page, heightPx = this.#canvas.clientHeight;
    if (view.orbit.locked) return;
    const dx = at[0] - before[0], dy = at[1] - before[1];
    if (others.length) {
      const count = others.length + 1;
      view.pan(dx / count, dy / count, heightPx);
      const [x, y] = others[0], apart = Math.hypot(before[0] - x, before[1] - y);
      const nowApart = Math.hypot(at[0] - x, at[1] - y);
      const notches = Math.log(apart / nowApart) / Math.log(ZOOM_PER_NOTCH);
      if (others.length === 1 && apart > 1 && nowApart > 1) view.zoom(notches);
    } else if ((event.buttons & 1) === 0 || event.shiftKey || view.orbit.isFlat) view.pan(dx, dy, heightPx);
    else view.orbitBy(dx, dy, heightPx);
  }

  /** Reports the pull before the next frame. Chromium holds a `pointermove` back until then. */
  #pullTo(event) {
    if (this.#grab === null || event.pointerId !== this.#grabPointer) return;
    this.#pointerPx = this.#at(event);
    this.report(event.timeStamp);
  }

  #release(event) {
    const at = this.#at(event), pressed = this.#pressed;
    this.#pointers.delete(event.pointerId);
    this.#pressed = null;
    if (event.pointerId === this.#grabPointer) {
      this.#end();
      this.report(event.timeStamp);
    }
    if (pressed === null || pressed.button !== event.button) return;
    if (Math.hypot(at[0] - pressed.at[0], at[1] - pressed.at[1]) <= pressed.limitPx) this.#click(event, at);
  }

  #cancel(event) {
    if (!this.#pointers.delete(event.pointerId)) return;
    if (event.pointerId === this.#grabPointer) this.#end();
    this.#pressed = null;
  }

  #click(event, at) {
    this.#pointerPx = at;
    const drawn = this.#page.drawn(), seen = this.#seen();
    if (drawn === null || seen === null) return;
    const hit = firstHit(seen.ray, drawn.scene, drawn.poses);
    const isDouble = event.button === 0 && event.timeStamp - this.#clickedMs < DOUBLE_MS;
    this.#clickedMs = isDouble ? -Infinity : event.timeStamp;
    if (isDouble) {
      this.#selected = hit === null ? null : Grab.of(hit, drawn.poses);
      this.#page.view.follow(hit === null ? null : hit.body);
    }
    this.#page.onClick({
      button: BUTTONS[event.button] ?? "", clicks: isDouble ? 2 : 1, body: hit === null ? null : hit.body,
      point: hit === null ? null : hit.point, pointerPx: [seen.xPx, seen.yPx], pointer: seen.pointer,
      actedMs: event.timeStamp, drawNs: drawn.drawNs,
    });
  }

  #wheel(event) {
    event.preventDefault();
    const {view} = this.#page;
    if (view.orbit.locked) return;
    const perNotch = [PX_PER_NOTCH, LINES_PER_NOTCH, 1][event.deltaMode] ?? PX_PER_NOTCH;
    const {wheelDeltaY: delta} = event;
    view.zoom(delta && delta % WHEEL_DELTA === 0 ? delta / WHEEL_DELTA : -event.deltaY / perNotch);
  }

  #end() {
    this.#grab?.end();
    this.#grab = this.#grabPointer = null;
  }

  /**
   * The pointer on the last picture: its place in px of the canvas, its ray, and the point at the target's depth. Null
   * in the left half of a split view.
   */
  #seen() {
    const {seen} = this.#page.view;
    if (seen === null || this.#pointerPx === null) return null;
    const {matrices, viewport, widthPx, heightPx, leftPx = 0, canvasPx = widthPx} = seen;
    const xPx = (this.#pointerPx[0] * canvasPx) / Math.max(this.#canvas.clientWidth, 1);
    const yPx = (this.#pointerPx[1] * heightPx) / Math.max(this.#canvas.clientHeight, 1);
    if (xPx < leftPx) return null;
    const ray = rayOf(matrices, viewport, xPx - leftPx, yPx, heightPx), {view, target} = matrices;
    const backward = [view[8], view[9], view[10]];
    const along = (vector) => backward.reduce((sum, value, axis) => sum + value * vector[axis], 0);
    const distanceM = (along(target) - along(ray.origin)) / along(ray.direction);
    return {
      xPx, yPx, heightPx, ray, view,
      pointer: ray.origin.map((value, axis) => value + distanceM * ray.direction[axis]),
    };
  }

  #at(event) {
    const {left, top} = this.#canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }
}

// The user's view is sent at most this often.
const LOOK_MS = 1000 / 30;
// A long touch that has grabbed a body is felt.
const GRAB_MS = 15;

/** Input of the user of one page. */
export class UserInput {
  keyboard = new Keyboard();
  #page;
  #canvas;
  #panel;
  #hands;
  #pull = document.getElementById("pull");
  #picked = null;  // the body that was clicked last
  #before = null;  // where it was when the panel was shown last
  #look = {text: "", ms: -Infinity, wasMoved: false};
  #presented = {text: "", ms: -Infinity};

  /**
   * @param {Object} page  the `Page` of main.js
   * @param {HTMLCanvasElement} canvas  its picture
   * @param {Object} panel  its `Panel`
   */
  constructor(page, canvas, panel) {
    this.#page = page;
    this.#canvas = canvas;
    this.#panel = panel;
    this.#hands = new Hands(canvas, {
      view: page.view, drawn: () => page.shown, mayPull: () => page.connection.mayControl,
      onPull: ({drawNs: _, ...fields}) => page.connection.action("pull", fields),
      onClick: (click) => this.#click(click), onGrab: () => navigator.vibrate?.(GRAB_MS),
    });
    for (const kind of ["keydown", "keyup"]) addEventListener(kind, (event) => this.#key(event));
    for (const kind of ["blur", "pagehide"]) addEventListener(kind, () => this.letGo());
    navigator.keyboard?.getLayoutMap?.().then((layout) => (this.keyboard.layout = layout), () => {});
  }

  /** True while a button is held or a finger touches the picture. */
  get isHeld() {
    return this.#hands.isHeld;
  }

  /** Tells the program again what it may have forgotten: the view and the selected body. */
  begin() {
    this.#look.text = this.#presented.text = "";
    this.#hands.tellAgain();
  }

  /** Another world begins. */
  forget() {
    this.#hands.forget();
  }

  /** Follows the status of the simulation. */
  reflect(status) {
    this.#hands.draggable = new Set(status.draggable);
    this.keyboard.reflect(status);
  }

  /** Reports what follows the picture. Call it after each frame. */
  frameDrawn(timestampMs) {
    this.#hands.report(timestampMs);
    this.#drawPull();
    this.#reportLook(timestampMs);
    this.#present(timestampMs);
  }

  /** Sends the camera to the pages that follow it, if this page presents; then once that it does so no longer. */
  #present(timestampMs) {
    const {isPresenting, view, connection, clockMap} = this.#page, sent = this.#presented;
    const camera = isPresenting ? view.orbit.toHead() : null, text = camera === null ? "" : JSON.stringify(camera);
    if (text === sent.text || timestampMs - sent.ms < LOOK_MS) return;
    const fields = {camera, at_ns: Math.max(0, clockMap.toServerNs(timestampMs)), begins: sent.text === ""};
    if (connection.action("present", fields)) Object.assign(sent, {text, ms: timestampMs});
  }

  /** Draws a dot at the selected or pulled point, and a line from it to the pointer. */
  #drawPull() {
    const grabbed = this.#hands.grabbed, element = this.#pull, [line, dot] = element.children;
    const {matrices, viewport, leftPx, canvasPx, heightPx} = this.#page.view.seen;
    const {clientWidth, clientHeight} = this.#canvas;
    const place = (point) => {
      const pixel = point && pixelOf(matrices, viewport, point, heightPx);
      return pixel && [((pixel[0] + leftPx) * clientWidth) / canvasPx, (pixel[1] * clientHeight) / heightPx];
    };
    const at = place(grabbed?.at), target = place(grabbed?.target);
    element.toggleAttribute("hidden", !at);
    if (!at) return;
    const set = (shape, values) => Object.entries(values).forEach(([name, value]) => shape.setAttribute(name, value));
    const [x2, y2] = target ?? at;
    set(dot, {cx: at[0], cy: at[1]});
    set(line, {x1: at[0], y1: at[1], x2, y2});
  }

  /** Sends the view to a user's own loop, as soon as the user has moved it. */
  #reportLook(timestampMs) {
    const {isMoved, seen} = this.#page.view, look = this.#look;
    look.wasMoved ||= isMoved;
    if (!look.wasMoved || !this.keyboard.isOwnLoop || timestampMs - look.ms < LOOK_MS) return;
    const fields = {
      camera: this.#page.view.orbit.toHead(), camera_version: Math.max(0, this.#page.cameraVersion),
      size_px: [seen.canvasPx, seen.heightPx], is_moved: isMoved,
    };
    const text = JSON.stringify(fields);
    if (text === look.text || !this.#page.connection.action("look", fields)) return;
    look.text = text;
    look.ms = timestampMs;
  }

  /** Label, place and mean speed of the body that was clicked last; null if there is none. */
  picked() {
    const {shown} = this.#page, body = this.#picked, pose = body === null ? null : shown?.poses.of(body);
    if (!pose?.isDrawable) return (this.#before = null);
    const {scene, drawNs} = shown, {position} = pose, before = this.#before;
    const passedS = before?.body === body ? (drawNs - before.drawNs) / 1e9 : 0;
    const speed = passedS > 0 ? Math.hypot(...minus(position, before.position)) / passedS : null;
    this.#before = {body, position, drawNs};
    return {body, position, speed, label: scene.table[scene.shapeOf(body)].label};
  }

  #key(event) {
    const {action, event: told, isUsed} = this.keyboard.stroke(event, event.target?.tagName ?? null);
    if (isUsed) event.preventDefault();
    if (told !== null) this.#tell({...told, ...this.#pointed()}, event.timeStamp);
    if (action === "reset" && this.keyboard.resetIsEvent) {
      this.#tell({name: "reset"}, event.timeStamp);
      this.#panel.note("reset");
    } else if (action !== null) this.#panel.act(action);
  }

  #click({button, clicks, body, point, pointerPx, pointer, actedMs}) {
    this.#picked = body;
    if (clicks === 2) this.#panel.note(body === null ? "no body is followed" : `body ${body} is followed`);
    if (!this.keyboard.listens) return;
    this.#tell({name: "click", button, clicks, body, point, pointer_px: pointerPx, pointer}, actedMs);
  }

  /** Ends what the user holds: keys and a pull. */
  letGo() {
    const nowMs = performance.now();
    for (const released of this.keyboard.releases()) this.#tell(released, nowMs);
    this.#hands.letGo(nowMs);
  }

  #pointed() {
    const {pointerPx, pointer} = this.#hands.pointed;
    return {pointer_px: pointerPx, pointer};
  }

  /** Sends an event to the program. fields: of `UserEvent`. */
  #tell(fields, actedMs) {
    const {clockMap, connection, decoder, shown} = this.#page;
    const acted = clockMap.isReady ? {acted_ns: clockMap.toServerNs(actedMs)} : {};
    const seen = shown === null ? {} : {draw_time_ns: decoder.simText(shown.drawNs)};
    connection.action("event", {...fields, ...acted, ...seen});
  }
}

function minus(one, other) {
  return one.map((value, axis) => value - other[axis]);
}
