/**
 * What is around the bodies: the background's colour, the grid of lines on the ground, the outline box, and the floor
 * that receives soft shadows.
 */

import {
  COARSE_ALPHA, ENDLESS_M, FAR_FADE_RADII, FEW_CASTERS, FINE_ALPHA, FINE_DISTANCES, FINE_SHARE, FINEST_SHARE,
  GRID_COLOR, GRID_DISTANCES, HEIGHT_SHARE, LEAN, MOST_CUBE_PX, MOST_STILL, NEAR_FADE_RADII, OUTLINE_COLOR,
  OUTLINE_EDGES,
} from "./glsl.js";
import {InputBuffer, pointInput, sidesOf} from "./gpu.js";
import {multiply, normalized, rotate} from "./pose.js";
import {COLOR, FLAGS, halfFloat, RECORD_WORDS, SPIN, VELOCITY, VISIBLE} from "./scene.js";

const LINE_INPUTS = ["start", "end", "color"];
/** Bytes of a line: start and end relative to the eye, colour. */
export const LINE_BYTES = 28;

const VELOCITIES = [0, 1, 2].flatMap((axis) => [VELOCITY + axis, SPIN + axis]);

export const dot = (one, other) => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];

/**
 * Returns the place of a part in a snapshot, without blending.
 * @param {{body: Uint32Array, local: Float32Array}} rows
 * @param {number} row
 * @param {{words: Uint32Array, floats: Float32Array}} snapshot
 * @returns {{position: number[], turn: number[], scale: number}} turn: unit quaternion xyzw
 */
export function placedPart({body, local}, row, {words, floats}) {
  const at = RECORD_WORDS * body[row];
  const scale = halfFloat(words[at + FLAGS] >>> 16);
  const turn = normalized([...floats.subarray(at + 4, at + 8)]);
  const arm = rotate(turn, [...local.subarray(7 * row, 7 * row + 3)].map((value) => value * scale));
  const position = arm.map((value, axis) => value + floats[at + axis]);
  return {position, turn: multiply(turn, normalized([...local.subarray(7 * row + 3, 7 * row + 7)])), scale};
}

/**
 * The floor of a scene without a floor of its own: an endless one at the height of the ground.
 * @param {object} head the scene's JSON
 * @returns {{middle: number[], along: number[], halfM: number[], fadeRadii: number}}
 */
export function groundOf(head) {
  return {
    middle: [0, 0, head.ground_z ?? 0], along: [1, 0], halfM: [ENDLESS_M, ENDLESS_M], fadeRadii: NEAR_FADE_RADII,
  };
}

/**
 * Finds the floor of a scene that has no ground: the largest level plane that stands still and is opaque, as
 * render/draw/bodies/level_floor.py.
 * @param {object} rows
 * @param {object} older snapshot
 * @param {object?} newer snapshot
 * @returns {{middle: number[], along: number[], halfM: number[], fadeRadii: number}?}
 */
export function levelFloor(rows, older, newer) {
  const planes = rows.groups.filter(({kind}) => kind === "planes");
  if (planes.reduce((sum, {count}) => sum + count, 0) > MOST_STILL) return null;
  let floor = null;
  for (const {first, count} of planes) {
    for (let row = first; row < first + count; row++) {
      if (!standsStill(rows, row, older, newer)) continue;
      const {position, turn, scale} = placedPart(rows, row, older);
      const [normal, along] = [rotate(turn, [0, 0, 1]), rotate(turn, [1, 0, 0])];
      const halfM = [rows.form[4 * row] * scale, rows.form[4 * row + 1] * scale];
      if (Math.abs(normal[0]) > LEAN || Math.abs(normal[1]) > LEAN || !position.every(Number.isFinite)) continue;
      if (floor !== null && floor.halfM[0] * floor.halfM[1] >= halfM[0] * halfM[1]) continue;
      const fadeRadii = rows.body.length <= FEW_CASTERS ? FAR_FADE_RADII : NEAR_FADE_RADII;
      floor = {middle: position, along: along.slice(0, 2), halfM, fadeRadii};
    }
  }
  return floor;
}

/** True if a row is visible and opaque, and its body does not move between the two snapshots. */
function standsStill(rows, row, older, newer) {
  const at = RECORD_WORDS * rows.body[row];
  const {words, floats} = older;
  if (rows.body[row] >= older.count || rows.color[4 * row + 3] < 255) return false;
  if (words[at + COLOR] >>> 24 < 255) return false;
  if (!(words[at + FLAGS] & VISIBLE) || !(halfFloat(words[at + FLAGS] >>> 16) > 0)) return false;
  if (newer === null) return true;
  if (rows.body[row] >= newer.count || VELOCITIES.some((word) => floats[at + word] !== 0)) return false;
  for (let word = at; word < at + RECORD_WORDS; word++) if (words[word] !== newer.words[word]) return false;
  return true;
}

/**
 * Returns the levels of the grid for a camera at this distance from its target, as `grid_levels` in
 * render/draw/flat/background.py. The spacing of each level is a power of ten metres.
 * @param {number} distanceM
 * @returns {{spacingM: number, radiusM: number, alpha: number}[]}
 */
export function gridLevels(distanceM) {
  const decades = Math.log10(distanceM * FINEST_SHARE);
  const gone = decades - Math.floor(decades);
  const spacingM = 10 ** Math.floor(decades);
  const fullM = distanceM * GRID_DISTANCES;
  const fineM = distanceM * FINE_DISTANCES;
  const levels = [
    {
      spacingM: spacingM * 10, radiusM: fullM + (fineM - fullM) * gone,
      alpha: COARSE_ALPHA + (FINE_ALPHA - COARSE_ALPHA) * gone,
    },
    {spacingM: spacingM * 100, radiusM: fullM, alpha: COARSE_ALPHA},
  ];
  if (gone < FINE_SHARE) levels.push({spacingM, radiusM: fineM, alpha: FINE_ALPHA * (1 - gone / FINE_SHARE)});
  return levels;
}

/** Signed distance from a coordinate to the nearest line, in metres. */
function nearestLine(atM, spacingM) {
  return Math.floor(atM / spacingM + 0.5) * spacingM - atM;
}

/**
 * Start, end and colour of the twelve edges of a box, relative to the eye: 28 bytes an edge.
 * @param {[number[], number[]]} corners lowest and highest corner in the world, metres
 * @param {number[]} eye
 * @returns {Uint8Array}
 */
function outlineRows([low, high], eye) {
  const corner = (bits) => [0, 1, 2].map((axis) => ((bits >> axis) & 1 ? high : low)[axis] - eye[axis]);
  const bytes = new Uint8Array(LINE_BYTES * OUTLINE_EDGES.length);
  OUTLINE_EDGES.forEach(([from, to], at) => {
    new Float32Array(bytes.buffer, LINE_BYTES * at, 6).set([...corner(from), ...corner(to)]);
    bytes.set(OUTLINE_COLOR, LINE_BYTES * at + 24);
  });
  return bytes;
}

/** Directions of a pixel of each side of a cube, in OpenGL's layout. right, down: -1 to 1. */
const CUBE_DIRECTIONS = [
  (right, down) => [1, -down, -right], (right, down) => [-1, -down, right], (right, down) => [right, 1, down],
  (right, down) => [right, -1, -down], (right, down) => [right, -down, 1], (right, down) => [-right, -down, -1],
];

/**
 * Projects an image of all directions onto a cube, as `on_cube` in render/draw/flat/background.py.
 * @param {{pixels: Uint8Array, shape: number[]}} image
 * @returns {{pixels: Uint8Array, shape: number[]}[]} six sides, red, green and blue
 */
function onCube({pixels, shape: [heightPx, widthPx, channels]}) {
  const side = Math.min(Math.max(Math.floor(heightPx * HEIGHT_SHARE), 1), MOST_CUBE_PX);
  const clipped = (value, most) => Math.min(Math.max(Math.trunc(value), 0), most);
  return CUBE_DIRECTIONS.map((directionOf) => {
    const projected = new Uint8Array(3 * side * side);
    for (let at = 0; at < side * side; at++) {
      const right = ((at % side) + 0.5) / side * 2 - 1;
      const down = (Math.floor(at / side) + 0.5) / side * 2 - 1;
      const [x, y, z] = directionOf(right, down);
      const row = clipped((0.5 - Math.atan2(z, Math.hypot(x, y)) / Math.PI) * heightPx, heightPx - 1);
      const column = clipped((0.5 + Math.atan2(-y, x) / (2 * Math.PI)) * widthPx, widthPx - 1);
      const from = (row * widthPx + column) * channels;
      for (let channel = 0; channel < 3; channel++) projected[3 * at + channel] = pixels[from + channel];
    }
    return {pixels: projected, shape: [side, side, 3]};
  });
}

/** The digest of the texture that a scene has as its background; null if it has a colour. */
function skyDigest({background, shapes, materials, textures}) {
  if (background) return null;
  const material = materials?.[shapes?.at(-1)?.material];
  return material === undefined || material.texture === null ? null : textures[material.texture].digest;
}

/** Mean colour of an image, each channel from 0 to 1. */
function meanColor({pixels, shape}) {
  const channels = shape.at(-1);
  const sum = [0, 0, 0];
  for (let at = 0; at < pixels.length; at += channels) {
    for (let axis = 0; axis < 3; axis++) sum[axis] += pixels[at + axis];
  }
  return sum.map((value) => value / 255 / (pixels.length / channels));
}

/** Draws the background and the lines. The frame's uniform block must be bound. */
export class Ground {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./gpu.js").Programs} programs
   */
  constructor(gl, programs) {
    this.gl = gl;
    this.programs = programs;
    this.empty = gl.createVertexArray();
    this.lines = gl.createVertexArray();
    this.edges = new InputBuffer(gl);
    this.sky = null;
  }

  /**
   * Takes over the background of a scene. A texture is drawn as soon as its pixels have arrived.
   * @param {object} scene see scene.js
   * @param {import("./gpu.js").Textures} textures
   */
  setScene({head, contents}, textures) {
    const digest = skyDigest(head);
    if (digest === this.sky?.digest) return;
    if (this.sky) this.gl.deleteTexture(this.sky.texture);
    this.sky = null;
    const image = digest === null ? null : contents?.texture(digest) ?? null;
    if (image === null) return;
    const sides = image.shape.length === 4 ? sidesOf(image) : onCube(image);
    this.sky = {digest, texture: textures.upload(sides, false), meanColor: meanColor(image)};
  }

  /** Fills the picture with the background and the farthest depth. @param {number[]?} color rgb, 0 to 1 */
  drawBackground(color) {
    this.#clear(color ?? [0, 0, 0]);
    if (color || !this.sky) return;
    const gl = this.gl;
    const {program, uniforms} = this.programs.get("sky", {}, []);
    gl.useProgram(program);
    gl.uniform1i(uniforms.sky, 0);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_CUBE_MAP, this.sky.texture);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.bindVertexArray(this.empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.bindVertexArray(null);
  }

  #clear([red, green, blue]) {
    const gl = this.gl;
    gl.depthMask(true);
    gl.clearColor(red, green, blue, 1);
    gl.clearDepth(1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }

  /**
   * Draws the grid around the camera's target. It hides nothing.
   * @param {{eye: number[], target: number[]}} camera
   */
  drawGrid({eye, target}) {
    const gl = this.gl;
    const distanceM = Math.hypot(...eye.map((value, axis) => value - target[axis]));
    if (!(distanceM > 0)) return;
    const {program, uniforms} = this.programs.get("grid", {}, []);
    gl.useProgram(program);
    gl.bindVertexArray(this.empty);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    for (const {spacingM, radiusM, alpha} of gridLevels(distanceM)) {
      const linesEachWay = 2 * Math.ceil(radiusM / spacingM) + 1;
      gl.uniform1i(uniforms.lines_each_way, linesEachWay);
      gl.uniform1f(uniforms.spacing, spacingM);
      gl.uniform2f(uniforms.nearest, nearestLine(target[0], spacingM), nearestLine(target[1], spacingM));
      gl.uniform1f(uniforms.radius, radiusM);
      gl.uniform4f(uniforms.tint, ...GRID_COLOR, alpha);
      gl.drawArrays(gl.LINES, 0, 4 * linesEachWay);
    }
    gl.bindVertexArray(null);
  }

  /**
   * Draws the twelve edges of a box.
   * @param {[number[], number[]]} corners lowest and highest corner in the world, metres
   * @param {number[]} eye
   */
  drawOutline(corners, eye) {
    this.drawLines(outlineRows(corners, eye), OUTLINE_EDGES.length);
  }

  /**
   * Draws lines one pixel wide; bodies hide them, and they hide nothing.
   * @param {Uint8Array} rows LINE_BYTES a line
   * @param {number} count
   */
  drawLines(rows, count) {
    const gl = this.gl;
    this.edges.write(rows);
    gl.useProgram(this.programs.get("lines", {}, LINE_INPUTS).program);
    gl.bindVertexArray(this.lines);
    const layout = {stride: LINE_BYTES, divisor: 1};
    pointInput(gl, 0, this.edges.buffer, {...layout, size: 3, offset: 0});
    pointInput(gl, 1, this.edges.buffer, {...layout, size: 3, offset: 12});
    pointInput(gl, 2, this.edges.buffer, {...layout, size: 4, offset: 24, bytes: true});
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }
}
