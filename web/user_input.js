/**
 * What the user does to the simulation and to its picture: keys, clicks, pulls and the moved view go to the program.
 *
 * Always: what the user holds ends when the page loses the keyboard, is hidden or is left. Instants are those of the
 * user's act, by the server's clock, with the simulated time of the picture that the user saw.
 */

import {Hands} from "./hands.js";
import {Keyboard} from "./keys.js";
import {pixelOf} from "./picking.js";

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
    this.#look.text = "";
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
  }

  /** Draws a dot at the selected or pulled point, and a line from it to the pointer. */
  #drawPull() {
    const grabbed = this.#hands.grabbed, element = this.#pull, [line, dot] = element.children;
    const {matrices, viewport, widthPx, heightPx} = this.#page.view.seen, {clientWidth, clientHeight} = this.#canvas;
    const place = (point) => {
      const pixel = point && pixelOf(matrices, viewport, point, heightPx);
      return pixel && [(pixel[0] * clientWidth) / widthPx, (pixel[1] * clientHeight) / heightPx];
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
      size_px: [seen.widthPx, seen.heightPx], is_moved: isMoved,
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
