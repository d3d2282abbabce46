/**
 * Draws one scene between two snapshots into a canvas, or into a part of it.
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
 * Quality levels, the finest first, as LEVELS in render/draw/quality.py. Each also leaves out what those before it
 * leave out. saves: what the level leaves out. density: most pixels of the picture for a CSS pixel. isFenced: true if
 * no picture is drawn while the GPU still draws the one before.
 */
const FULL = {
  name: "full", saves: null, density: 2, shadows: true, silhouettes: true, fine: true, isFenced: false,
};
export const LEVELS = [FULL];
for (const change of [
  {name: "lower resolution", saves: "density", density: 1}, {name: "no shadows", saves: "shadows", shadows: false},
  {name: "hard edges of meshes", saves: "silhouettes", silhouettes: false},
  {name: "plain spheres", saves: "spheres", fine: false}, {name: "reduced size", saves: "size", density: 0.75},
  {name: "fewer pictures", saves: "pictures", isFenced: true},
]) LEVELS.push({...LEVELS.at(-1), ...change});

// A frame is late if its interval is so many refreshes. The GPU is full if it still draws a picture after so many.
const LATE_REFRESHES = 1.5, FULL_REFRESHES = 0.75;
// A cheaper level is chosen if, in the frames of a span, the GPU was full before this share of them, and this share of
// them was also late. Light scenes on a machine whose cores are taken reach 0.4 and 0.06. The first span is for scenes
// far too heavy; in the second, a scene that needs a little more than a refresh is found.
const SPANS = [{spanMs: 1000, full: 0.8, late: 0.4}, {spanMs: 4000, full: 0.85, late: 0.08}];
// Least number of late frames, so that it is more than a hiccup; least number of frames, and time, that are judged.
const LEAST_LATE = 3, LEAST_FRAMES = 4, LEAST_MS = 500;
// So many frames after a change are not judged: programs are compiled.
const SETTLING_FRAMES = 3;
// A finer level is tried if, for this time, the GPU was full before at most this share of the frames of the last
// second.
const FIRST_WAIT_MS = 5000, ROOM = 0.3;
// If a step down follows within this time, the wait doubles, up to the longest. It is reset after the same time.
const RELAPSE_MS = 60_000, LONGEST_WAIT_MS = 600_000;

/**
 * Chooses the quality level: a cheaper one while drawing takes so long that frames are late, and a finer one when there
 * is room again. Frames that are late for another reason (a hidden page, the main thread, other programs) do not count,
 * because then the GPU has drawn its picture. Reads no clock.
 */
export class QualityLadder {
  #at = 0;
  #frames = [];  // of the longest span, since the last change
  #settling = SETTLING_FRAMES;
  #timestampMs = null;
  #leastMs = Infinity;
  #roomMs = 0;
  #waitMs = FIRST_WAIT_MS;
  #raisedMs = -Infinity;

  /** The level of the next picture. */
  get level() {
    return LEVELS[this.#at];
  }

  /** Forgets the frames, because what is drawn has changed, or no frames were made. */
  forget() {
    this.#frames = [];
    this.#settling = SETTLING_FRAMES;
    this.#roomMs = 0;
  }

  /**
   * Takes what is known at the begin of a frame.
   * @param {number} timestampMs
   * @param {number} refreshMs estimated refresh interval of the display
   * @param {number?} busyMs time for which the GPU has drawn the last picture so far; 0 if it has finished; null if the
   *     frame before drew no picture
   * @param {Object<string, boolean>} has what the scene has that a cheaper level saves, by the names of `saves`
   */
  frame(timestampMs, refreshMs, busyMs, has) {
    const intervalMs = timestampMs - (this.#timestampMs ?? timestampMs);
    this.#timestampMs = timestampMs;
    // If all frames are late from the start, the estimate is too long.
    this.#leastMs = Math.min(this.#leastMs, refreshMs);
    if (busyMs === null || (this.#settling && this.#settling--)) return;
    const isFull = busyMs >= FULL_REFRESHES * this.#leastMs;
    const isLate = isFull && intervalMs >= LATE_REFRESHES * this.#leastMs;
    const frames = this.#frames;
    frames.push({timestampMs, intervalMs, isFull, isLate});
    while (frames.length > LEAST_FRAMES && timestampMs - frames[0].timestampMs >= SPANS.at(-1).spanMs) frames.shift();
    for (const span of isLate ? SPANS : []) {
      const meanMs = this.#lateMs(span);
      if (meanMs > 0) return this.#lower(meanMs / this.#leastMs, has);
    }
    if (this.#at > 0) this.#findRoom(intervalMs, has);
  }

  /** Frames of the last `spanMs`, at least LEAST_FRAMES. */
  #last(spanMs) {
    const first = this.#frames.findIndex(({timestampMs}) => this.#timestampMs - timestampMs < spanMs);
    return this.#frames.slice(Math.max(0, Math.min(first, this.#frames.length - LEAST_FRAMES)));
  }

  /** Mean interval of the frames of a span if they are late because of drawing; else 0. */
  #lateMs({spanMs, full, late}) {
    const frames = this.#last(spanMs), {length} = frames, isFirst = spanMs === SPANS[0].spanMs;
    const timeMs = frames.reduce((sum, {intervalMs}) => sum + intervalMs, 0);
    const lates = frames.filter(({isLate}) => isLate).length;
    if (length < LEAST_FRAMES || timeMs < (isFirst ? LEAST_MS : 0.9 * spanMs) || lates < LEAST_LATE) return 0;
    return lates >= late * length && shareOfFull(frames) >= full ? timeMs / length : 0;
  }

  /** Chooses a cheaper level, several steps further if frames take many refreshes. */
  #lower(refreshes, has) {
    const isRelapse = this.#timestampMs - this.#raisedMs < RELAPSE_MS;
    this.#settle();
    if (isRelapse) this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
    this.#raisedMs = -Infinity;
    let left = isRelapse ? 1 : Math.max(1, Math.floor(2 * Math.log2(refreshes)));
    while (left > 0 && this.#at < LEVELS.length - 1) left -= Number(has[LEVELS[++this.#at].saves] ?? true);
    this.forget();
  }

  /** Resets the wait if the finer level that was tried last has lasted. */
  #settle() {
    if (this.#raisedMs > 0 && this.#timestampMs - this.#raisedMs >= RELAPSE_MS) this.#waitMs = FIRST_WAIT_MS;
  }

  #findRoom(intervalMs, has) {
    this.#settle();
    if (shareOfFull(this.#last(SPANS[0].spanMs)) > ROOM) this.#roomMs = 0;
    else this.#roomMs += intervalMs;
    if (this.#roomMs < this.#waitMs) return;
    while (this.#at > 0 && !(has[LEVELS[this.#at--].saves] ?? true));
    this.#raisedMs = this.#timestampMs;
    this.forget();
  }
}

const shareOfFull = (frames) => frames.filter(({isFull}) => isFull).length / frames.length;

/**
 * Converts a rotation to a unit quaternion xyzw (Shepperd 1978), as `quaternion_of` in frame_block.py.
 * @param {ArrayLike<number>} view 4 x 4, row by row
 * @returns {[number, number, number, number]}
 */
function quaternionOf(view) {
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
 * @param {number[]} [corner] left and bottom of the viewport, px
 * @returns {Float32Array}
 */
export function frameBlock(
  head, camera, widthPx, heightPx, floor = groundOf(head), skyColor = null, corner = [0, 0],
) {
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
    target[0] - eye[0], target[1] - eye[1], ...corner,
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
    this.has = {};  // what the last picture had that a quality level saves, by the names of `saves`
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
   *     widthPx: number, heightPx: number, layers?: object[], poses?: import("./pose.js").DrawnPoses, leftPx?: number,
   *     canvasPx?: number, level?: object}} asked before: snapshot or null. newer: may equal older. layers: the same
   *     for each layer of the scene, if it has several. poses: as drawn. leftPx: left edge of the picture. canvasPx:
   *     width of the canvas, by default the picture's. level: one of LEVELS, by default the first
   */
  draw(asked) {
    const {camera, widthPx, heightPx, leftPx = 0, canvasPx = widthPx, level = FULL} = asked;
    const {gl, canvas, scene} = this;
    if (scene === null || this.isLost || gl.isContextLost()) return;
    if (canvas.width !== canvasPx) canvas.width = canvasPx;
    if (canvas.height !== heightPx) canvas.height = heightPx;
    const {head} = scene;
    const pairs = (asked.layers ?? [asked]).map(chosenPair), [pair] = pairs;
    for (const {older, newer} of pairs) for (const one of [older, newer]) if (one) this.#makeRoom(one);
    const pairOf = (body) => pairs[scene.layerOf(body)];
    const parentsOf = scene.hasParents ? ({count}) => scene.parentRows(count) : null;
    const poses = asked.poses ?? new DrawnPoses(pair, asked.method, parentsOf, pairOf);
    const {rows} = this.poses;
    const hasRows = rows.body.length > 0;
    const floor = hasRows && head.ground_z === null ? levelFloor(rows, pair.older, pair.newer) : null;
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(leftPx, 0, widthPx, heightPx);
    gl.viewport(leftPx, 0, widthPx, heightPx);
    const skyColor = this.ground.sky?.meanColor ?? null;
    const given = floor ?? groundOf(head);
    this.frame.write(frameBlock(head, camera, widthPx, heightPx, given, skyColor, [leftPx, 0]));
    const posed = hasRows ? this.poses.run(this.#discrete(), pairs, scene.hasParents ? poses : null) : null;
    const frame = {
      isParallel: camera.orthographic, isOutlined: head.look === "flat", isStretched: posed?.isStretched ?? false,
      leftPx, widthPx, heightPx, isWide: isWide(camera),
      spheres: hasRows ? this.detail.passes(rows, pair, asked, level.fine) : [],
    };
    this.meshes.begin(pairOf);
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
    this.has = {
      shadows: hasRows && hasGround && rows.body.length <= MOST_SHADOWS, silhouettes: this.meshes.groups.length > 0,
      spheres: hasRows && this.detail.isFine,
    };
    if (this.has.shadows && level.shadows) {
      this.solids.drawShadows(frame);
      this.meshes.drawShadows(frame);
    }
    if (hasRows && level.silhouettes) this.meshes.drawSilhouettes(frame);
    this.marks.drawLines();
    if (head.outline) this.ground.drawOutline(head.outline, camera.eye);
    const hasTransparent = posed?.hasTransparent || this.marks.through.length > 0;
    for (const run of hasTransparent ? backToFront({rows, camera, pairs, pairOf}, this.marks.through) : []) {
      if (run.mark !== undefined) this.marks.drawTransparent(run.mark, frame);
      else if (run.kind === "meshes") this.meshes.drawTransparent(run, frame);
      else if (SOLID_KINDS.includes(run.kind)) this.solids.drawTransparent(run, frame);
    }
    this.#setFence();
  }

  /**
   * True while the GPU still draws an earlier picture. A browser queues such pictures, and its callbacks then stop for
   * long.
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

  /** Which fields keep the value of the older snapshot, by the rules of the scene's columns. */
  #discrete() {
    const {columns, color_by: colorBy} = this.scene.head;
    return {
      keepsColor: columns?.[colorBy ? colorBy.column : "color"] === "none",
      keepsScale3: columns?.scale3 === "none",
    };
  }
}
