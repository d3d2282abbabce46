/**
 * Trails: dots where the frames of the last second drew each body, as in render/scene/trails.py.
 *
 * Always: a picture that stands still adds no dots, and its trails do not age. A body at rest has no dots, and a body
 * that was moved elsewhere loses its dots. Memory and work are bounded, whatever the number of bodies.
 */

import {InputBuffer, pointInput} from "./gpu.js";
import {COLOR, EPOCH, hasColor, RECORD_WORDS} from "./scene.js";

const SECONDS = 1;
// Bodies whose positions are stored, and those of them whose dots are drawn: the ones that moved furthest.
const MOST_BODIES = 256, MOST_DOTTED = 64;
const MOST_FRAMES = 256;
const CONTINUITY_MASK = 0xffff;
const DOT_PX = 5, DOT_BYTES = 16;
const VERTEX = `#version 300 es
precision highp float;
in vec3 place;
in vec4 tint;
uniform mat4 matrix;
uniform float size_px;
out vec4 shade;
void main() {
  gl_Position = matrix * vec4(place, 1.0);
  gl_PointSize = size_px;
  shade = tint;
}`;
const PIXEL = `#version 300 es
precision mediump float;
in vec4 shade;
out vec4 color;
void main() {
  float away = length(gl_PointCoord - 0.5) * 2.0;
  color = vec4(shade.rgb, shade.a * (1.0 - smoothstep(0.7, 1.0, away)));
}`;

/** Bodies that leave trails: all, or every second, fourth, eighth ... @returns {number[]} */
export function trailRows(count) {
  let stride = 1;
  while (count > MOST_BODIES * stride) stride *= 2;
  return Array.from({length: Math.ceil(count / stride)}, (_, at) => at * stride);
}

/** Dots of one picture. Pure: reads no clock. */
export class Trails {
  #rows = [];
  #count = 0;
  #frames = [];  // the oldest first: {ms, places}
  #drawn = null;
  #epochs = new Map();
  #presentMs = null;
  #nowMs = 0;  // a time that stops when the picture does

  /** Removes all dots. */
  clear() {
    this.#frames = [];
    this.#drawn = null;
    this.#epochs.clear();
  }

  /**
   * Adds a frame that was drawn.
   * @param {number} presentMs
   * @param {import("./pose.js").DrawnPoses} poses
   * @param {object} older  the older snapshot of the pair, which has the epochs
   */
  add(presentMs, poses, older) {
    const passedMs = this.#presentMs === null ? 0 : Math.max(0, presentMs - this.#presentMs);
    this.#presentMs = presentMs;
    if (poses.count !== this.#count) {
      this.clear();
      this.#count = poses.count;
      this.#rows = trailRows(poses.count);
    }
    const places = new Float64Array(3 * this.#rows.length).fill(NaN);
    this.#rows.forEach((body, row) => {
      const {position, isVisible, isDrawable} = poses.of(body);
      const epoch = older.words[RECORD_WORDS * body + EPOCH] & CONTINUITY_MASK;
      if (this.#epochs.get(body) !== epoch) {
        for (const frame of this.#frames) frame.places.fill(NaN, 3 * row, 3 * row + 3);
        this.#epochs.set(body, epoch);
      }
      if (isVisible && isDrawable) places.set(position, 3 * row);
    });
    const drawn = this.#drawn;
    if (drawn !== null && places.every((value, at) => Object.is(value, drawn[at]))) return;
    this.#drawn = places.slice();
    this.#nowMs += passedMs;
    const before = this.#frames.at(-1)?.places;
    for (let at = 0; before !== undefined && at < places.length; at += 3) {
      const isAtRest = [0, 1, 2].every((axis) => before[at + axis] === places[at + axis]);
      if (isAtRest) before.fill(NaN, at, at + 3);
    }
    this.#frames.push({ms: this.#nowMs, places});
    const isOld = ({ms}) => this.#nowMs - ms >= SECONDS * 1000;
    while (this.#frames.length > MOST_FRAMES || isOld(this.#frames[0])) this.#frames.shift();
  }

  /** @returns {{body: number, position: number[], alpha: number}[]} alpha: 1 for the newest dots, 0 after a second */
  dots() {
    const found = [], frames = this.#frames;
    for (const row of this.#furthest()) {
      for (const {ms, places} of frames) {
        const position = [...places.subarray(3 * row, 3 * row + 3)];
        if (Number.isNaN(position[0])) continue;
        found.push({body: this.#rows[row], position, alpha: 1 - (this.#nowMs - ms) / (SECONDS * 1000)});
      }
    }
    return found;
  }

  /** Rows of the bodies that moved, by the longest side of the box around their dots. */
  #furthest() {
    const moved = this.#rows.map((_, row) => Math.max(...[0, 1, 2].map((axis) => {
      let low = Infinity, high = -Infinity;
      for (const {places} of this.#frames) {
        const value = places[3 * row + axis];
        if (value < low) low = value;
        if (value > high) high = value;
      }
      return high - low;
    })));
    const rows = [...moved.keys()].filter((row) => moved[row] > 0);
    return rows.sort((one, other) => moved[other] - moved[one]).slice(0, MOST_DOTTED);
  }
}

/** Draws the dots of trails over a picture that was drawn, hidden by bodies that are nearer. */
export class TrailDots {
  #renderer;
  #programs = null;  // of the renderer: others after a lost context
  #program;
  #buffer;
  #input;

  constructor(renderer) {
    this.#renderer = renderer;
  }

  /**
   * @param {ReturnType<Trails["dots"]>} dots
   * @param {object} scene
   * @param {object} older  the snapshot that has the bodies' own colours
   * @param {object} camera
   * @param {number} density  pixels of the canvas in one CSS pixel
   */
  draw(dots, scene, older, {view, projection, eye}, density) {
    const {gl} = this.#renderer;
    if (!dots.length || this.#renderer.isLost || gl.isContextLost()) return;
    if (this.#programs !== this.#renderer.programs) this.#make(gl);
    const floats = new Float32Array(DOT_BYTES / 4 * dots.length), bytes = new Uint8Array(floats.buffer);
    const colors = colorsOf(scene.rowsFor(older.count));
    dots.forEach(({body, position, alpha}, at) => {
      floats.set(position.map((value, axis) => value - eye[axis]), 4 * at);
      const own = RECORD_WORDS * body, word = older.words[own + COLOR];
      const rgb = hasColor(older.words, own) ? [word, word >>> 8, word >>> 16] : colors.get(body) ?? [255, 255, 255];
      bytes.set([...rgb.slice(0, 3), Math.round(255 * alpha)], DOT_BYTES * at + 12);
    });
    this.#buffer.write(bytes);
    gl.useProgram(this.#program);
    gl.bindVertexArray(this.#input);
    pointInput(gl, 0, this.#buffer.buffer, {stride: DOT_BYTES, size: 3, offset: 0, divisor: 0});
    pointInput(gl, 1, this.#buffer.buffer, {stride: DOT_BYTES, size: 4, offset: 12, divisor: 0, bytes: true});
    gl.uniformMatrix4fv(gl.getUniformLocation(this.#program, "matrix"), false, matrixOf(view, projection));
    gl.uniform1f(gl.getUniformLocation(this.#program, "size_px"), DOT_PX * density);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    gl.drawArrays(gl.POINTS, 0, dots.length);
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  #make(gl) {
    this.#programs = this.#renderer.programs;
    this.#program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, PIXEL]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(this.#program, shader);
    }
    gl.bindAttribLocation(this.#program, 0, "place");
    gl.bindAttribLocation(this.#program, 1, "tint");
    gl.linkProgram(this.#program);
    this.#buffer = new InputBuffer(gl);
    this.#input = gl.createVertexArray();
  }
}

/** Colour of the first part of each body. */
function colorsOf({body, color}) {
  const found = new Map();
  body.forEach((one, row) => found.has(one) || found.set(one, [...color.subarray(4 * row, 4 * row + 4)]));
  return found;
}

/** Column by column: from a place relative to the eye to clip space. */
function matrixOf(view, projection) {
  const matrix = new Float32Array(16);
  for (let row = 0; row < 4; row++) {
    for (let column = 0; column < 3; column++) {
      const terms = [0, 1, 2].map((at) => projection[4 * row + at] * view[4 * at + column]);
      matrix[4 * column + row] = terms[0] + terms[1] + terms[2];
    }
    matrix[12 + row] = projection[4 * row + 3];
  }
  return matrix;
}
