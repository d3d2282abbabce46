/** WebGL2: the context, programs made of pieces of shader text, uniform blocks, buffers that grow, and textures. */

import {CHECKER_SIDE_PX, PROGRAMS, TEXTS} from "./glsl.js";

const HEAD = "#version 300 es\nprecision highp float;\nprecision highp int;\nprecision highp samplerCube;\n";
const LEAST_VARYINGS = 15;
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
      "browser's settings (Chrome, Edge: System, graphics acceleration; Firefox: in about:config, webgl.disabled " +
      "must be false), update the graphics driver, or try another browser.\nWithout a GPU, use Firefox, or start " +
      "Chrome with --enable-unsafe-swiftshader.");
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

  /** Advice for a browser that gives pages less than WebGL2 promises, so that they cannot tell computers apart. */
  #limited() {
    const {gl} = this, given = gl.getParameter(gl.MAX_VARYING_VECTORS);
    return given >= LEAST_VARYINGS ? "" : `\nThe browser allows ${given} varyings, and WebGL2 promises ` +
      `${LEAST_VARYINGS}. In Firefox, set privacy.resistFingerprinting to false in about:config; or use another ` +
      "browser.";
  }

  #link(name, switches, inputs, outputs) {
    const gl = this.gl;
    const program = gl.createProgram();
    const shaders = [["vertex", gl.VERTEX_SHADER], ["fragment", gl.FRAGMENT_SHADER]].map(([stage, kind]) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, shaderText(name, stage, switches));
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      return {stage, shader};
    });
    inputs.forEach((input, location) => gl.bindAttribLocation(program, location, input));
    if (outputs.length > 0) gl.transformFeedbackVaryings(program, outputs, gl.INTERLEAVED_ATTRIBS);
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      for (const {stage, shader} of shaders) {
        if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
          throw new Error(`The ${stage} shader "${name}" does not compile: ${gl.getShaderInfoLog(shader)}`);
        }
      }
      throw new Error(`The program "${name}" does not link: ${gl.getProgramInfoLog(program)}${this.#limited()}`);
    }
    for (const {shader} of shaders) gl.deleteShader(shader);
    for (const [block, binding] of [["Frame", FRAME_BINDING], ["Layer", LAYER_BINDING]]) {
      const index = gl.getUniformBlockIndex(program, block);
      if (index !== gl.INVALID_INDEX) gl.uniformBlockBinding(program, index, binding);
    }
    const uniforms = {};
    const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) ?? 0;
    for (let at = 0; at < count; at++) {
      const {name: full} = gl.getActiveUniform(program, at);
      const location = gl.getUniformLocation(program, full);
      if (location !== null) uniforms[full.replace("[0]", "")] = location;
    }
    return {program, uniforms};
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
 * @param {{size: number, stride: number, offset: number, divisor?: number, asIntegers?: boolean, bytes?: boolean}}
 *   layout bytes: true for u1 that are read as 0 to 1
 */
export function pointInput(gl, location, buffer, {size, stride, offset, divisor = 0, asIntegers, bytes}) {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.enableVertexAttribArray(location);
  if (asIntegers) gl.vertexAttribIPointer(location, size, gl.UNSIGNED_INT, stride, offset);
  else if (bytes) gl.vertexAttribPointer(location, size, gl.UNSIGNED_BYTE, true, stride, offset);
  else gl.vertexAttribPointer(location, size, gl.FLOAT, false, stride, offset);
  gl.vertexAttribDivisor(location, divisor);
}

/** True if no GPU draws, by the driver's own name. @param {WebGL2RenderingContext} gl */
export function isSoftware(gl) {
  const extension = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(extension ? extension.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  return /llvmpipe|softpipe|swiftshader|software|basic render/i.test(String(name));
}

/** Samples of a texture along the longer axis of what a pixel covers, on a GPU. */
const ANISOTROPY = 8;

/** The textures of a scene on the GPU, by digest. They stay there if the next scene has them too. */
export class Textures {
  /** @param {WebGL2RenderingContext} gl */
  constructor(gl) {
    this.gl = gl;
    this.held = new Map();
    this.mostPx = gl.getParameter(gl.MAX_TEXTURE_SIZE);
    this.anisotropic = isSoftware(gl) ? null : gl.getExtension("EXT_texture_filter_anisotropic");
  }

  /**
   * Uploads new textures whose pixels have arrived, and deletes those that the scene does not have.
   * @param {{digest: string}[]} entries the scene's table of textures
   * @param {import("./contents.js").Contents?} contents
   */
  keep(entries, contents) {
    const wanted = new Set(entries.map(({digest}) => digest));
    for (const [digest, {texture}] of this.held) {
      if (wanted.has(digest)) continue;
      this.gl.deleteTexture(texture);
      this.held.delete(digest);
    }
    for (const digest of wanted) {
      const image = this.held.has(digest) ? null : contents?.texture(digest) ?? null;
      if (image === null) continue;
      const isCube = image.shape.length === 4;
      const sides = isCube ? sidesOf(image) : [image];
      this.held.set(digest, {texture: this.upload(sides, true), isCube, checker: isCube ? null : checkerOf(image)});
    }
  }

  /**
   * The image of a material.
   * @param {object?} material of the scene's table
   * @param {{textures: {digest: string}[]}} head the scene's JSON
   * @returns {{texture: WebGLTexture, isCube: boolean, checker: object?}?} null if it has none, or until it has arrived
   */
  of(material, {textures}) {
    const texture = material?.texture ?? null;
    return texture === null ? null : this.held.get(textures[texture].digest) ?? null;
  }

  /**
   * Uploads one image, or the six sides of a cube.
   * @param {{pixels: Uint8Array, shape: number[]}[]} sides
   * @param {boolean} hasMipmaps
   * @returns {WebGLTexture}
   */
  upload(sides, hasMipmaps) {
    const gl = this.gl;
    const target = sides.length > 1 ? gl.TEXTURE_CUBE_MAP : gl.TEXTURE_2D;
    const texture = gl.createTexture();
    gl.bindTexture(target, texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    sides.forEach((side, at) => {
      const {pixels, shape: [heightPx, widthPx, channels]} = thinned(side, this.mostPx);
      const [stored, format] = channels === 4 ? [gl.RGBA8, gl.RGBA] : [gl.RGB8, gl.RGB];
      const face = sides.length > 1 ? gl.TEXTURE_CUBE_MAP_POSITIVE_X + at : target;
      gl.texImage2D(face, 0, stored, widthPx, heightPx, 0, format, gl.UNSIGNED_BYTE, pixels);
    });
    if (hasMipmaps) gl.generateMipmap(target);
    gl.texParameteri(target, gl.TEXTURE_MIN_FILTER, hasMipmaps ? gl.LINEAR_MIPMAP_LINEAR : gl.LINEAR);
    gl.texParameteri(target, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    const wrap = sides.length > 1 ? gl.CLAMP_TO_EDGE : gl.REPEAT;
    for (const axis of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(target, axis, wrap);
    if (this.anisotropic && hasMipmaps) {
      gl.texParameterf(target, this.anisotropic.TEXTURE_MAX_ANISOTROPY_EXT, ANISOTROPY);
    }
    return texture;
  }
}

/** The six sides of a cube texture. */
export function sidesOf({pixels, shape: [, ...shape]}) {
  const size = shape[0] * shape[1] * shape[2];
  return [0, 1, 2, 3, 4, 5].map((side) => ({pixels: pixels.subarray(side * size, (side + 1) * size), shape}));
}

/** An image of which only every second, third ... pixel is left, if it is too large for the GPU. */
function thinned(image, mostPx) {
  const [heightPx, widthPx, channels] = image.shape;
  const every = Math.ceil(Math.max(heightPx, widthPx) / mostPx);
  if (every <= 1) return image;
  const shape = [Math.ceil(heightPx / every), Math.ceil(widthPx / every), channels];
  const pixels = new Uint8Array(shape[0] * shape[1] * channels);
  let at = 0;
  for (let row = 0; row < heightPx; row += every) {
    for (let column = 0; column < widthPx; column += every) {
      for (let channel = 0; channel < channels; channel++) {
        pixels[at++] = image.pixels[(row * widthPx + column) * channels + channel];
      }
    }
  }
  return {pixels, shape};
}

/**
 * Returns the checker of two squares along each axis that an image shows, as `checker_of` in
 * render/draw/bodies/materials.py; null if it shows anything else.
 * @param {{pixels: Uint8Array, shape: number[], hasAlpha: boolean}} image
 * @returns {{squares: number[], lines: [number, number]}?} squares: three colours, 0 to 1. lines: half width, pixel
 */
function checkerOf({pixels, shape: [heightPx, widthPx, channels], hasAlpha}) {
  if (hasAlpha || heightPx !== widthPx || heightPx < CHECKER_SIDE_PX) return null;
  const side = heightPx;
  const at = (row, column) => [0, 1, 2].map((channel) => pixels[(row * side + column) * channels + channel]);
  const quarter = Math.floor(side / 4);
  const half = Math.floor(side / 2);
  const first = at(quarter, quarter);
  const second = at(quarter, side - quarter);
  const line = at(0, 0);
  const isSame = (row, column, color) => at(row, column).every((value, channel) => value === color[channel]);
  const squareOf = (row, column) => (row < half === column < half ? first : second);
  const columns = [...Array(side).keys()];
  const hasLine = !columns.every((column) => isSame(0, column, squareOf(0, column)));
  const isBorder = (row, column) => hasLine && [row, column].some((value) => value === 0 || value === side - 1);
  const isChecker = columns.every((row) => columns.every(
    (column) => isSame(row, column, isBorder(row, column) ? line : squareOf(row, column))));
  if (!isChecker) return null;
  const squares = [...first, ...second, ...line].map((value) => value / 255);
  return {squares, lines: [hasLine ? 1 / side : 0, 1 / side]};
}
