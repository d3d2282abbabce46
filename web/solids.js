/**
 * Spheres, boxes, capsules, cylinders, ellipsoids, planes, and their soft shadows: one rectangle for each row.
 *
 * The rows of a group are the instances of one draw call. `gl_VertexID` is the corner. Planes are drawn first, because
 * they have no soft edges; spheres are drawn last, as in the native viewer. Transparent rows are drawn after all opaque
 * ones, from back to front, and hide nothing.
 */

import { LARGEST_POINT_PX } from "./glsl.js";
import { pointInput, ROW_BYTES, ROW_INPUTS } from "./gpu.js";
import { dot, placedPart, rotated } from "./ground.js";

/** Kinds in the order of drawing. */
const OPAQUE_ORDER = ["planes", "boxes", "cylinders", "capsules", "ellipsoids", "spheres"];
/** Transparent rows are sorted up to this number. Each is a draw call of some 20 us. */
const MOST_SORTED = 1000;
/** Largest number of planes that divide the order of transparent rows. */
const MOST_DIVIDING = 32;
const FORM_BYTES = 16;
const CORNERS = 4;

const groupOf = (groups, row) => groups.find(({ first, count }) => row >= first && row < first + count);

/**
 * Returns the transparent rows from back to front, as `back_to_front` in render/draw/transparency.py: by the distance of
 * their centres, and planes divide the order.
 * @param {{rows: object, older: object, newer: object?, camera: object}} picture snapshots with their rows on the GPU
 * @returns {number[]?} null if there are more than MOST_SORTED
 */
export function backToFront({ rows, older, newer, camera }) {
  const lists = [older.gpu.transparent ?? [], newer?.gpu.transparent ?? []];
  if (Math.max(...lists.map(({ length }) => length)) > MOST_SORTED) return null;
  const listed = [...new Set(lists.flat())];
  const { view, eye, orthographic } = camera;
  const toEye = [view[8], view[9], view[10]];
  const found = new Map(listed.map((row) => {
    const part = placedPart(rows, row, newer !== null && rows.body[row] < newer.count ? newer : older);
    const place = part.position.map((value, axis) => value - eye[axis]);
    return [row, { place, normal: rotated(part.turn, [0, 0, 1]), nearness: orthographic ? dot(place, toEye) : -dot(place, place) }];
  }));
  const sorted = listed.sort((one, other) => found.get(one).nearness - found.get(other).nearness);
  const planes = rows.groups.filter(({ kind }) => kind === "planes");
  const dividing = sorted.filter((row) => groupOf(planes, row)).slice(0, MOST_DIVIDING);
  return divided(sorted, dividing);

  function divided(order, left) {
    const plane = left.find((row) => order.includes(row));
    if (plane === undefined || order.length < 2) return order;
    const { place, normal } = found.get(plane);
    const side = Math.sign(dot(normal, orthographic ? toEye : place.map((value) => -value))) || 1;
    const isBeyond = (row) => side * dot(normal, found.get(row).place.map((value, axis) => value - place[axis])) < 0;
    const others = order.filter((row) => row !== plane);
    const rest = left.filter((row) => row !== plane);
    return [
      ...divided(others.filter(isBeyond), rest), plane, ...divided(others.filter((row) => !isBeyond(row)), rest),
    ];
  }
}

/** Draws the rows that `Poses` computed. */
export class Solids {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./gpu.js").Programs} programs
   * @param {import("./poses.js").Poses} poses
   */
  constructor(gl, programs, poses) {
    this.gl = gl;
    this.programs = programs;
    this.poses = poses;
    this.array = gl.createVertexArray();
  }

  /**
   * Draws all opaque rows. The frame's uniform block must be bound.
   * @param {{isParallel: boolean, isOutlined: boolean, isStretched: boolean}} frame
   */
  drawOpaque(frame) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.depthMask(true);
    for (const kind of OPAQUE_ORDER) {
      // Planes have no soft edges.
      if (kind === "planes") gl.disable(gl.BLEND);
      else this.#blend();
      for (const group of this.poses.rows.groups) {
        if (group.kind === kind) this.#draw(kind, group.first, group.count, frame, this.poses.opaque);
      }
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
    this.#instances("shadows", { PARALLEL: frame.isParallel }, 0, this.poses.rows.body.length, this.poses.opaque, 0);
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  /**
   * Draws transparent rows.
   * @param {{isParallel: boolean, isOutlined: boolean, isStretched: boolean}} frame
   * @param {number[]?} order row numbers from back to front; null: whole groups are drawn, unsorted
   */
  drawTransparent(frame, order) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(false);
    this.#blend();
    const { groups } = this.poses.rows;
    const runs = order?.map((row) => ({ ...groupOf(groups, row), first: row, count: 1 })) ?? groups;
    for (const { kind, first, count } of runs) {
      if (OPAQUE_ORDER.includes(kind)) {
        this.#draw(kind, first, count, { ...frame, isTransparent: true }, this.poses.transparent);
      }
    }
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  #blend() {
    const gl = this.gl;
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  #draw(kind, first, count, frame, rows) {
    const switches = {
      PARALLEL: frame.isParallel, OUTLINED: frame.isOutlined, PATTERN: "guard.z",
      TRANSPARENT: Number(frame.isTransparent ?? false), FAINT_BELOW: "0.5", FINISH: 0, WIDE: 0, APART: 0,
    };
    const draw = (name, widestPx) => this.#instances(name, switches, first, count, rows, widestPx);
    if (kind !== "spheres") draw(kind, 0);
    // A sphere with a scale along each axis is an ellipsoid.
    else if (frame.isStretched) draw("ellipsoids", 0);
    else if (frame.isTransparent) draw("large spheres", 0);
    else {
      draw("spheres", LARGEST_POINT_PX);
      draw("large spheres", LARGEST_POINT_PX);
    }
  }

  /** Draws rows by a program. widestPx: widest sphere that the program of small spheres draws. */
  #instances(name, switches, first, count, rows, widestPx) {
    const gl = this.gl;
    const { program, uniforms } = this.programs.get(name, switches, ROW_INPUTS);
    gl.useProgram(program);
    if (uniforms.range_px) gl.uniform2f(uniforms.range_px, 0, widestPx);
    for (let at = 0; at < 4; at++) {
      const offset = ROW_BYTES * first + 16 * at;
      pointInput(gl, at, rows.buffer, { size: 4, stride: ROW_BYTES, offset, divisor: 1 });
    }
    const offset = FORM_BYTES * first;
    pointInput(gl, 4, this.poses.form.buffer, { size: 4, stride: FORM_BYTES, offset, divisor: 1 });
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, CORNERS, count);
  }
}

