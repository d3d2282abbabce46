/** WebGL2: the context, programs made of pieces of shader text, uniform blocks and buffers that grow. */

import { PROGRAMS, TEXTS } from "./glsl.js";

const HEAD = "#version 300 es\nprecision highp float;\nprecision highp int;\nprecision highp samplerCube;\n";
/** Bindings of the uniform blocks. */
export const FRAME_BINDING = 0;
export const LAYER_BINDING = 1;

/** Locations of the inputs. They are the same in all programs of a name, so one vertex array serves all variants. */
export const POSE_INPUTS = [
  "older_place", "older_orientation", "older_motion", "older_spin",
  "newer_place", "newer_orientation", "newer_motion", "newer_spin",
  "before_place", "before_motion", "shape_form", "shape_color",
  "local_position", "local_orientation", "older_stretch", "newer_stretch",
];
export const ROW_INPUTS = ["row_place", "row_turn", "row_size", "row_tint", "shape_form"];
/** What the pass of poses writes for each row: four vectors of four floats, in the order of the first row inputs. */
export const ROW_OUTPUTS = ROW_INPUTS.slice(0, 4);
export const ROW_BYTES = 64;

/**
 * Returns the WebGL2 context of a canvas. Throws an Error with a text for the user if there is none.
 * @param {HTMLCanvasElement | OffscreenCanvas} canvas
 * @returns {WebGL2RenderingContext}
 */
export function openContext(canvas) {
  const gl = canvas.getContext("webgl2", {
    alpha: false, antialias: false, depth: true, stencil: false, preserveDrawingBuffer: false,
    powerPreference: "high-performance",
  });
  if (gl === null) {
    throw new Error(
      "This browser offers no WebGL2, which the page needs to draw. Switch on hardware acceleration in the " +
      "browser's settings, update the graphics driver, or try another browser.");
  }
  return gl;
}

/**
 * Returns the complete text of a shader.
 * @param {string} name one of PROGRAMS
 * @param {"vertex" | "fragment"} stage
 * @param {Object<string, string | number | boolean>} switches macros by name
 */
export function shaderText(name, stage, switches) {
  const defined = Object.entries(switches).map(([macro, value]) => `#define ${macro} ${value}\n`);
  return HEAD + defined.join("") + PROGRAMS[name][stage].map((piece) => TEXTS[piece]).join("");
}

/** Compiled programs. A program is found by its name and its switches, and is compiled when it is first needed. */
export class Programs {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.made = new Map();
  }

  /**
   * Returns a program with its uniforms by name.
   * @param {string} name one of PROGRAMS
   * @param {Object<string, string | number | boolean>} switches macros by name
   * @param {string[]} inputs names of the inputs in the order of their locations
   * @param {string[]} outputs names of the outputs that transform feedback writes
   * @returns {{program: WebGLProgram, uniforms: Object<string, WebGLUniformLocation>}}
   */
  get(name, switches, inputs, outputs = []) {
    const key = name + JSON.stringify(switches);
    let found = this.made.get(key);
    if (found === undefined) {
      found = this.#link(name, switches, inputs, outputs);
      this.made.set(key, found);
    }
    return found;
  }

  #link(name, switches, inputs, outputs) {
    const gl = this.gl;
    const program = gl.createProgram();
    const shaders = [["vertex", gl.VERTEX_SHADER], ["fragment", gl.FRAGMENT_SHADER]].map(([stage, kind]) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, shaderText(name, stage, switches));
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      return { stage, shader };
    });
    inputs.forEach((input, location) => gl.bindAttribLocation(program, location, input));
    if (outputs.length > 0) gl.transformFeedbackVaryings(program, outputs, gl.INTERLEAVED_ATTRIBS);
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      for (const { stage, shader } of shaders) {
        if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
          throw new Error(`The ${stage} shader "${name}" does not compile: ${gl.getShaderInfoLog(shader)}`);
        }
      }
      throw new Error(`The program "${name}" does not link: ${gl.getProgramInfoLog(program)}`);
    }
    for (const { shader } of shaders) gl.deleteShader(shader);
    for (const [block, binding] of [["Frame", FRAME_BINDING], ["Layer", LAYER_BINDING]]) {
      const index = gl.getUniformBlockIndex(program, block);
      if (index !== gl.INVALID_INDEX) gl.uniformBlockBinding(program, index, binding);
    }
    const uniforms = {};
    const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) ?? 0;
    for (let at = 0; at < count; at++) {
      const { name: full } = gl.getActiveUniform(program, at);
      const location = gl.getUniformLocation(program, full);
      if (location !== null) uniforms[full.replace("[0]", "")] = location;
    }
    return { program, uniforms };
  }
}

/** A uniform block on the GPU. */
export class UniformBlock {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {number} binding
   * @param {number} bytes
   */
  constructor(gl, binding, bytes) {
    this.gl = gl;
    this.binding = binding;
    this.buffer = gl.createBuffer();
    gl.bindBuffer(gl.UNIFORM_BUFFER, this.buffer);
    gl.bufferData(gl.UNIFORM_BUFFER, bytes, gl.DYNAMIC_DRAW);
  }

  /** Writes the whole block and binds it. @param {ArrayBufferView} values */
  write(values) {
    const gl = this.gl;
    gl.bindBuffer(gl.UNIFORM_BUFFER, this.buffer);
    gl.bufferSubData(gl.UNIFORM_BUFFER, 0, values);
    gl.bindBufferBase(gl.UNIFORM_BUFFER, this.binding, this.buffer);
  }
}

/** A buffer of vertex inputs that grows to what is written. */
export class InputBuffer {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.buffer = gl.createBuffer();
    this.bytes = 0;
  }

  /** Makes room for at least this many bytes; the contents are lost where the buffer grows. @param {number} bytes */
  reserve(bytes) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    if (bytes > this.bytes) {
      this.bytes = Math.max(bytes, 64);
      gl.bufferData(gl.ARRAY_BUFFER, this.bytes, gl.DYNAMIC_DRAW);
    }
  }

  /** Replaces the contents. @param {ArrayBufferView} values */
  write(values) {
    this.reserve(values.byteLength);
    if (values.byteLength > 0) this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, values);
  }

  delete() {
    this.gl.deleteBuffer(this.buffer);
  }
}

/**
 * Points an input of the bound vertex array to floats or, with `asIntegers`, to u4 in a buffer.
 * @param {WebGL2RenderingContext} gl
 * @param {number} location
 * @param {WebGLBuffer} buffer
 * @param {{size: number, stride: number, offset: number, divisor?: number, asIntegers?: boolean, bytes?: boolean}} layout
 */
export function pointInput(gl, location, buffer, { size, stride, offset, divisor = 0, asIntegers, bytes }) {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(location);
  if (asIntegers) gl.vertexAttribIPointer(location, size, gl.UNSIGNED_INT, stride, offset);
  else if (bytes) gl.vertexAttribPointer(location, size, gl.UNSIGNED_BYTE, true, stride, offset);
  else gl.vertexAttribPointer(location, size, gl.FLOAT, false, stride, offset);
  gl.vertexAttribDivisor(location, divisor);
}
