/**
 * Marks (arrows, lines, contact points) between two snapshots, and trails: dots where frames drew each body.
 *
 * Marks are matched by key and blended as in render/interpolation/blending.py. Solids and lines are those of
 * render/draw/marks/mark_solids.py. A solid is a row like those of bodies, so the programs of shapes draw it. Trails
 * are those of render/scene/trails.py.
 *
 * Always: a picture that stands still adds no dots, and its trails do not age. A body at rest has no dots, and a body
 * that was moved elsewhere loses its dots. Memory and work are bounded, whatever the number of bodies.
 */

import {AXIS_COLORS, AXIS_RADIUS, HEAD_LENGTH, HEAD_RADIUS, HEAD_SHARE, MARK_KINDS, THINNEST, TO_AXES} from "./glsl.js";
import {InputBuffer, pointInput, ROW_BYTES} from "./gpu.js";
import {LINE_BYTES} from "./ground.js";
import {multiply, normalized, rotate, slerp} from "./pose.js";
import {COLOR, EPOCH, hasColor, RECORD_WORDS} from "./scene.js";

const WORDS = 16;
/** Words of a mark: the first of position, orientation and size; colour; kind (low byte); label; body. */
const [POSITION, ORIENTATION, SIZE, TINT, KIND, LABEL, BODY] = [2, 5, 9, 12, 13, 14, 15];
const FARTHEST = 1e30;
const TEXT_RECORD = 255;
const SOLIDS = ["boxes", "capsules", "cylinders", "ellipsoids", "cones"];
const OPAQUE = 255;

/**
 * @typedef {Object} Mark
 * @property {number} high upper half of the key
 * @property {number} low lower half of the key
 * @property {string} kind one of MARK_KINDS
 * @property {number[]} position metres, in the world or in the frame of `body`
 * @property {number[]} turn unit quaternion xyzw, in the same frame
 * @property {number[]} size metres, see MARK_KINDS in ipc/snapshot.py
 * @property {number[]} color rgba bytes
 * @property {number} label
 * @property {number} body the body to which the mark is attached; -1: none
 */

/**
 * The marks of a snapshot that can be drawn, sorted by key. Later calls return the same array.
 * @param {object} snapshot
 * @returns {Mark[]}
 */
function drawableMarks(snapshot) {
  snapshot.drawable ??= readMarks(snapshot);
  return snapshot.drawable;
}

function readMarks({markWords, vertices = 0}) {
  if (!markWords || markWords.length === 0) return [];
  const floats = new Float32Array(markWords.buffer, markWords.byteOffset, markWords.length);
  let count = markWords.length / WORDS - Math.ceil(12 * vertices / 64);
  const last = WORDS * (count - 1);
  if (count > 0 && (markWords[last + KIND] & 255) === TEXT_RECORD) count = Math.max(0, count - markWords[last + LABEL]);
  const found = [];
  for (let at = 0; at < WORDS * count; at += WORDS) {
    const kind = MARK_KINDS[markWords[at + KIND] & 255];
    let isWell = kind !== undefined;
    for (let of = at + POSITION; of < at + TINT; of++) isWell &&= Math.abs(floats[of]) < FARTHEST;
    if (!isWell) continue;
    const bytes = markWords[at + TINT], three = (of) => [floats[of], floats[of + 1], floats[of + 2]];
    found.push({
      high: markWords[at + 1], low: markWords[at], kind, position: three(at + POSITION),
      turn: normalized([...three(at + ORIENTATION), floats[at + ORIENTATION + 3]]), size: three(at + SIZE),
      color: [bytes & 255, (bytes >>> 8) & 255, (bytes >>> 16) & 255, bytes >>> 24],
      label: markWords[at + LABEL], body: markWords[at + BODY] - 1,
    });
  }
  return found.sort(byKey);
}

const byKey = (one, other) => one.high - other.high || one.low - other.low;

/**
 * The marks that are drawn between two snapshots.
 * @param {{older: object, newer: object?, share: number}} pair from `chosenPair`
 * @returns {Mark[]}
 */
export function blendedMarks({older, newer, share}) {
  const before = drawableMarks(older);
  const after = newer === null || share <= 0 ? [] : drawableMarks(newer);
  if (before.length === 0 || after.length === 0) return before;
  let at = 0;
  return before.map((mark) => {
    while (at < after.length && byKey(after[at], mark) < 0) at++;
    if (at === after.length || byKey(after[at], mark) !== 0) return mark;
    const next = after[at++];
    return next.body === mark.body ? blended(mark, next, share) : mark;
  });
}

function blended(mark, next, share) {
  const isSame = (from, to) => from.every((value, axis) => value === to[axis]);
  const mixed = (from, to) => from.map((value, axis) => value + (to[axis] - value) * share);
  const between = (from, to) => (isSame(from, to) ? from : mixed(from, to));
  const {high, low, kind, label, body, turn} = mark;
  return {
    high, low, kind, label, body, position: between(mark.position, next.position),
    turn: isSame(turn, next.turn) ? turn : slerp(turn, next.turn, share),
    size: kind === next.kind ? between(mark.size, next.size) : mark.size,
    color: isSame(mark.color, next.color) ? mark.color : between(mark.color, next.color).map(Math.round),
  };
}

/**
 * Marks in the world. A mark whose body is hidden or does not exist is left out.
 * @param {Mark[]} marks
 * @param {import("./pose.js").DrawnPoses} poses
 */
export function placedMarks(marks, poses) {
  if (marks.every(({body}) => body < 0)) return marks;
  return marks.flatMap((mark) => {
    if (mark.body < 0) return [mark];
    const pose = poses.of(mark.body);
    if (pose === null || !pose.isVisible) return [];
    const position = rotate(pose.orientation, mark.position).map((value, axis) => value + pose.position[axis]);
    return [{...mark, position, turn: multiply(pose.orientation, mark.turn)}];
  });
}

/**
 * The solids and the thin lines of marks.
 * @param {Mark[]} marks in the world
 * @returns {{solids: {solid: string, position: number[], turn: number[], half: number[], color: number[]}[],
 *   lines: {start: number[], end: number[], color: number[]}[]}}
 */
function markSolids(marks) {
  const solids = [];
  const lines = [];
  for (const mark of marks) {
    const {kind, position, turn, size: [a, b, c], color} = mark;
    const ahead = (metres) => (
      metres === 0 ? position : rotate(turn, [0, 0, metres]).map((value, axis) => value + position[axis]));
    const add = (solid, half, metres = 0, own = turn, tint = color, place = ahead(metres)) => (
      solids.push({solid, position: place, turn: own, half, color: tint}));
    const flattened = (half) => half.map((value) => Math.max(value, Math.max(0, ...half) * THINNEST));
    if (kind === "sphere") add("ellipsoids", [a, a, a]);
    else if (kind === "box") add("boxes", flattened([a / 2, b / 2, c / 2]));
    else if (kind === "ellipsoid") add("ellipsoids", flattened([a / 2, b / 2, c / 2]));
    else if (kind === "capsule") add("capsules", flattened([a, a, b / 2]));
    else if (kind === "cylinder") add("cylinders", flattened([a, a, b / 2]));
    else if (kind === "axes") {
      TO_AXES.forEach((toAxis, axis) => {
        const own = multiply(turn, toAxis);
        const place = rotate(own, [0, 0, a / 2]).map((value, at) => value + position[at]);
        const tint = [...AXIS_COLORS[axis].map((value, at) => Math.round(color[at] * value / 255)), color[3]];
        add("cylinders", [a * AXIS_RADIUS, a * AXIS_RADIUS, a / 2], 0, own, tint, place);
      });
    } else if (kind === "arrow" || kind === "line") {
      if (!(a > 0)) lines.push({start: position, end: ahead(b), color});
      else if (kind === "line") add("cylinders", [a, a, b / 2], b / 2);
      else {
        const head = c > 0 ? HEAD_SHARE * b : Math.min(HEAD_LENGTH * a, b);
        const around = c > 0 ? c : head * (HEAD_RADIUS / HEAD_LENGTH);
        add("cylinders", [a, a, (b - head) / 2], (b - head) / 2);
        add("cones", [around, around, head / 2], b - head / 2);
      }
    }
  }
  return {solids, lines};
}

/** Draws the marks of a picture. Call `begin` first. */
export class Marks {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./solids.js").Solids} solids
   * @param {import("./ground.js").Ground} ground
   */
  constructor(gl, solids, ground) {
    this.solids = solids;
    this.ground = ground;
    this.opaque = new InputBuffer(gl);
    this.transparent = new InputBuffer(gl);
    this.runs = [];
    this.through = [];
    this.lines = [];
    this.brightness = 1;
  }

  /**
   * Takes over the marks of a picture.
   * @param {Mark[]} marks in the world
   * @param {number[]} eye
   * @param {number} brightness factor on the colours of bodies
   */
  begin(marks, eye, brightness) {
    this.brightness = brightness;
    const {solids, lines} = marks.length > 0 ? markSolids(marks) : {solids: [], lines: []};
    const fromEye = (place) => place.map((value, axis) => value - eye[axis]);
    this.lines = lines.map(({start, end, color}) => ({start: fromEye(start), end: fromEye(end), color}));
    const rows = solids.filter(({color}) => color[3] > 0).map((one) => ({...one, place: fromEye(one.position)}));
    const opaque = rows.filter(({color}) => color[3] === OPAQUE)
      .sort((one, other) => SOLIDS.indexOf(one.solid) - SOLIDS.indexOf(other.solid));
    this.through = rows.filter(({color}) => color[3] < OPAQUE);
    const isOf = (kind) => ({solid}) => solid === kind;
    this.runs = SOLIDS.map((kind) => (
      {kind, first: opaque.findIndex(isOf(kind)), count: opaque.filter(isOf(kind)).length}
    )).filter(({count}) => count > 0);
    this.opaque.write(this.#rowsOf(opaque));
    this.transparent.write(this.#rowsOf(this.through));
  }

  /** Draws the opaque solids, like bodies. @param {{isParallel: boolean, isOutlined: boolean}} frame */
  drawOpaque(frame) {
    for (const run of this.runs) this.solids.drawMarks(run, frame, this.opaque, false);
  }

  /** Draws the thin lines. */
  drawLines() {
    const bytes = new Uint8Array(LINE_BYTES * this.lines.length);
    this.lines.forEach(({start, end, color}, at) => {
      new Float32Array(bytes.buffer, LINE_BYTES * at, 6).set([...start, ...end]);
      bytes.set(color, LINE_BYTES * at + 24);
    });
    if (this.lines.length > 0) this.ground.drawLines(bytes, this.lines.length);
  }

  /** Draws a transparent solid. @param {number} at its index in `through` */
  drawTransparent(at, frame) {
    this.solids.drawMarks({kind: this.through[at].solid, first: at, count: 1}, frame, this.transparent, true);
  }

  #rowsOf(solids) {
    const rows = new Float32Array(ROW_BYTES / 4 * solids.length);
    solids.forEach(({place, turn, half, color}, at) => {
      const row = rows.subarray(ROW_BYTES / 4 * at);
      row.set(place), row.set(turn, 4), row.set(half, 8);
      row[3] = row[15] = 1;
      row[11] = color[3] / 255;
      for (let of = 0; of < 3; of++) row[12 + of] = color[of] / 255 * this.brightness;
    });
    return rows;
  }
}

// Bodies whose positions are stored, and those of them whose dots are drawn: the ones that moved furthest.
const MOST_BODIES = 256, MOST_DOTTED = 64;
// Limits of what is drawn and stored, see render/scene/trails.py.
const MOST_DOTS = 8192, MOST_FRAMES = 4096;
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

/**
 * Dots of one picture in the last `seconds`, which may be Infinity. When no further frame has room, every second one is
 * removed, and from then on only half as many are kept, besides the newest. Pure: reads no clock.
 */
export class Trails {
  #seconds;
  #rows = [];
  #count = 0;
  #frames = [];  // the oldest first: {ms, places, number}
  #stride = 1;  // the frames whose numbers are multiples of it are kept
  #number = 0;
  #drawn = null;
  #epochs = new Map();
  #presentMs = null;
  #nowMs = 0;  // a time that stops when the picture does

  constructor(seconds = 1) {
    this.#seconds = seconds;
  }

  /** Removes all dots. */
  clear() {
    this.#frames = [];
    this.#stride = 1;
    this.#number = 0;
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
    let frames = this.#frames;
    if (frames.at(-1)?.number % this.#stride) frames.pop();
    while (frames.length && this.#age(frames[0]) >= 1) frames.shift();
    if (frames.length + 1 > Math.min(MOST_FRAMES, MOST_DOTS / Math.min(this.#rows.length, MOST_DOTTED))) {
      this.#stride *= 2;
      frames = this.#frames = frames.filter(({number}) => number % this.#stride === 0);
    }
    const before = frames.at(-1)?.places, isKept = this.#number % this.#stride === 0;
    for (let at = 0; before !== undefined && at < places.length; at += 3) {
      const isAtRest = [0, 1, 2].every((axis) => before[at + axis] === places[at + axis]);
      if (isAtRest) (isKept ? before : places).fill(NaN, at, at + 3);
    }
    frames.push({ms: this.#nowMs, places, number: this.#number++});
  }

  #age({ms}) {
    return (this.#nowMs - ms) / (this.#seconds * 1000);
  }

  /** @returns {{body: number, position: number[], alpha: number}[]} alpha: 1 for the newest dots, 0 for the oldest */
  dots() {
    const found = [];
    for (const row of this.#furthest()) {
      for (const frame of this.#frames) {
        const position = [...frame.places.subarray(3 * row, 3 * row + 3)];
        if (Number.isNaN(position[0])) continue;
        found.push({body: this.#rows[row], position, alpha: 1 - this.#age(frame)});
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
