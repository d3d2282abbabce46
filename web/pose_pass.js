/**
 * Poses of all rows of a scene between two snapshots, computed by one pass with transform feedback in each frame.
 *
 * The records of a snapshot are copied into the order of the rows when it arrives: one GPU buffer for each snapshot.
 * The pass reads them with the native viewer's text, and writes one row of four vectors for each part of each body. The
 * rows of each layer are drawn between its own two snapshots, by its own method.
 */

import {METHODS} from "./glsl.js";
import {InputBuffer, LAYER_BINDING, pointInput, POSE_INPUTS, ROW_BYTES, ROW_OUTPUTS, UniformBlock} from "./gpu.js";
import {COLOR, FLAGS, paintParts, RECORD_WORDS} from "./scene.js";
import {extentOf} from "./solids.js";

/** Flags and scale of a record of a body that a snapshot does not have: no flag, and a scale that is NaN. */
const MISSING = 0x7e000000;
const OPAQUE = 255;
/** Most buffers that wait for another snapshot. */
const MOST_SPARE = 32;
const LAYER_BYTES = 48;

/**
 * Copies the records of a snapshot into the order of the rows. A body that the snapshot does not have gets a record
 * that is not visible and is never blended.
 * @param {Uint32Array} words records of `count` bodies, 16 words each
 * @param {number} count
 * @param {Uint32Array} body the body of each row
 * @param {Uint32Array} into room for 16 words a row
 * @returns {Uint32Array} the words of all rows; `words` itself if they are in the order of the rows already
 */
function recordsOfRows(words, count, body, into) {
  const rows = body.length;
  let inOrder = rows === count;
  for (let row = 0; row < rows && inOrder; row++) inOrder = body[row] === row;
  if (inOrder) return words.subarray(0, RECORD_WORDS * rows);
  for (let row = 0; row < rows; row++) {
    const at = RECORD_WORDS * row;
    if (body[row] < count) {
      const from = RECORD_WORDS * body[row];
      for (let word = 0; word < RECORD_WORDS; word++) into[at + word] = words[from + word];
    } else {
      into.fill(0, at, at + RECORD_WORDS);
      into[at + FLAGS] = MISSING;
      into[at + COLOR] = 0xffffffff;
    }
  }
  return into.subarray(0, RECORD_WORDS * rows);
}

/**
 * Chooses what is read between two snapshots, as `place` in render/draw/frame/layers.py.
 * @param {{before: object?, older: object, newer: object?, share: number, method: string}} asked
 * @returns {{before: object?, older: object, newer: object?, share: number, gapS: number, beforeGapS: number,
 *   method: string}}
 */
export function chosenPair({before, older, newer, share, method}) {
  const alpha = Math.min(Math.max(share, 0), 1);
  const gapS = newer ? (newer.simNs - older.simNs) / 1e9 : 0;
  const beforeGapS = before ? (older.simNs - before.simNs) / 1e9 : 0;
  const first = newer && alpha >= 1 ? newer : older;
  const next = newer === first ? null : newer ?? null;
  const last = next !== null && method === "auto" && before && before !== first ? before : null;
  return {
    before: last, older: first, newer: next,
    share: next !== null && method !== "none" ? alpha : 0, gapS, beforeGapS: last ? beforeGapS : 0, method,
  };
}

/**
 * Returns the numbers of the rows whose shape or record has an alpha below 255; null if there are none.
 * @param {{color: Uint8Array, body: Uint32Array}} rows
 * @param {Uint32Array} words records of the rows
 * @returns {number[] | null}
 */
function transparentRows({color, body}, words) {
  const found = [];
  for (let row = 0; row < body.length; row++) {
    if (color[4 * row + 3] < OPAQUE || words[RECORD_WORDS * row + COLOR] >>> 24 < OPAQUE) found.push(row);
  }
  return found.length > 0 ? found : null;
}

/** Switches of the program of poses. Every row has a place in its body's frame, so that one variant is enough. */
function poseSwitches(method, isStretched, hasPartScales) {
  const isCurved = method === "hermite" || method === "auto";
  return {
    METHOD: isCurved ? "blending.x" : METHODS.indexOf("linear"), STRETCHED: Number(isStretched), PLACED: 1,
    SCALED_PARTS: Number(hasPartScales), TRANSPARENT: 0,
  };
}

/** Computes and holds the rows' poses. */
export class PosePass {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./gpu.js").Programs} programs
   */
  constructor(gl, programs) {
    this.gl = gl;
    this.programs = programs;
    this.rows = null;
    this.drawn = null;
    this.opaque = new InputBuffer(gl);
    this.transparent = new InputBuffer(gl);
    this.layer = new UniformBlock(gl, LAYER_BINDING, LAYER_BYTES);
    this.block = new ArrayBuffer(LAYER_BYTES);
    this.array = gl.createVertexArray();
    this.feedback = gl.createTransformFeedback();
    this.form = new InputBuffer(gl);
    this.color = new InputBuffer(gl);
    this.local = new InputBuffer(gl);
    this.posed = [new InputBuffer(gl), new InputBuffer(gl)];
    this.spare = [];
    this.staging = new Uint32Array(0);
    this.stretches = new Float32Array(0);
  }

  /** Replaces the rows. @param {object} rows from `Scene.rowsFor` */
  setRows(rows) {
    this.rows = rows;
    const count = rows.body.length;
    this.form.write(rows.form);
    this.color.write(rows.color);
    this.local.write(rows.local);
    for (const buffer of [this.opaque, this.transparent]) buffer.reserve(ROW_BYTES * count);
    if (this.staging.length < RECORD_WORDS * count) this.staging = new Uint32Array(RECORD_WORDS * count);
  }

  /**
   * Copies the records of a snapshot to the GPU, in the order of the present rows, and sets `snapshot.gpu`.
   * @param {object} snapshot
   */
  upload(snapshot) {
    const held = (this.#owns(snapshot) ? snapshot.gpu : this.spare.pop())
      ?? {owner: this, records: new InputBuffer(this.gl), stretch: null};
    const {rows} = this;
    const words = this.#records(snapshot, false);
    held.records.write(words);
    held.transparent = transparentRows(rows, words);
    held.extent = extentOf(rows, words);
    held.rows = rows;
    held.isStretched = this.#uploadStretch(snapshot, held);
    snapshot.gpu = held;
  }

  /** Records of the rows, with the colours and the visibility of parts. isOwn: true if they may be changed. */
  #records(snapshot, isOwn) {
    const {rows, staging} = this;
    const isPainted = rows.base || snapshot.columns?.get("visible")?.per === "part";
    let words = recordsOfRows(snapshot.words, snapshot.count, rows.body, staging);
    if ((isPainted || isOwn) && words.buffer !== staging.buffer) {
      staging.set(words);
      words = staging.subarray(0, words.length);
    }
    if (isPainted) paintParts(words, rows, snapshot.columns, snapshot.parts);
    return words;
  }

  /**
   * Copies the records of a snapshot in which bodies with a parent have their drawn pose, for one picture.
   * @param {object} snapshot
   * @param {import("./pose.js").DrawnPoses} poses
   * @param {InputBuffer} into
   */
  #uploadPosed(snapshot, poses, into) {
    const words = this.#records(snapshot, true);
    poses.placeRows(this.rows.body, words, new Float32Array(words.buffer, words.byteOffset, words.length));
    into.write(words);
    return {...snapshot.gpu, records: into};
  }

  /** Lets the buffers of a snapshot be used for another one. @param {object} snapshot */
  release(snapshot) {
    if (this.#owns(snapshot) && this.spare.length < MOST_SPARE) this.spare.push(snapshot.gpu);
    else if (this.#owns(snapshot)) [snapshot.gpu.records, snapshot.gpu.stretch].forEach((buffer) => buffer?.delete());
    snapshot.gpu = null;
  }

  /** True if the snapshot is on the GPU. It is not after the context was lost. */
  #owns(snapshot) {
    return snapshot.gpu?.owner === this;
  }

  /** Scales along the axes of each row, from the column `scale3` of bodies or of parts; false if there is none. */
  #uploadStretch(snapshot, held) {
    const column = snapshot.columns?.get("scale3");
    const {body, part} = this.rows;
    held.isOfParts = column?.per === "part";
    const from = held.isOfParts ? part : body;
    if (!column || column.width !== 3 || from === undefined) return false;
    if (this.stretches.length < 3 * body.length) this.stretches = new Float32Array(3 * body.length);
    const {values} = column;
    for (let row = 0; row < body.length; row++) {
      for (let axis = 0; axis < 3; axis++) this.stretches[3 * row + axis] = values[3 * from[row] + axis] ?? NaN;
    }
    held.stretch ??= new InputBuffer(this.gl);
    held.stretch.write(this.stretches.subarray(0, 3 * body.length));
    return true;
  }

  /**
   * Computes the poses. The frame's uniform block must be bound.
   * @param {{keepsColor: boolean, keepsScale3: boolean}} discrete
   * @param {object[]} pairs from `chosenPair`, one for each layer of the rows
   * @param {import("./pose.js").DrawnPoses?} poses of bodies with a parent; null if there are none
   * @returns {{isStretched: boolean, hasTransparent: boolean}} hasTransparent: true if
   *   transparent rows are drawn apart; their poses are in the buffer `transparent`, and no others
   */
  run(discrete, pairs, poses = null) {
    const gl = this.gl, isReady = (one) => this.#owns(one) && one.gpu.rows === this.rows;
    for (const {older, newer, before} of pairs) {
      for (const one of [older, newer, before]) if (one && !isReady(one)) this.upload(one);
    }
    const both = pairs.flatMap(({older, newer}) => [older.gpu, (newer ?? older).gpu]);
    const hasTransparent = both.some(({transparent}) => transparent !== null);
    const isStretched = both.every((one) => one.isStretched), hasPartScales = isStretched && both[0].isOfParts;
    this.drawn = {isStretched, hasPartScales};
    gl.enable(gl.RASTERIZER_DISCARD);
    this.rows.layers.forEach((ranges, layer) => {
      if (!ranges.length) return;
      const pair = pairs[layer], {older, newer, before, method} = pair;
      this.#writeLayer(pair, discrete, hasTransparent);
      const held = [older, newer ?? older].map((one, at) => (
        poses === null ? one.gpu : this.#uploadPosed(one, poses, this.posed[at])));
      this.#pointInputs(...held, (before ?? older).gpu, isStretched);
      const switches = poseSwitches(method, isStretched, hasPartScales);
      this.#pass(switches, this.opaque, ranges);
      if (hasTransparent) this.#pass({...switches, TRANSPARENT: 1}, this.transparent, ranges);
    });
    gl.disable(gl.RASTERIZER_DISCARD);
    gl.bindVertexArray(null);
    return {isStretched, hasTransparent};
  }

  /** Compiles the programs that another method needs, so that no frame waits for them. */
  prepare() {
    for (const method of this.drawn === null ? [] : ["auto", "linear"]) {
      const switches = poseSwitches(method, this.drawn.isStretched, this.drawn.hasPartScales);
      this.programs.get("poses", switches, POSE_INPUTS, ROW_OUTPUTS);
    }
  }

  #pass(switches, into, ranges) {
    const gl = this.gl;
    const {program} = this.programs.get("poses", switches, POSE_INPUTS, ROW_OUTPUTS);
    gl.useProgram(program);
    gl.bindBuffer(gl.ARRAY_BUFFER, null);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, this.feedback);
    for (const [first, count] of ranges) {
      gl.bindBufferRange(gl.TRANSFORM_FEEDBACK_BUFFER, 0, into.buffer, ROW_BYTES * first, ROW_BYTES * count);
      gl.beginTransformFeedback(gl.POINTS);
      gl.drawArrays(gl.POINTS, first, count);
      gl.endTransformFeedback();
    }
    gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, null);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, null);
  }

  #writeLayer({before, newer, share, gapS, beforeGapS, method}, {keepsColor, keepsScale3}, hasTransparent) {
    const count = this.rows.body.length;
    new Float32Array(this.block, 0, 4).set([share, 0, gapS, beforeGapS]);
    new Int32Array(this.block, 16, 8).set([
      count, newer ? count : 0, before ? count : 0, Number(hasTransparent),
      METHODS.indexOf(method), Number(keepsColor), Number(keepsScale3), 0,
    ]);
    this.layer.write(new Uint8Array(this.block));
  }

  #pointInputs(older, newer, before, isStretched) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    const record = (first, buffer, fields) => fields.forEach((field, at) => pointInput(
      gl, first + at, buffer, {size: 4, stride: 4 * RECORD_WORDS, offset: 16 * field, asIntegers: field !== 1}));
    record(0, older.records.buffer, [0, 1, 2, 3]);
    record(4, newer.records.buffer, [0, 1, 2, 3]);
    record(8, before.records.buffer, [0, 2]);
    pointInput(gl, 10, this.form.buffer, {size: 4, stride: 16, offset: 0});
    pointInput(gl, 11, this.color.buffer, {size: 4, stride: 4, offset: 0, bytes: true});
    pointInput(gl, 12, this.local.buffer, {size: 3, stride: 28, offset: 0});
    pointInput(gl, 13, this.local.buffer, {size: 4, stride: 28, offset: 12});
    if (!isStretched) {
      gl.disableVertexAttribArray(14);
      gl.disableVertexAttribArray(15);
      return;
    }
    pointInput(gl, 14, older.stretch.buffer, {size: 3, stride: 12, offset: 0});
    pointInput(gl, 15, newer.stretch.buffer, {size: 3, stride: 12, offset: 0});
  }
}
