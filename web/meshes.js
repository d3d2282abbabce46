/**
 * Bodies whose shape is a mesh: one instanced draw call for each group of rows, and their soft shadows.
 *
 * A mesh is on the GPU once, whatever its colours. A group whose mesh has not arrived is not drawn. Faces are visible
 * from both sides; transparent closed meshes show their fronts only. Faces have hard edges. Soft silhouettes are drawn
 * over all bodies; they are left out if a picture has too many edges.
 */

import { MOST_EDGES_GPU, MOST_EDGES_SOFTWARE, PLATE_SHARE, SMALLEST_M } from "./glsl.js";
import { isSoftware, pointInput, ROW_BYTES } from "./gpu.js";
import { applyMaterial, finishOf } from "./solids.js";

const INPUTS = ["row_place", "row_turn", "row_size", "row_tint", "place", "normal", "uv"];
const [PLACE, NORMAL, UV] = [4, 5, 6];
const EDGE_INPUTS = ["row_place", "row_turn", "row_size", "row_tint", "edge_0", "edge_1", "edge_2", "edge_3", "normal"];
const SHADOW_CORNERS = 4;
/** Most faces of a mesh with soft silhouettes. An edge takes some 300 bytes on the GPU. */
const MOST_SOFT_FACES = 30_000;
/** Floats of a vertex of an edge: four places and a normal. */
const EDGE_FLOATS = 15;

/**
 * Returns what the GPU needs of a mesh. A mesh without normals is flat: each face has three vertices of its own, with
 * the normal of the face. The faces of a mesh with normals are turned over where these point to the back.
 * @param {import("./contents.js").Mesh} mesh
 * @returns {{places: Float32Array, normals: Float32Array, uv: Float32Array?, triangles: Uint32Array?, isFlat: boolean}}
 *   triangles: null if the vertices are in the order of the faces
 */
export function meshGeometry({ vertices, faces, normals, uv }) {
  return normals === null ? flat(vertices, faces, uv) : { ...smooth(vertices, faces, normals), uv };
}

function flat(vertices, faces, uv) {
  const places = new Float32Array(3 * faces.length);
  const normals = new Float32Array(3 * faces.length);
  const ownUv = uv === null ? null : new Float32Array(2 * faces.length);
  for (let corner = 0; corner < faces.length; corner++) {
    for (let axis = 0; axis < 3; axis++) places[3 * corner + axis] = vertices[3 * faces[corner] + axis];
    for (let axis = 0; axis < 2 && ownUv; axis++) ownUv[2 * corner + axis] = uv[2 * faces[corner] + axis];
  }
  for (let face = 0; face < faces.length; face += 3) {
    const normal = faceNormal(vertices, faces, face);
    for (let corner = face; corner < face + 3; corner++) normals.set(normal, 3 * corner);
  }
  return { places, normals, uv: ownUv, triangles: null, isFlat: true };
}

function smooth(vertices, faces, normals) {
  const triangles = faces.slice();
  for (let face = 0; face < faces.length; face += 3) {
    const normal = faceNormal(vertices, faces, face);
    let toward = 0;
    for (let corner = face; corner < face + 3; corner++) {
      for (let axis = 0; axis < 3; axis++) toward += normals[3 * faces[corner] + axis] * normal[axis];
    }
    if (toward < 0) [triangles[face], triangles[face + 2]] = [faces[face + 2], faces[face]];
  }
  return { places: vertices, normals, triangles, isFlat: false };
}

/** Unit normal of a face, seen from which its corners run counter-clockwise; 0 for a face of area 0. */
function faceNormal(vertices, faces, face) {
  const [a, b, c] = [0, 1, 2].map((corner) => 3 * faces[face + corner]);
  const [ux, uy, uz] = [0, 1, 2].map((axis) => vertices[b + axis] - vertices[a + axis]);
  const [vx, vy, vz] = [0, 1, 2].map((axis) => vertices[c + axis] - vertices[a + axis]);
  const normal = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
  const length = Math.hypot(...normal);
  return length > 0 ? normal.map((value) => value / length) : [0, 0, 0];
}

/**
 * The box around all vertices that belong to a face.
 * @param {import("./contents.js").Mesh} mesh
 * @returns {{middle: number[], halfSize: number[], isPlate: boolean}} isPlate: thin along one axis only
 */
export function meshBounds({ vertices, faces }) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (const vertex of faces) {
    for (let axis = 0; axis < 3; axis++) {
      low[axis] = Math.min(low[axis], vertices[3 * vertex + axis]);
      high[axis] = Math.max(high[axis], vertices[3 * vertex + axis]);
    }
  }
  const halfSize = high.map((value, axis) => (value - low[axis]) / 2);
  const [thin, next] = [...halfSize].sort((one, other) => one - other);
  return { middle: high.map((value, axis) => (value + low[axis]) / 2), halfSize, isPlate: thin <= PLATE_SHARE * next };
}

/** For each vertex, the number of the first vertex at the same place. */
function weldedVertices(places) {
  const first = new Map();
  return Uint32Array.from({ length: places.length / 3 }, (_, vertex) => {
    const key = `${places[3 * vertex] + 0},${places[3 * vertex + 1] + 0},${places[3 * vertex + 2] + 0}`;
    if (!first.has(key)) first.set(key, vertex);
    return first.get(key);
  });
}

/**
 * The edges of a mesh, as `silhouette_edges` in render/draw/meshes/mesh_geometry.py: the opposite corner of one face, both
 * ends, the opposite corner of the other face.
 * @param {{places: Float32Array, triangles: Uint32Array?}} geometry
 * @returns {number[][]} four vertices each
 */
export function silhouetteEdges({ places, triangles }) {
  const welded = weldedVertices(places);
  const corners = triangles ?? welded.map((_, vertex) => vertex);
  const edges = new Map();
  for (const [from, to, opposite] of [[0, 1, 2], [1, 2, 0], [2, 0, 1]]) {
    for (let face = 0; face < corners.length; face += 3) {
      const [start, end, across] = [corners[face + from], corners[face + to], corners[face + opposite]];
      const [low, high] = [Math.min(welded[start], welded[end]), Math.max(welded[start], welded[end])];
      if (low === high) continue;
      const key = low * welded.length + high;
      const edge = edges.get(key);
      if (edge === undefined) edges.set(key, [across, start, end, across, 1]);
      else if (edge[4]++ === 1) edge[3] = across;
    }
  }
  return [...edges.values()];
}

/** The vertices of all edges: four for each edge, with the edge's places and the normal at their end. */
function edgeVertices(edges, { places, normals }) {
  const floats = new Float32Array(4 * EDGE_FLOATS * edges.length);
  edges.forEach((edge, at) => {
    for (let vertex = 0; vertex < 4; vertex++) {
      const into = EDGE_FLOATS * (4 * at + vertex);
      for (let corner = 0; corner < 4; corner++) {
        floats.set(places.subarray(3 * edge[corner], 3 * edge[corner] + 3), into + 3 * corner);
      }
      const end = edge[vertex < 2 ? 1 : 2];
      floats.set(normals.subarray(3 * end, 3 * end + 3), into + 12);
    }
  });
  return floats;
}

/**
 * True if the faces enclose a volume, with all fronts outside, as `is_closed` in render/draw/meshes/mesh_geometry.py.
 * @param {import("./contents.js").Mesh} mesh
 * @param {{triangles: Uint32Array?}} geometry
 */
export function isClosed({ vertices, faces }, { triangles }) {
  const corners = triangles ?? faces;
  const welded = weldedVertices(vertices);
  const open = new Map();  // how many more times an edge was passed forth than back
  let volume = 0;
  for (let face = 0; face < corners.length; face += 3) {
    const of = [0, 1, 2].map((corner) => corners[face + corner]);
    for (const [from, to] of [[0, 1], [1, 2], [2, 0]]) {
      const [start, end] = [welded[of[from]], welded[of[to]]];
      if (start === end) continue;
      const key = Math.min(start, end) * vertices.length + Math.max(start, end);
      const count = (open.get(key) ?? 0) + (start < end ? 1 : -1);
      if (count === 0) open.delete(key);
      else open.set(key, count);
    }
    const [a, b, c] = of.map((vertex) => vertices.subarray(3 * vertex, 3 * vertex + 3));
    volume += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
  }
  return volume > 0 && open.size === 0;
}

/** Draws the rows whose kind is a mesh. */
export class Meshes {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {import("./gpu.js").Programs} programs
   * @param {import("./poses.js").Poses} poses
   * @param {import("./gpu.js").Textures} textures
   */
  constructor(gl, programs, poses, textures) {
    this.gl = gl;
    this.programs = programs;
    this.poses = poses;
    this.textures = textures;
    this.held = new Map();
    this.head = null;
    this.groups = [];
    this.rows = gl.createVertexArray();
    this.mostEdges = isSoftware(gl) ? MOST_EDGES_SOFTWARE : MOST_EDGES_GPU;
  }

  /** Uploads the meshes that have arrived. @param {object} scene see scene.js. @param {{groups: object[]}} rows */
  setScene({ head, contents }, { groups }) {
    this.head = head;
    this.groups = groups.filter(({ kind }) => kind === "meshes");
    const wanted = new Set(this.groups.map(({ mesh }) => head.meshes[mesh].digest));
    for (const [digest, mesh] of this.held) {
      if (wanted.has(digest)) continue;
      this.#delete(mesh);
      this.held.delete(digest);
    }
    for (const digest of wanted) {
      const mesh = this.held.has(digest) ? null : contents?.mesh(digest) ?? null;
      if (mesh !== null) this.held.set(digest, this.#upload(mesh));
    }
  }

  /** Draws all opaque meshes. @param {{isParallel: boolean}} frame */
  drawOpaque(frame) {
    const gl = this.gl;
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    for (const group of this.groups) this.#draw(group, frame, this.poses.opaque, false);
  }

  /**
   * Draws transparent meshes. They hide nothing.
   * @param {object} run a group, or some of its rows
   * @param {{isParallel: boolean}} frame
   */
  drawTransparent(run, frame) {
    const gl = this.gl;
    const mesh = this.#meshOf(run);
    if (mesh === null) return;
    mesh.isClosed ??= isClosed(mesh.mesh, mesh.geometry);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (mesh.isClosed) gl.enable(gl.CULL_FACE);
    this.#draw(run, frame, this.poses.transparent, true);
    gl.disable(gl.CULL_FACE);
    gl.depthMask(true);
  }

  /** Dims the ground under all opaque meshes but plates. @param {{isParallel: boolean}} frame */
  drawShadows(frame) {
    const gl = this.gl;
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    gl.bindVertexArray(this.rows);
    for (const group of this.groups) {
      const mesh = this.#meshOf(group);
      if (mesh === null || mesh.bounds.isPlate) continue;
      const { program, uniforms } = this.programs.get("mesh shadows", { PARALLEL: frame.isParallel }, INPUTS);
      gl.useProgram(program);
      gl.uniform3f(uniforms.middle, ...mesh.bounds.middle);
      gl.uniform3f(uniforms.half_size, ...mesh.bounds.halfSize);
      this.#pointRows(group, this.poses.opaque);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, SHADOW_CORNERS, group.count);
    }
    gl.bindVertexArray(null);
    gl.depthMask(true);
  }

  /** Draws the soft silhouettes of all opaque meshes without a material. @param {{isParallel: boolean}} frame */
  drawSilhouettes({ isParallel }) {
    const gl = this.gl;
    const drawn = this.groups.filter((group) => (this.#meshOf(group)?.geometry.mayBeSoft ?? false) && group.material === null);
    const edges = drawn.reduce((sum, group) => sum + this.#edgesOf(group).count * group.count, 0);
    if (edges === 0 || edges > this.mostEdges) return;
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    for (const group of drawn) {
      const { array, count } = this.#edgesOf(group);
      const isFlat = Number(this.#meshOf(group).geometry.isFlat);
      gl.useProgram(this.programs.get("silhouettes", { PARALLEL: isParallel, FLAT: isFlat }, EDGE_INPUTS).program);
      gl.bindVertexArray(array);
      this.#pointRows(group, this.poses.opaque);
      gl.drawElementsInstanced(gl.TRIANGLES, 6 * count, gl.UNSIGNED_INT, 0, group.count);
    }
    gl.bindVertexArray(null);
    gl.depthMask(true);
  }

  /** The edges of a group's mesh on the GPU; they are made when they are first drawn. */
  #edgesOf(group) {
    const held = this.#meshOf(group);
    held.edges ??= this.#uploadEdges(held);
    return held.edges;
  }

  #uploadEdges({ geometry, buffers }) {
    const gl = this.gl;
    const edges = silhouetteEdges(geometry);
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const vertices = this.#buffer(gl.ARRAY_BUFFER, edgeVertices(edges, geometry), buffers);
    for (let at = 0; at < 5; at++) {
      pointInput(gl, PLACE + at, vertices, { size: 3, stride: 4 * EDGE_FLOATS, offset: 12 * at });
    }
    const indices = Uint32Array.from({ length: 6 * edges.length }, (_, at) => 4 * Math.floor(at / 6) + [0, 1, 2, 2, 1, 3][at % 6]);
    this.#buffer(gl.ELEMENT_ARRAY_BUFFER, indices, buffers);
    gl.bindVertexArray(null);
    return { array, count: edges.length };
  }

  #buffer(target, values, buffers) {
    const gl = this.gl;
    const buffer = gl.createBuffer();
    gl.bindBuffer(target, buffer);
    gl.bufferData(target, values, gl.STATIC_DRAW);
    buffers.push(buffer);
    return buffer;
  }

  #meshOf({ mesh }) {
    return this.held.get(this.head.meshes[mesh].digest) ?? null;
  }

  #draw(group, { isParallel }, rows, isTransparent) {
    const gl = this.gl;
    const mesh = this.#meshOf(group);
    if (mesh === null) return;
    const { isFlat } = mesh.geometry;
    const own = group.material === null || group.material === undefined ? null : this.head.materials[group.material];
    const image = own?.texture === null || own === null ? null : this.textures.get(this.head.textures[own.texture].digest);
    const name = own !== null ? "surfaces" : isFlat ? "flat faces" : "smooth faces";
    const { program, uniforms } = this.programs.get(name, {
      PARALLEL: isParallel, TRANSPARENT: Number(isTransparent), SHADING: isFlat ? "flat" : "smooth",
      FINISH: finishOf(own, image, false),
    }, INPUTS);
    gl.useProgram(program);
    if (own !== null) {
      applyMaterial(gl, uniforms, own, image, mesh.geometry.uv !== null);
      const halfSize = mesh.bounds.halfSize.map((value) => Math.max(value, SMALLEST_M));
      gl.uniform3f(uniforms.half_size ?? null, ...halfSize);
    }
    gl.bindVertexArray(mesh.array);
    this.#pointRows(group, rows);
    if (mesh.triangles === null) gl.drawArraysInstanced(gl.TRIANGLES, 0, mesh.corners, group.count);
    else gl.drawElementsInstanced(gl.TRIANGLES, mesh.corners, gl.UNSIGNED_INT, 0, group.count);
    gl.bindVertexArray(null);
  }

  #pointRows({ first }, rows) {
    for (let at = 0; at < 4; at++) {
      const offset = ROW_BYTES * first + 16 * at;
      pointInput(this.gl, at, rows.buffer, { size: 4, stride: ROW_BYTES, offset, divisor: 1 });
    }
  }

  #upload(mesh) {
    const gl = this.gl;
    const geometry = { ...meshGeometry(mesh), mayBeSoft: mesh.faces.length <= 3 * MOST_SOFT_FACES };
    const buffers = [];
    const made = (target, values) => this.#buffer(target, values, buffers);
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const point = (location, values, size) => pointInput(
      gl, location, made(gl.ARRAY_BUFFER, values), { size, stride: 4 * size, offset: 0 });
    point(PLACE, geometry.places, 3);
    point(NORMAL, geometry.normals, 3);
    if (geometry.uv !== null) point(UV, geometry.uv, 2);
    const triangles = geometry.triangles === null ? null : made(gl.ELEMENT_ARRAY_BUFFER, geometry.triangles);
    gl.bindVertexArray(null);
    return { mesh, geometry, bounds: meshBounds(mesh), array, buffers, triangles, corners: mesh.faces.length };
  }

  #delete({ array, edges, buffers }) {
    this.gl.deleteVertexArray(array);
    if (edges) this.gl.deleteVertexArray(edges.array);
    for (const buffer of buffers) this.gl.deleteBuffer(buffer);
  }
}
