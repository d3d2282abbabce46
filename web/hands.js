/**
 * Pointer, wheel and touch on the picture: they move the view, follow bodies, and click and pull them.
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
 * Always: the poses of the last frame are used, because the user saw that frame. While the program has locked the
 * camera, clicks and pulls still work.
 */

import {firstHit, Grab, pullFields, rayOf} from "./picking.js";

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

  /** The pointer on the last picture: its place in px of the picture, its ray, and the point at the target's depth. */
  #seen() {
    const {seen} = this.#page.view;
    if (seen === null || this.#pointerPx === null) return null;
    const {matrices, viewport, widthPx, heightPx} = seen;
    const xPx = (this.#pointerPx[0] * widthPx) / Math.max(this.#canvas.clientWidth, 1);
    const yPx = (this.#pointerPx[1] * heightPx) / Math.max(this.#canvas.clientHeight, 1);
    const ray = rayOf(matrices, viewport, xPx, yPx, heightPx), {view, target} = matrices;
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
