/** What is around the bodies: the background's colour, the grid of lines on the ground, and the outline box. */

import {
  COARSE_ALPHA, FINE_ALPHA, FINE_DISTANCES, FINE_SHARE, FINEST_SHARE, GRID_COLOR, GRID_DISTANCES, OUTLINE_COLOR,
  OUTLINE_EDGES,
} from "./glsl.js";
import { InputBuffer, pointInput } from "./gpu.js";

const LINE_INPUTS = ["start", "end", "color"];
const LINE_BYTES = 28;

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
    { spacingM: spacingM * 100, radiusM: fullM, alpha: COARSE_ALPHA },
  ];
  if (gone < FINE_SHARE) levels.push({ spacingM, radiusM: fineM, alpha: FINE_ALPHA * (1 - gone / FINE_SHARE) });
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
export function outlineRows([low, high], eye) {
  const corner = (bits) => [0, 1, 2].map((axis) => ((bits >> axis) & 1 ? high : low)[axis] - eye[axis]);
  const bytes = new Uint8Array(LINE_BYTES * OUTLINE_EDGES.length);
  OUTLINE_EDGES.forEach(([from, to], at) => {
    new Float32Array(bytes.buffer, LINE_BYTES * at, 6).set([...corner(from), ...corner(to)]);
    bytes.set(OUTLINE_COLOR, LINE_BYTES * at + 24);
  });
  return bytes;
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
  }

  /** Fills the picture with one colour and the farthest depth. @param {number[]} color rgb, 0 to 1 */
  clear([red, green, blue]) {
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
  drawGrid({ eye, target }) {
    const gl = this.gl;
    const distanceM = Math.hypot(...eye.map((value, axis) => value - target[axis]));
    if (!(distanceM > 0)) return;
    const { program, uniforms } = this.programs.get("grid", {}, []);
    gl.useProgram(program);
    gl.bindVertexArray(this.empty);
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    for (const { spacingM, radiusM, alpha } of gridLevels(distanceM)) {
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
   * Draws the twelve edges of a box; bodies hide them, and they hide nothing.
   * @param {[number[], number[]]} corners lowest and highest corner in the world, metres
   * @param {number[]} eye
   */
  drawOutline(corners, eye) {
    const gl = this.gl;
    this.edges.write(outlineRows(corners, eye));
    gl.useProgram(this.programs.get("lines", {}, LINE_INPUTS).program);
    gl.bindVertexArray(this.lines);
    const layout = { stride: LINE_BYTES, divisor: 1 };
    pointInput(gl, 0, this.edges.buffer, { ...layout, size: 3, offset: 0 });
    pointInput(gl, 1, this.edges.buffer, { ...layout, size: 3, offset: 12 });
    pointInput(gl, 2, this.edges.buffer, { ...layout, size: 4, offset: 24, bytes: true });
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, OUTLINE_EDGES.length);
    gl.depthMask(true);
    gl.bindVertexArray(null);
  }
}
