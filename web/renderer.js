/**
 * Draws one scene between two snapshots into a canvas.
 *
 * A picture is one pass that computes the poses of all rows, and one draw call for each kind of shape. Always: scene,
 * snapshots, share and camera determine the picture. Reads no clock.
 */

import {GUARD_PX, MOST_SHADOWS} from "./glsl.js";
import {FRAME_BINDING, isSoftware, openContext, Programs, Textures, UniformBlock} from "./gpu.js";
import {Ground, groundOf, levelFloor} from "./ground.js";
import {blendedMarks, Marks, placedMarks} from "./marks.js";
import {Meshes} from "./meshes.js";
import {DrawnPoses} from "./pose.js";
import {chosenPair, PosePass} from "./pose_pass.js";
import {backToFront, isWide, SOLID_KINDS, Solids, SphereDetail} from "./solids.js";

const FRAME_FLOATS = 60;
/**
 * Converts a rotation to a unit quaternion xyzw (Shepperd 1978), as `quaternion_of` in frame_block.py.
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
 * @param {number[]?} [skyColor] mean colour of a background that is a texture
 * @returns {Float32Array}
 */
export function frameBlock(head, camera, widthPx, heightPx, floor = groundOf(head), skyColor = null) {
  const {view, projection, eye, target} = camera;
  const isLit = head.look === "lit";
  const length = Math.hypot(...head.light);
  const light = head.light.map((value) => Math.fround(value / length));
  const inView = (v) => [0, 4, 8].map((row) => view[row] * v[0] + view[row + 1] * v[1] + view[row + 2] * v[2]);
  const eyeHigh = eye.map(Math.fround);
  const lens = [projection[0], projection[5], projection[10], projection[11]];
  const background = head.background ?? skyColor ?? [1, 1, 1];
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

/** The entries of the textures that a scene's rows have. */
function texturesOf({materials, textures}, {groups}) {
  const used = groups.map(({material}) => materials?.[material]?.texture ?? null);
  return [...new Set(used)].filter((texture) => texture !== null).map((texture) => textures[texture]);
}

/** Draws scenes into a canvas. Throws an Error with a text for the user if the browser offers no WebGL2. */
export class Renderer {
  /** @param {HTMLCanvasElement | OffscreenCanvas} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = openContext(canvas);
    this.scene = null;
    this.bodies = null;
    this.isLost = false;
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.isLost = true;
    });
    canvas.addEventListener("webglcontextrestored", () => this.#restore());
    this.#make();
  }

  #make() {
    this.fence = null;
    this.programs = new Programs(this.gl);
    this.frame = new UniformBlock(this.gl, FRAME_BINDING, 4 * FRAME_FLOATS);
    this.detail = new SphereDetail(isSoftware(this.gl));
    this.poses = new PosePass(this.gl, this.programs);
    this.textures = new Textures(this.gl);
    this.solids = new Solids(this.gl, this.programs, this.poses, this.textures);
    this.meshes = new Meshes(this.gl, this.programs, this.poses, this.textures);
    this.ground = new Ground(this.gl, this.programs);
    this.marks = new Marks(this.gl, this.solids, this.ground);
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
    if (this.isLost || this.gl.isContextLost()) return;
    this.ground.setScene(scene, this.textures);
    this.bodies = null;
  }

  /** Makes rows for the bodies of a snapshot, if it has more than those before it in this scene. */
  #makeRoom({count}) {
    if (this.bodies !== null && count <= this.bodies) return;
    this.bodies = count;
    const rows = this.scene.rowsFor(this.bodies);
    this.poses.setRows(rows);
    this.textures.keep(texturesOf(this.scene.head, rows), this.scene.contents ?? null);
    this.solids.setScene(this.scene.head, rows);
    this.meshes.setScene(this.scene, rows);
  }

  /** Copies a snapshot to the GPU and sets `snapshot.gpu`. @param {object} snapshot */
  upload(snapshot) {
    if (this.scene === null || this.isLost || this.gl.isContextLost()) return;
    this.#makeRoom(snapshot);
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
    const {camera, widthPx, heightPx} = asked;
    const {gl, canvas, scene} = this;
    if (scene === null || this.isLost || gl.isContextLost()) return;
    if (canvas.width !== widthPx) canvas.width = widthPx;
    if (canvas.height !== heightPx) canvas.height = heightPx;
    const {head} = scene;
    const pair = chosenPair(asked);
    for (const snapshot of [pair.older, pair.newer]) if (snapshot) this.#makeRoom(snapshot);
    const {rows} = this.poses;
    const hasRows = rows.body.length > 0;
    const floor = hasRows && head.ground_z === null ? levelFloor(rows, pair.older, pair.newer) : null;
    gl.viewport(0, 0, widthPx, heightPx);
    const skyColor = this.ground.sky?.meanColor ?? null;
    this.frame.write(frameBlock(head, camera, widthPx, heightPx, floor ?? groundOf(head), skyColor));
    const blending = {method: asked.method, ...this.#discrete()};
    const posed = hasRows ? this.poses.run(blending, pair, this.#posed(pair, asked.method)) : null;
    const frame = {
      isParallel: camera.orthographic, isOutlined: head.look === "flat", isStretched: posed?.isStretched ?? false,
      widthPx, heightPx, isWide: isWide(camera), spheres: hasRows ? this.detail.passes(rows, pair, asked) : [],
    };
    this.meshes.begin(pair);
    const poses = new DrawnPoses(pair, asked.method, this.#parentsOf());
    this.marks.begin(placedMarks(blendedMarks(pair), poses), camera.eye, head.look === "lit" ? head.brightness : 1);
    this.ground.drawBackground(head.background);
    if (head.ground_z !== null) this.ground.drawGrid(camera);
    if (hasRows) {
      this.solids.drawOpaque(frame, true);
      this.meshes.drawOpaque(frame);
      this.solids.drawOpaque(frame, false);
    }
    this.marks.drawOpaque(frame);
    const hasGround = (head.ground_z !== null || floor !== null) && head.look === "lit";
    if (hasRows && hasGround && rows.body.length <= MOST_SHADOWS) {
      this.solids.drawShadows(frame);
      this.meshes.drawShadows(frame);
    }
    if (hasRows) this.meshes.drawSilhouettes(frame);
    this.marks.drawLines();
    if (head.outline) this.ground.drawOutline(head.outline, camera.eye);
    const hasTransparent = posed?.hasTransparent || this.marks.through.length > 0;
    for (const run of hasTransparent ? backToFront({rows, camera, ...pair}, this.marks.through) : []) {
      if (run.mark !== undefined) this.marks.drawTransparent(run.mark, frame);
      else if (run.kind === "meshes") this.meshes.drawTransparent(run, frame);
      else if (SOLID_KINDS.includes(run.kind)) this.solids.drawTransparent(run, frame);
    }
    this.#setFence();
  }

  /**
   * True while the GPU still draws an earlier picture. A browser queues such pictures, and its callbacks then stop for
   * long; so a page draws no further picture meanwhile.
   */
  get isBusy() {
    const {gl} = this;
    if (this.fence === null || this.isLost) return false;
    if (gl.getSyncParameter(this.fence, gl.SYNC_STATUS) !== gl.SIGNALED) return true;
    gl.deleteSync(this.fence);
    this.fence = null;
    return false;
  }

  #setFence() {
    const {gl} = this;
    if (this.fence !== null) gl.deleteSync(this.fence);
    this.fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
  }

  /** Compiles programs that a change of the method needs. Call it in idle time, after the first picture. */
  prepare() {
    if (!this.isLost) this.poses.prepare();
  }

  /** Drawn poses of bodies with a parent; null if the scene has none. */
  #posed(pair, method) {
    return this.scene.hasParents ? new DrawnPoses(pair, method, this.#parentsOf()) : null;
  }

  #parentsOf() {
    const {scene} = this;
    return scene.hasParents ? (snapshot) => scene.parentRows(snapshot.count) : null;
  }

  /** Which fields keep the value of the older snapshot, by the rules of the scene's columns. */
  #discrete() {
    const {columns, color_by: colorBy} = this.scene.head;
    return {
      keepsColor: columns?.[colorBy ? colorBy.column : "color"] === "none",
      keepsScale3: columns?.scale3 === "none",
    };
  }
}
