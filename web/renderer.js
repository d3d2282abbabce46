/**
 * Draws one scene between two snapshots into a canvas.
 *
 * A picture is one pass that computes the poses of all rows, and one draw call for each kind of shape. Always: scene,
 * snapshots, share and camera determine the picture. Reads no clock.
 */

import { GUARD_PX, MOST_SHADOWS } from "./glsl.js";
import { FRAME_BINDING, openContext, Programs, UniformBlock } from "./gpu.js";
import { Ground, groundOf, levelFloor } from "./ground.js";
import { chosenPair, Poses } from "./poses.js";
import { backToFront, Solids } from "./solids.js";

const FRAME_FLOATS = 60;
/** Most pixels of the picture for each point of the page, along each axis. */
const MOST_PX_A_POINT = 2;

/**
 * Returns the size of the picture of a canvas, width and height in px.
 * @param {number} width in points of the page
 * @param {number} height
 * @param {number} pixelRatio `devicePixelRatio`
 * @returns {[number, number]}
 */
export function pictureSize(width, height, pixelRatio) {
  const ratio = Math.min(pixelRatio, MOST_PX_A_POINT);
  return [width, height].map((side) => Math.max(1, Math.round(side * ratio)));
}

/**
 * Converts a rotation to a unit quaternion xyzw (Shepperd 1978), as `quaternion_of` in render/draw/frame/frame_block.py.
 * @param {ArrayLike<number>} view 4 x 4, row by row
 * @returns {[number, number, number, number]}
 */
export function quaternionOf(view) {
  const [xx, xy, xz, , yx, yy, yz, , zx, zy, zz] = view;
  const squares = [xx - yy - zz, yy - xx - zz, zz - xx - yy, xx + yy + zz];
  const largest = squares.indexOf(Math.max(...squares));
  const one = 1 + squares[largest];
  const turn = [
    [one, yx + xy, xz + zx, zy - yz], [yx + xy, one, zy + yz, xz - zx],
    [xz + zx, zy + yz, one, yx - xy], [zy - yz, xz - zx, yx - xy, one],
  ][largest];
  const length = Math.hypot(...turn);
  return turn.map((value) => value / length);
}

/**
 * Packs the uniform block of a picture, as `frame_block` in render/draw/frame/frame_block.py.
 * @param {object} head the scene's JSON
 * @param {{view: ArrayLike<number>, projection: ArrayLike<number>, eye: number[], target: number[],
 *     orthographic: boolean}} camera
 * @param {number} widthPx
 * @param {number} heightPx
 * @param {{middle: number[], along: number[], halfM: number[], fadeRadii: number}} [floor]
 * @returns {Float32Array}
 */
export function frameBlock(head, camera, widthPx, heightPx, floor = groundOf(head)) {
  const { view, projection, eye, target } = camera;
  const isLit = head.look === "lit";
  const length = Math.hypot(...head.light);
  const light = head.light.map((value) => Math.fround(value / length));
  const inView = (v) => [0, 4, 8].map((row) => view[row] * v[0] + view[row + 1] * v[1] + view[row + 2] * v[2]);
  const eyeHigh = eye.map(Math.fround);
  const lens = [projection[0], projection[5], projection[10], projection[11]];
  const background = head.background ?? [1, 1, 1];
  const faintest = 1.5 / 255 / (head.ground_z === null ? 1 : Math.max(...background, 0.1));
  return Float32Array.of(
    view[0], view[4], view[8], 0, view[1], view[5], view[9], 0, view[2], view[6], view[10], 0,
    ...quaternionOf(view),
    ...eyeHigh, 0,
    ...eye.map((value, axis) => value - eyeHigh[axis]), 0,
    ...lens,
    widthPx, heightPx, 2 / (lens[1] * heightPx), Number(camera.orthographic),
    ...inView(light), Number(!isLit),
    view[2], view[6], view[10], floor.middle[2] - eye[2],
    ...light, faintest,
    target[0] - eye[0], target[1] - eye[1], 0, 0,
    lens[0] * widthPx / (widthPx + 2 * GUARD_PX), lens[1] * heightPx / (heightPx + 2 * GUARD_PX),
    Number(head.pattern && isLit), isLit ? head.brightness : 1,
    floor.middle[0] - eye[0], floor.middle[1] - eye[1], ...floor.along,
    ...floor.halfM, floor.fadeRadii, 0,
  );
}

/** Draws scenes into a canvas. Throws an Error with a text for the user if the browser offers no WebGL2. */
export class Renderer {
  /** @param {HTMLCanvasElement | OffscreenCanvas} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = openContext(canvas);
    this.scene = null;
    this.bodies = 0;
    this.isLost = false;
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.isLost = true;
    });
    canvas.addEventListener("webglcontextrestored", () => this.#restore());
    this.#make();
  }

  #make() {
    this.programs = new Programs(this.gl);
    this.frame = new UniformBlock(this.gl, FRAME_BINDING, 4 * FRAME_FLOATS);
    this.poses = new Poses(this.gl, this.programs);
    this.solids = new Solids(this.gl, this.programs, this.poses);
    this.ground = new Ground(this.gl, this.programs);
  }

  /** Makes everything on the GPU anew. Snapshots are uploaded again when they are drawn. */
  #restore() {
    this.#make();
    this.isLost = false;
    if (this.scene !== null) this.setScene(this.scene);
  }

  /** Replaces the scene. Snapshots that were uploaded stay usable. @param {object} scene see scene.js */
  setScene(scene) {
    this.scene = scene;
    this.#setRows();
  }

  #setRows() {
    this.poses.setRows(this.scene.rowsFor(this.bodies));
  }

  /** Copies a snapshot to the GPU and sets `snapshot.gpu`. @param {object} snapshot */
  upload(snapshot) {
    if (this.scene === null || this.isLost) return;
    if (snapshot.count > this.bodies) {
      this.bodies = snapshot.count;
      this.#setRows();
    }
    this.poses.upload(snapshot);
  }

  /** Lets the GPU memory of a snapshot be used again. @param {object} snapshot */
  release(snapshot) {
    this.poses.release(snapshot);
  }

  /**
   * Draws a picture between two snapshots.
   * @param {{before: object?, older: object, newer: object?, share: number, method: string, camera: object,
   *     widthPx: number, heightPx: number}} asked before: snapshot or null. newer: may equal older.
   */
  draw(asked) {
    const { camera, widthPx, heightPx } = asked;
    const { gl, canvas, scene } = this;
    if (scene === null || this.isLost) return;
    if (canvas.width !== widthPx) canvas.width = widthPx;
    if (canvas.height !== heightPx) canvas.height = heightPx;
    const { head } = scene;
    const { rows } = this.poses;
    const hasRows = rows.body.length > 0;
    const pair = chosenPair(asked);
    const floor = hasRows && head.ground_z === null ? levelFloor(rows, pair.older, pair.newer) : null;
    gl.viewport(0, 0, widthPx, heightPx);
    this.frame.write(frameBlock(head, camera, widthPx, heightPx, floor ?? groundOf(head)));
    const posed = hasRows ? this.poses.run({ ...asked, ...this.#discrete() }, pair) : null;
    const frame = {
      isParallel: camera.orthographic, isOutlined: head.look === "flat", isStretched: posed?.isStretched ?? false,
    };
    this.ground.clear(head.background ?? [0, 0, 0]);
    if (head.ground_z !== null) this.ground.drawGrid(camera);
    if (hasRows) this.solids.drawOpaque(frame);
    const hasShadows = (head.ground_z !== null || floor !== null) && head.look === "lit" && rows.body.length <= MOST_SHADOWS;
    if (hasRows && hasShadows) this.solids.drawShadows(frame);
    if (head.outline) this.ground.drawOutline(head.outline, camera.eye);
    if (posed?.hasTransparent) this.solids.drawTransparent(frame, backToFront({ rows, camera, ...pair }));
  }

  /** Which fields keep the value of the older snapshot, by the rules of the scene's columns. */
  #discrete() {
    const { columns, color_by: colorBy } = this.scene.head;
    return {
      keepsColor: columns?.[colorBy ? colorBy.column : "color"] === "none",
      keepsScale3: columns?.scale3 === "none",
    };
  }

  /**
   * Draws a picture and returns it as a file. The two happen in one task, because the canvas keeps no pixels.
   * @param {object} asked see `draw`
   * @param {string} [type]
   * @returns {Promise<Blob>}
   */
  screenshot(asked, type = "image/png") {
    this.draw(asked);
    return new Promise((resolve) => this.canvas.toBlob(resolve, type));
  }
}
