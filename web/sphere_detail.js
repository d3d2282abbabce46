/**
 * How the spheres of a picture are drawn: the level of detail, and whether all of them are small.
 *
 * On a GPU all small spheres are drawn in the finest quality. Software rendering chooses the program by the sizes of a
 * sample of the spheres, as render/draw/spheres/sphere_detail.py. The test of a box around all spheres is that of
 * render/draw/spheres/snapshot_bounds.py. Always: a sphere that is too large for a point is never missed. Pure.
 */

import {
  BODY_PX, FEWER_LOD_2_PX, FINEST_PX, GUARD_PX, KEPT, LARGER, LARGEST_POINT_PX, MANY_BODIES, NEARLY_ALL, PLAIN_LODS,
  WIDE_STRETCH,
} from "./glsl.js";
import { dot, placedPart } from "./ground.js";
import { FLAGS, halfFloat, RECORD_WORDS, VELOCITY, VISIBLE } from "./scene.js";

const SAMPLED = 256;
/** With more rows, the box costs more time for each snapshot than it saves in the pictures. */
const MOST_BOXED = 1 << 15;
/** While the scene is the same, the program is chosen once in this many pictures. */
const CHOSEN_PICTURES = 8;
const FINEST = { name: "sphere points", largestPx: LARGEST_POINT_PX };

/** True if spheres in the corners of the picture are stretched so much that they are drawn as ellipses. */
export function isWide({ projection, orthographic }) {
  return !orthographic && Math.hypot(1, 1 / projection[0], 1 / projection[5]) > WIDE_STRETCH;
}

/**
 * The box around all rows of a snapshot that are spheres, with the largest radius and velocity; null if it is unknown.
 * @param {{body: Uint32Array, form: Float32Array, local: Float32Array, groups: object[]}} rows
 * @param {Uint32Array} words records of the rows
 * @returns {{low: number[], high: number[], speed: number, radius: number}?}
 */
export function extentOf({ form, local, groups }, words) {
  if (words.length > RECORD_WORDS * MOST_BOXED) return null;
  const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  let [speed, radius, reach] = [0, 0, 0];
  for (const { kind, first, count } of groups) {
    for (let row = kind === "spheres" ? first : first + count; row < first + count; row++) {
      const at = RECORD_WORDS * row;
      const scale = Math.abs(halfFloat(words[at + FLAGS] >>> 16));
      if (!(words[at + FLAGS] & VISIBLE) || Number.isNaN(scale)) continue;
      for (let axis = 0; axis < 3; axis++) {
        const value = floats[at + axis];
        if (!(value > low[axis])) low[axis] = value;
        if (!(value < high[axis])) high[axis] = value;
        const velocity = Math.abs(floats[at + VELOCITY + axis]);
        if (!(velocity <= speed)) speed = velocity;
      }
      radius = Math.max(radius, scale * form[4 * row]);
      reach = Math.max(reach, scale * Math.hypot(local[7 * row], local[7 * row + 1], local[7 * row + 2]));
    }
  }
  if (![...low, ...high, speed, radius, reach].every(Number.isFinite)) return null;
  return { low: low.map((value) => value - reach), high: high.map((value) => value + reach), speed, radius };
}

/**
 * True if all spheres in these boxes are small enough for a width of `largestPx`.
 * @param {(object?)[]} extents from `extentOf`
 * @param {number} gapS seconds between the two snapshots
 * @param {{camera: object, widthPx: number, heightPx: number}} picture
 * @param {number} largestPx
 */
export function areSmall(extents, gapS, { camera, widthPx, heightPx }, largestPx) {
  const { view, projection, eye, orthographic } = camera;
  if (extents.some((extent) => extent === null)) return false;
  const radius = Math.max(...extents.map((extent) => extent.radius));
  const swing = Math.abs(gapS) * Math.max(...extents.map(({ speed }) => speed)) / 3;
  let [nearest, farthest] = [0, 0];
  for (let axis = 0; axis < 3; axis++) {
    const low = Math.min(...extents.map((extent) => extent.low[axis])) - swing - eye[axis];
    const high = Math.max(...extents.map((extent) => extent.high[axis])) + swing - eye[axis];
    nearest -= Math.max(view[8 + axis] * low, view[8 + axis] * high);
    farthest -= Math.min(view[8 + axis] * low, view[8 + axis] * high);
  }
  const [across, along, depth, offset] = [projection[0], projection[5], projection[10], projection[11]];
  const sides = [[across, widthPx], [along, heightPx]].map(([lens, px]) => (
    { lens, guard: 0.999 * (1 + 2 * GUARD_PX / px) - 1, seen: (1 + 2 * GUARD_PX / px) / lens }));
  const ends = [nearest, farthest];
  if (orthographic) {
    return radius * along * heightPx <= largestPx && ends.every((end) => Math.abs(offset - depth * end) < 1)
      && sides.every(({ lens, guard }) => radius * lens < guard);
  }
  const longer = isWide({ projection }) ? Math.hypot(1, sides[0].seen, sides[1].seen) * 4 / 3 : 1;
  return nearest > 2 * radius && radius * along * heightPx * longer <= largestPx * nearest
    && ends.every((end) => Math.abs(offset - depth * end) < end)
    && sides.every(({ lens, guard }) => radius * Math.hypot(1, lens) < nearest * guard);
}

/**
 * Sizes of spheres in a picture, from a sample.
 * @param {object} rows
 * @param {object} snapshot
 * @param {{camera: object, heightPx: number}} picture
 * @returns {{typicalPx: number, coveredPx: number, count: number}} typicalPx: width that 95 % do not exceed
 */
export function sizesIn(rows, snapshot, { camera: { view, projection, eye, orthographic }, heightPx }) {
  const spheres = rows.groups.filter(({ kind }) => kind === "spheres");
  const count = spheres.reduce((sum, group) => sum + group.count, 0);
  const step = Math.max(1, Math.floor(count / SAMPLED));
  const widths = [];
  let sampled = 0;
  for (const group of spheres) {
    for (let row = group.first; row < group.first + group.count; row += step) {
      sampled++;
      if (rows.body[row] >= snapshot.count) continue;
      const part = placedPart(rows, row, snapshot);
      const place = part.position.map((value, axis) => value - eye[axis]);
      const [x, y, z] = [0, 4, 8].map((at) => dot([view[at], view[at + 1], view[at + 2]], place));
      const radius = rows.form[4 * row] * part.scale;
      const depth = orthographic ? 1 : Math.max(-z, 2 * radius);
      const beyond = Math.max(Math.abs(x) * projection[0], Math.abs(y) * projection[5]) - depth;
      if (!(radius > 0) || !(orthographic || z < 0) || !(beyond < radius * projection[5])) continue;
      const stretch = isWide({ projection, orthographic }) ? Math.hypot(1, x / depth, y / depth) : 1;
      widths.push(radius * projection[5] * heightPx / depth * stretch);
    }
  }
  if (widths.length === 0) return { typicalPx: Infinity, coveredPx: 0, count };
  widths.sort((one, other) => one - other);
  const squares = widths.reduce((sum, width) => sum + Math.min(width, LARGEST_POINT_PX) ** 2, 0);
  const typicalPx = widths[Math.floor(NEARLY_ALL * (widths.length - 1))];
  return { typicalPx, coveredPx: squares * count / sampled, count };
}

/**
 * Chooses the program of software rendering, as `choose` in sphere_detail.py.
 * @param {{typicalPx: number, coveredPx: number, count: number}} sizes
 * @param {{name: string, largestPx: number}?} last the choice for the previous picture
 * @returns {{name: string, largestPx: number}}
 */
export function chosenDetail({ typicalPx, coveredPx, count }, last) {
  const affordablePx = FINEST_PX * (last?.name === FINEST.name ? KEPT : 1);
  if (coveredPx + count * BODY_PX <= affordablePx) return FINEST;
  const mostPx = count < MANY_BODIES ? FEWER_LOD_2_PX : Infinity;
  for (const [name, widest] of PLAIN_LODS) {
    const limitPx = name === "lod 2" ? Math.min(widest ?? Infinity, mostPx) : widest ?? Infinity;
    if (typicalPx <= limitPx * (last?.name === name ? KEPT : 1)) {
      return { name, largestPx: Math.min(limitPx * LARGER, LARGEST_POINT_PX) };
    }
  }
  return { name: "lod 4", largestPx: LARGEST_POINT_PX };
}

/** Chooses for each picture how its spheres are drawn. */
export class SphereDetail {
  /** @param {boolean} isSoftware true if no GPU draws */
  constructor(isSoftware) {
    this.isSoftware = isSoftware;
    this.rows = null;
    this.pictures = 0;
    this.last = null;
  }

  /**
   * @param {object} rows
   * @param {{older: object, newer: object?, gapS: number}} pair snapshots with their rows on the GPU
   * @param {{camera: object, widthPx: number, heightPx: number}} picture
   * @returns {[string, number, number][]} programs, each with the range of widths in px that it draws
   */
  passes(rows, { older, newer, gapS }, picture) {
    const extents = [older, newer ?? older].map(({ gpu }) => gpu.extent);
    const isBelow = (largestPx) => areSmall(extents, gapS, picture, largestPx);
    if (!this.isSoftware) {
      const large = ["large spheres", 0, LARGEST_POINT_PX];
      return [["spheres", 0, LARGEST_POINT_PX], ...(isBelow(LARGEST_POINT_PX) ? [] : [large])];
    }
    if (this.rows !== rows || this.pictures++ % CHOSEN_PICTURES === 0) {
      this.last = chosenDetail(sizesIn(rows, older, picture), this.last);
      this.rows = rows;
    }
    const { name, largestPx } = this.last;
    const found = [[name, 0, largestPx]];
    if (isBelow(largestPx)) return found;
    if (largestPx < LARGEST_POINT_PX) found.push(["lod 4", largestPx, LARGEST_POINT_PX]);
    if (!isBelow(LARGEST_POINT_PX)) found.push(["large spheres", 0, LARGEST_POINT_PX]);
    return found;
  }
}
