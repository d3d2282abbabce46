/**
 * Spheres, boxes, capsules, cylinders, ellipsoids, planes, and their soft shadows: one rectangle for each row.
 *
 * The rows of a group are the instances of one draw call. `gl_VertexID` is the corner. Planes are drawn first, because
 * they have no soft edges; spheres are drawn last, as in the native viewer. Transparent rows are drawn after all opaque
 * ones, from back to front, and hide nothing.
 */

import { pointInput, ROW_BYTES, ROW_INPUTS } from "./gpu.js";

/** Kinds in the order of drawing. */
const OPAQUE_ORDER = ["planes", "boxes", "cylinders", "capsules", "ellipsoids", "spheres"];
const FORM_BYTES = 16;
const CORNERS = 4;

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
    this.#instances("shadows", { PARALLEL: frame.isParallel }, 0, this.poses.rows.body.length, this.poses.opaque);
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }

  /**
   * Draws transparent rows in the given order, from back to front.
   * @param {{isParallel: boolean, isOutlined: boolean, isStretched: boolean}} frame
   * @param {Uint32Array} order row numbers
   */
  drawTransparent(frame, order) {
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(false);
    this.#blend();
    const kindOf = kindsOfRows(this.poses.rows);
    for (const row of order) {
      if (OPAQUE_ORDER.includes(kindOf(row))) {
        this.#draw(kindOf(row), row, 1, { ...frame, isTransparent: true }, this.poses.transparent);
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
    // A sphere with a scale along each axis is an ellipsoid.
    const name = kind === "spheres" && frame.isStretched ? "ellipsoids" : kind;
    this.#instances(name, {
      PARALLEL: frame.isParallel, OUTLINED: frame.isOutlined, PATTERN: "guard.z",
      TRANSPARENT: Number(frame.isTransparent ?? false), FAINT_BELOW: "0.5", FINISH: 0, WIDE: 0,
    }, first, count, rows);
  }

  #instances(name, switches, first, count, rows) {
    const gl = this.gl;
    gl.useProgram(this.programs.get(name, switches, ROW_INPUTS).program);
    for (let at = 0; at < 4; at++) {
      const offset = ROW_BYTES * first + 16 * at;
      pointInput(gl, at, rows.buffer, { size: 4, stride: ROW_BYTES, offset, divisor: 1 });
    }
    const offset = FORM_BYTES * first;
    pointInput(gl, 4, this.poses.form.buffer, { size: 4, stride: FORM_BYTES, offset, divisor: 1 });
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, CORNERS, count);
  }
}

/**
 * Returns a function that gives the kind of a row.
 * @param {{groups: {kind: string, first: number, count: number}[]}} rows
 * @returns {(row: number) => string}
 */
function kindsOfRows({ groups }) {
  return (row) => groups.find(({ first, count }) => row >= first && row < first + count).kind;
}
