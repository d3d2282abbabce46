/**
 * Spheres, boxes, capsules, cylinders, ellipsoids, planes, and their soft shadows: one rectangle for each row.
 *
 * The rows of a group are the instances of one draw call. `gl_VertexID` is the corner. Planes are drawn first, because
 * they have no soft edges; spheres are drawn last, as in the native viewer. Transparent rows are drawn after all opaque
 * ones, from back to front, and hide nothing.
 */

import {
  BODY_PX, EXPONENT, FEWER_LOD_2_PX, FINEST_PX, GLOSS, GUARD_PX, KEPT, LARGER, LARGEST_POINT_PX, MANY_BODIES,
  NEARLY_ALL, PLAIN_LODS, RIM, WIDE_STRETCH,
} from "./glsl.js";
import {pointInput, ROW_BYTES, ROW_INPUTS} from "./gpu.js";
import {dot, placedPart} from "./ground.js";
import {rotate} from "./pose.js";
import {FLAGS, halfFloat, RECORD_WORDS, VELOCITY, VISIBLE} from "./scene.js";

const SAMPLED = 256;
/** With more rows, the box costs more time for each snapshot than it saves in the pictures. */
const MOST_BOXED = 1 << 15;
/** While the scene is the same, the program is chosen once in this many pictures. */
const CHOSEN_PICTURES = 8;
const FINEST = {name: "sphere points", largestPx: LARGEST_POINT_PX};

/** True if spheres in the corners of the picture are stretched so much that they are drawn as ellipses. */
export function isWide({projection, orthographic}) {
  return !orthographic && Math.hypot(1, 1 / projection[0], 1 / projection[5]) > WIDE_STRETCH;
}

/**
 * The box around all rows of a snapshot that are spheres, with the largest radius and velocity; null if it is unknown.
 * @param {{body: Uint32Array, form: Float32Array, local: Float32Array, groups: object[]}} rows
 * @param {Uint32Array} words records of the rows
 * @returns {{low: number[], high: number[], speed: number, radius: number}?}
 */
export function extentOf({form, local, groups}, words) {
  if (words.length > RECORD_WORDS * MOST_BOXED) return null;
  const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  let [speed, radius, reach] = [0, 0, 0];
  for (const {kind, first, count} of groups) {
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
  return {low: low.map((value) => value - reach), high: high.map((value) => value + reach), speed, radius};
}

/**
 * True if all spheres in these boxes are small enough for a width of `largestPx`.
 * @param {(object?)[]} extents from `extentOf`
 * @param {number} gapS seconds between the two snapshots
 * @param {{camera: object, widthPx: number, heightPx: number}} picture
 * @param {number} largestPx
 */
function areSmall(extents, gapS, {camera, widthPx, heightPx}, largestPx) {
  const {view, projection, eye, orthographic} = camera;
  if (extents.some((extent) => extent === null)) return false;
  const radius = Math.max(...extents.map((extent) => extent.radius));
  const swing = Math.abs(gapS) * Math.max(...extents.map(({speed}) => speed)) / 3;
  let [nearest, farthest] = [0, 0];
  for (let axis = 0; axis < 3; axis++) {
    const low = Math.min(...extents.map((extent) => extent.low[axis])) - swing - eye[axis];
    const high = Math.max(...extents.map((extent) => extent.high[axis])) + swing - eye[axis];
    nearest -= Math.max(view[8 + axis] * low, view[8 + axis] * high);
    farthest -= Math.min(view[8 + axis] * low, view[8 + axis] * high);
  }
  const [across, along, depth, offset] = [projection[0], projection[5], projection[10], projection[11]];
  const sides = [[across, widthPx], [along, heightPx]].map(([lens, px]) => (
    {lens, guard: 0.999 * (1 + 2 * GUARD_PX / px) - 1, seen: (1 + 2 * GUARD_PX / px) / lens}));
  const ends = [nearest, farthest];
  if (orthographic) {
    return radius * along * heightPx <= largestPx && ends.every((end) => Math.abs(offset - depth * end) < 1)
      && sides.every(({lens, guard}) => radius * lens < guard);
  }
  const longer = isWide({projection}) ? Math.hypot(1, sides[0].seen, sides[1].seen) * 4 / 3 : 1;
  return nearest > 2 * radius && radius * along * heightPx * longer <= largestPx * nearest
    && ends.every((end) => Math.abs(offset - depth * end) < end)
    && sides.every(({lens, guard}) => radius * Math.hypot(1, lens) < nearest * guard);
}

/** Position and scale of a row, without the turn, which most spheres do not need. */
function middleOf(rows, row, snapshot) {
  const {local, body} = rows, {words, floats} = snapshot, at = RECORD_WORDS * body[row];
  if (local[7 * row] || local[7 * row + 1] || local[7 * row + 2]) return placedPart(rows, row, snapshot);
  return {position: [floats[at], floats[at + 1], floats[at + 2]], scale: halfFloat(words[at + FLAGS] >>> 16)};
}

/**
 * Sizes of spheres in a picture, from a sample.
 * @param {object} rows
 * @param {object} snapshot
 * @param {{camera: object, heightPx: number}} picture
 * @returns {{typicalPx: number, coveredPx: number, count: number}} typicalPx: width that 95 % do not exceed
 */
function sizesIn(rows, snapshot, { camera: {view, projection, eye, orthographic}, heightPx }) {
  const spheres = rows.groups.filter(({kind}) => kind === "spheres");
  const count = spheres.reduce((sum, group) => sum + group.count, 0);
  const step = Math.max(1, Math.floor(count / SAMPLED));
  const widths = [];
  let sampled = 0;
  for (const group of spheres) {
    for (let row = group.first; row < group.first + group.count; row += step) {
      sampled++;
      if (rows.body[row] >= snapshot.count) continue;
      const {position, scale} = middleOf(rows, row, snapshot);
      const [right, up, back] = [position[0] - eye[0], position[1] - eye[1], position[2] - eye[2]];
      const x = view[0] * right + view[1] * up + view[2] * back;
      const y = view[4] * right + view[5] * up + view[6] * back;
      const z = view[8] * right + view[9] * up + view[10] * back;
      const radius = rows.form[4 * row] * scale;
      const depth = orthographic ? 1 : Math.max(-z, 2 * radius);
      const beyond = Math.max(Math.abs(x) * projection[0], Math.abs(y) * projection[5]) - depth;
      if (!(radius > 0) || !(orthographic || z < 0) || !(beyond < radius * projection[5])) continue;
      const stretch = isWide({projection, orthographic}) ? Math.hypot(1, x / depth, y / depth) : 1;
      widths.push(radius * projection[5] * heightPx / depth * stretch);
    }
  }
  if (widths.length === 0) return {typicalPx: Infinity, coveredPx: 0, count};
  widths.sort((one, other) => one - other);
  const squares = widths.reduce((sum, width) => sum + Math.min(width, LARGEST_POINT_PX) ** 2, 0);
  const typicalPx = widths[Math.floor(NEARLY_ALL * (widths.length - 1))];
  return {typicalPx, coveredPx: squares * count / sampled, count};
}

/**
 * Chooses the program of software rendering, as `choose` in sphere_detail.py.
 * @param {{typicalPx: number, coveredPx: number, count: number}} sizes
 * @param {{name: string, largestPx: number}?} last the choice for the previous picture
 * @param {boolean} [mayBeFine] false to choose a plain program
 * @returns {{name: string, largestPx: number}}
 */
function chosenDetail({typicalPx, coveredPx, count}, last, mayBeFine = true) {
  const affordablePx = FINEST_PX * (last?.name === FINEST.name ? KEPT : 1);
  if (mayBeFine && coveredPx + count * BODY_PX <= affordablePx) return FINEST;
  const mostPx = count < MANY_BODIES ? FEWER_LOD_2_PX : Infinity;
  for (const [name, widest] of PLAIN_LODS) {
    const limitPx = name === "lod 2" ? Math.min(widest ?? Infinity, mostPx) : widest ?? Infinity;
    if (typicalPx <= limitPx * (last?.name === name ? KEPT : 1)) {
      return {name, largestPx: Math.min(limitPx * LARGER, LARGEST_POINT_PX)};
    }
  }
  return {name: "lod 4", largestPx: LARGEST_POINT_PX};
}

/** Chooses for each picture how its spheres are drawn. */
export class SphereDetail {
  /** @param {boolean} isSoftware true if no GPU draws */
  constructor(isSoftware) {
    this.isSoftware = isSoftware;
    this.isFine = false;  // true if a lower quality level may draw with another program
    this.wasFine = true;
    this.rows = null;
    this.pictures = 0;
    this.last = null;
  }

  /**
   * @param {object} rows
   * @param {{older: object, newer: object?, gapS: number}} pair snapshots with their rows on the GPU
   * @param {{camera: object, widthPx: number, heightPx: number}} picture
   * @param {boolean} [mayBeFine] false at a low quality level: then spheres are drawn as in software rendering
   * @returns {[string, number, number][]} programs, each with the range of widths in px that it draws
   */
  passes(rows, {older, newer, gapS}, picture, mayBeFine = true) {
    const extents = [older, newer ?? older].map(({gpu}) => gpu.extent);
    const isBelow = (largestPx) => areSmall(extents, gapS, picture, largestPx);
    if (!this.isSoftware && mayBeFine) {
      this.isFine = rows.groups.some(({kind}) => kind === "spheres");
      const large = ["large spheres", 0, LARGEST_POINT_PX];
      return [["spheres", 0, LARGEST_POINT_PX], ...(isBelow(LARGEST_POINT_PX) ? [] : [large])];
    }
    if (this.rows !== rows || this.wasFine !== mayBeFine || this.pictures++ % CHOSEN_PICTURES === 0) {
      const sizes = sizesIn(rows, older, picture);
      this.isFine = sizes.count > 0 && (!this.isSoftware || chosenDetail(sizes, this.last) === FINEST);
      this.last = chosenDetail(sizes, this.last, mayBeFine);
      [this.rows, this.wasFine] = [rows, mayBeFine];
    }
    const {name, largestPx} = this.last;
    const found = [[name, 0, largestPx]];
    if (isBelow(largestPx)) return found;
    if (largestPx < LARGEST_POINT_PX) found.push(["lod 4", largestPx, LARGEST_POINT_PX]);
    if (!isBelow(LARGEST_POINT_PX)) found.push(["large spheres", 0, LARGEST_POINT_PX]);
    return found;
  }
}

/** Kinds in the order of drawing. */
export const SOLID_KINDS = ["planes", "boxes", "cylinders", "capsules", "ellipsoids", "spheres"];
/** Variants of programs, as in render/draw/glsl/light.py. */
const [NO_FINISH, SMOOTH_FINISH, IMAGE_FINISH, CUBE_FINISH, CHECKER_FINISH] = [0, 1, 2, 3, 4];
/** Transparent rows are sorted up to this number. Each is a draw call of some 20 us. */
const MOST_SORTED = 1000;
/** Largest number of planes that divide the order of transparent rows. */
const MOST_DIVIDING = 32;
/** Programs that draw one point for each sphere, with their switches. Only software rendering uses them. */
const POINT_PROGRAMS = {
  "sphere points": ["sphere points", {}],
  "lod 0": ["square points", {}],
  "lod 1": ["smooth points", {SKIN: 0, OWN_DEPTH: 0}],
  "lod 2": ["smooth points", {SKIN: 1, OWN_DEPTH: 0}],
  "lod 3": ["smooth points", {SKIN: 1, OWN_DEPTH: 1}],
  "lod 4": ["skin points", {}],
};
const FORM_BYTES = 16;
const CORNERS = 4;
const ALL_FINE = [["spheres", 0, LARGEST_POINT_PX], ["large spheres", 0, LARGEST_POINT_PX]];

const groupOf = (groups, row) => groups.find(({first, count}) => row >= first && row < first + count);

/**
 * Returns the transparent rows from back to front, as `back_to_front` in render/draw/transparency.py. They are sorted
 * by the distance of their centres, and planes divide the order.
 * @param {{rows: object, pairs: object[], pairOf: function(number): object, camera: object}} picture pairs: of all
 *   layers, snapshots with their rows on the GPU. pairOf: that of a body
 * @param {{place: number[]}[]} marks transparent solids of marks, relative to the eye
 * @returns {object[]} groups of one row each, or `{mark}`; if there are more than MOST_SORTED, whole groups, unsorted
 */
export function backToFront({rows, pairs, pairOf, camera}, marks) {
  const lists = pairs.flatMap(({older, newer}) => [older.gpu.transparent ?? [], newer?.gpu.transparent ?? []]);
  const ofMarks = marks.map((_, mark) => ({mark}));
  if (Math.max(marks.length, ...lists.map(({length}) => length)) > MOST_SORTED) return [...rows.groups, ...ofMarks];
  const listed = [...new Set(lists.flat())];
  const {view, eye, orthographic} = camera;
  const toEye = [view[8], view[9], view[10]];
  const nearnessOf = (place) => (orthographic ? dot(place, toEye) : -dot(place, place));
  const found = new Map(listed.map((row) => {
    const {older, newer} = pairOf(rows.body[row]);
    const part = placedPart(rows, row, newer !== null && rows.body[row] < newer.count ? newer : older);
    const place = part.position.map((value, axis) => value - eye[axis]);
    return [row, {place, normal: rotate(part.turn, [0, 0, 1]), nearness: nearnessOf(place)}];
  }));
  for (const {mark} of ofMarks) {
    const {place} = marks[mark];
    listed.push(-1 - mark);
    found.set(-1 - mark, {place, nearness: nearnessOf(place)});
  }
  const sorted = listed.sort((one, other) => found.get(one).nearness - found.get(other).nearness);
  const planes = rows.groups.filter(({kind}) => kind === "planes");
  const dividing = sorted.filter((row) => groupOf(planes, row)).slice(0, MOST_DIVIDING);
  return divided(sorted, dividing).map((row) => (
    row < 0 ? {mark: -1 - row} : {...groupOf(rows.groups, row), first: row, count: 1}));

  function divided(order, left) {
    const plane = left.find((row) => order.includes(row));
    if (plane === undefined || order.length < 2) return order;
    const {place, normal} = found.get(plane);
    const side = Math.sign(dot(normal, orthographic ? toEye : place.map((value) => -value))) || 1;
    const isBeyond = (row) => side * dot(normal, found.get(row).place.map((value, axis) => value - place[axis])) < 0;
    const others = order.filter((row) => row !== plane);
    const rest = left.filter((row) => row !== plane);
    return [
      ...divided(others.filter(isBeyond), rest), plane, ...divided(others.filter((row) => !isBeyond(row)), rest),
    ];
  }
}

/** Draws the rows that `PosePass` computed. */
export class Solids {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./gpu.js").Programs} programs
   * @param {import("./pose_pass.js").PosePass} poses
   * @param {import("./gpu.js").Textures} textures
   */
  constructor(gl, programs, poses, textures) {
    this.gl = gl;
    this.programs = programs;
    this.poses = poses;
    this.textures = textures;
    this.array = gl.createVertexArray();
    this.head = null;
    this.order = [];
  }

  /** Replaces the scene. @param {object} head the scene's JSON. @param {{groups: object[]}} rows */
  setScene(head, {groups}) {
    this.head = head;
    this.order = groups.filter(({kind}) => SOLID_KINDS.includes(kind))
      .sort((one, other) => this.#rank(one) - this.#rank(other));
  }

  /** Rank of a group in the order of drawing: planes, shapes without a material, with an image, smooth, spheres. */
  #rank({kind, material}) {
    const own = this.#materialOf(material);
    const at = SOLID_KINDS.indexOf(kind) / SOLID_KINDS.length;
    if (kind === "planes") return own === null ? 0 : 1;
    if (own !== null && !isSmooth(own)) return 3 + at;
    if (kind === "spheres") return own === null ? 6 : 5;
    return (own === null ? 2 : 4) + at;
  }

  #materialOf(material) {
    return material === null || material === undefined ? null : this.head.materials[material];
  }

  /**
   * Draws all opaque planes, or all other opaque rows. The frame's uniform block must be bound.
   * @param {{isParallel: boolean, isOutlined: boolean, isStretched: boolean}} frame
   * @param {boolean} arePlanes
   */
  drawOpaque(frame, arePlanes) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    if (arePlanes) gl.disable(gl.BLEND);  // planes have no soft edges
    else this.#blend();
    for (const group of this.order) {
      if ((group.kind === "planes") === arePlanes) this.#draw(group, frame, this.poses.opaque);
    }
    gl.bindVertexArray(null);
  }

  /**
   * Dims the ground under all opaque rows.
   * @param {{isParallel: boolean}} frame
   */
  drawShadows(frame) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    const {rows, opaque} = this.poses;
    this.#instances("shadows", {PARALLEL: frame.isParallel}, {first: 0, count: rows.body.length, rows: opaque});
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  /**
   * Draws transparent rows of one group. They hide nothing.
   * @param {object} run a group, or some of its rows
   * @param {{isParallel: boolean, isOutlined: boolean, isStretched: boolean}} frame
   */
  drawTransparent(run, frame) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(false);
    this.#blend();
    this.#draw(run, {...frame, isTransparent: true}, this.poses.transparent);
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  /**
   * Draws rows of marks, which have their half size as scale.
   * @param {{kind: string, first: number, count: number}} run
   * @param {{isParallel: boolean, isOutlined: boolean}} frame
   * @param {import("./gpu.js").InputBuffer} rows
   * @param {boolean} isTransparent
   */
  drawMarks({kind, first, count}, frame, rows, isTransparent) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(!isTransparent);
    this.#blend();
    const switches = { ...this.#switches({...frame, isTransparent}, NO_FINISH), PATTERN: "0.0" };
    this.#instances(kind, switches, {first, count, rows, hasForm: false});
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  #switches({isParallel, isOutlined, isTransparent}, finish) {
    return {
      PARALLEL: isParallel, OUTLINED: isOutlined, PATTERN: finish === NO_FINISH ? "guard.z" : "0.0",
      TRANSPARENT: Number(isTransparent ?? false), FAINT_BELOW: "0.5", FINISH: finish, WIDE: 0, APART: 0,
    };
  }

  #blend() {
    const gl = this.gl;
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  #draw({kind, material, first, count}, frame, rows) {
    const own = this.#materialOf(material);
    const image = this.textures.of(own, this.head);
    const finish = finishOf(own, image, kind === "planes" && !frame.isTransparent);
    const switches = this.#switches(frame, finish);
    const run = {first, count, rows, own, image, frame};
    // A sphere with a scale along each axis is an ellipsoid; so is one with an image.
    const isEllipsoid = frame.isStretched || (own !== null && (frame.isTransparent || !isSmooth(own)));
    if (kind !== "spheres") this.#instances(kind, switches, run);
    else if (isEllipsoid) this.#instances("ellipsoids", switches, run);
    else if (frame.isTransparent) this.#instances("large spheres", switches, run);
    else {
      for (const [name, ...rangePx] of own === null ? frame.spheres : ALL_FINE) {
        this.#instances(name, {...switches, WIDE: Number(frame.isWide)}, {...run, rangePx});
      }
    }
  }

  /** Draws rows by a program. rangePx: widths of the spheres that a program of small spheres draws. */
  #instances(pass, switches, {first, count, rows, frame, rangePx = [0, 0], own, image, hasForm = true}) {
    const gl = this.gl;
    const [name, more] = POINT_PROGRAMS[pass] ?? [pass, {}];
    const arePoints = pass in POINT_PROGRAMS;
    const {program, uniforms} = this.programs.get(name, {...switches, ...more}, ROW_INPUTS);
    gl.useProgram(program);
    if (uniforms.range_px) gl.uniform2f(uniforms.range_px, ...rangePx);
    if (own) applyMaterial(gl, uniforms, own, image);
    const divisor = arePoints ? 0 : 1;
    for (let at = 0; at < 4; at++) {
      const offset = ROW_BYTES * first + 16 * at;
      pointInput(gl, at, rows.buffer, {size: 4, stride: ROW_BYTES, offset, divisor});
    }
    const offset = FORM_BYTES * first;
    if (hasForm) pointInput(gl, 4, this.poses.form.buffer, {size: 4, stride: FORM_BYTES, offset, divisor});
    else {
      gl.disableVertexAttribArray(4);
      gl.vertexAttrib4f(4, 1, 1, 1, 0);
    }
    if (!arePoints) gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, CORNERS, count);
    else this.#drawPoints(count, frame, pass.startsWith("lod"));
  }

  /** Draws points into the guarded viewport, because a point vanishes when its middle leaves the viewport. */
  #drawPoints(count, {leftPx, widthPx, heightPx}, isPlain) {
    const gl = this.gl;
    if (isPlain) gl.disable(gl.BLEND);
    gl.viewport(leftPx - GUARD_PX, -GUARD_PX, widthPx + 2 * GUARD_PX, heightPx + 2 * GUARD_PX);
    gl.drawArrays(gl.POINTS, 0, count);
    gl.viewport(leftPx, 0, widthPx, heightPx);
    gl.enable(gl.BLEND);
  }
}

/** True if the only effect of a material is on the highlight. */
const isSmooth = ({texture, emission}) => texture === null && emission === 0;

/**
 * Returns the variant of a program that draws a material. An image that has not arrived is left out.
 * @param {object?} material of the scene's table
 * @param {{isCube: boolean, checker: object?}?} image
 * @param {boolean} mayBeChecker
 */
export function finishOf(material, image, mayBeChecker) {
  if (material === null) return NO_FINISH;
  if (image === null) return SMOOTH_FINISH;
  if (mayBeChecker && image.checker !== null) return CHECKER_FINISH;
  return image.isCube ? CUBE_FINISH : IMAGE_FINISH;
}

/**
 * Sets the uniforms of the program in use for a material, and binds its image.
 * @param {WebGL2RenderingContext} gl
 * @param {Object<string, WebGLUniformLocation>} uniforms
 * @param {object} material of the scene's table
 * @param {{texture: WebGLTexture, isCube: boolean, checker: object?}?} image
 * @param {boolean} isByUv true if the vertices of a mesh have image coordinates
 */
export function applyMaterial(gl, uniforms, material, image, isByUv = false) {
  const {repeat, per_metre: perMetre, roughness, specular, emission} = material;
  gl.uniform4f(uniforms.finish ?? null, GLOSS * specular, EXPONENT / roughness ** 2, emission, RIM * specular);
  gl.uniform4f(uniforms.mapping ?? null, ...repeat, Number(perMetre), Number(isByUv));
  if (uniforms.squares) {
    gl.uniform3fv(uniforms.squares, image.checker.squares);
    gl.uniform2f(uniforms.lines, ...image.checker.lines);
  } else if (uniforms.image) {
    gl.uniform1i(uniforms.image, 0);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(image.isCube ? gl.TEXTURE_CUBE_MAP : gl.TEXTURE_2D, image.texture);
  }
}
