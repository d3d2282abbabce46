/**
 * Bodies whose shape is a mesh: the arrays of meshes, one instanced draw call for each group of rows, and soft shadows.
 *
 * A mesh is on the GPU once, whatever its colours. A group whose mesh has not arrived is not drawn. Faces are visible
 * from both sides; transparent closed meshes show their fronts only. Faces have hard edges. Soft silhouettes are drawn
 * over all bodies; they are left out if a picture has too many edges. A deforming body has vertices of its own, which
 * are blended here between the two snapshots. The functions are pure, and those of
 * render/draw/meshes/mesh_geometry.py, with one difference: each face of a flat mesh has three vertices of its own.
 */

import {MOST_EDGES_GPU, MOST_EDGES_SOFTWARE, PLATE_SHARE, SMALLEST_M} from "./glsl.js";
import {InputBuffer, isSoftware, pointInput, ROW_BYTES} from "./gpu.js";
import {EPOCH, RECORD_WORDS} from "./scene.js";
import {applyMaterial, finishOf} from "./solids.js";

/** Floats of a vertex of an edge: four places and a normal. */
const EDGE_FLOATS = 15;
/** Largest coordinate of a vertex of a deforming mesh, metres. */
const FARTHEST_VERTEX = 1e15;

/**
 * Returns what the GPU needs of a mesh. A mesh without normals is flat: each face has three vertices of its own, with
 * the normal of the face. The faces of a mesh with normals are turned over where these point to the back.
 * @param {import("./contents.js").Mesh} mesh
 * @returns {{places: Float32Array, normals: Float32Array, uv: Float32Array?, triangles: Uint32Array?, isFlat: boolean}}
 *   triangles: null if the vertices are in the order of the faces
 */
function meshGeometry({vertices, faces, normals, uv}) {
  return normals === null ? flat(vertices, faces, uv) : {...smooth(vertices, faces, normals), uv};
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
  return {places, normals, uv: ownUv, triangles: null, isFlat: true};
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
  return {places: vertices, normals, triangles, isFlat: false};
}

/** Unit normal of a face, seen from which its corners run counter-clockwise; 0 for a face of area 0. */
function faceNormal(vertices, faces, face) {
  const area = faceArea(vertices, faces, face);
  const length = Math.hypot(...area);
  return length > 0 ? area.map((value) => value / length) : area;
}

/** The normal of a face with twice the face's area as length. */
function faceArea(vertices, faces, face) {
  const [a, b, c] = [0, 1, 2].map((corner) => 3 * faces[face + corner]);
  const [ux, uy, uz] = [0, 1, 2].map((axis) => vertices[b + axis] - vertices[a + axis]);
  const [vx, vy, vz] = [0, 1, 2].map((axis) => vertices[c + axis] - vertices[a + axis]);
  return [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
}

/**
 * The box around all vertices that belong to a face.
 * @param {import("./contents.js").Mesh} mesh
 * @returns {{middle: number[], halfSize: number[], isPlate: boolean}} isPlate: thin along one axis only
 */
function meshBounds({vertices, faces}) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let corner = 0; corner < faces.length; corner++) {
    for (let axis = 0; axis < 3; axis++) {
      const value = vertices[3 * faces[corner] + axis];
      if (value < low[axis]) low[axis] = value;
      if (value > high[axis]) high[axis] = value;
    }
  }
  const halfSize = high.map((value, axis) => (value - low[axis]) / 2);
  const [thin, next] = [...halfSize].sort((one, other) => one - other);
  return {middle: high.map((value, axis) => (value + low[axis]) / 2), halfSize, isPlate: thin <= PLATE_SHARE * next};
}

/** For each vertex, the number of the first vertex at the same place. */
function weldedVertices(places) {
  const first = new Map();
  return Uint32Array.from({length: places.length / 3}, (_, vertex) => {
    const key = `${places[3 * vertex] + 0},${places[3 * vertex + 1] + 0},${places[3 * vertex + 2] + 0}`;
    if (!first.has(key)) first.set(key, vertex);
    return first.get(key);
  });
}

/**
 * The edges of a mesh, as `silhouette_edges` in render/draw/meshes/mesh_geometry.py: the opposite corner of one face,
 * both ends, the opposite corner of the other face.
 * @param {{places: Float32Array, triangles: Uint32Array?}} geometry
 * @returns {number[][]} four vertices each
 */
function silhouetteEdges({places, triangles}) {
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
function edgeVertices(edges, {places, normals}) {
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
export function isClosed({vertices, faces}, {triangles}) {
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
    for (let axis = 0; axis < 3; axis++) {
      const [next, last] = [(axis + 1) % 3, (axis + 2) % 3];
      volume += a[axis] * (b[next] * c[last] - b[last] * c[next]);
    }
  }
  return volume > 0 && open.size === 0;
}

/**
 * The vertices of a deforming mesh in a snapshot, with normals. The normal of a vertex of a smooth mesh is that of the
 * faces around it together (Gouraud 1971).
 * @param {Float32Array} vertices as deformed, in the order of the mesh's own
 * @param {import("./contents.js").Mesh} mesh
 * @param {{triangles: Uint32Array?, isFlat: boolean}} geometry
 * @returns {{places: Float32Array, normals: Float32Array, bounds: object}?} null if a vertex is not finite
 */
export function deformed(vertices, {faces}, {triangles, isFlat}) {
  if (!vertices.every((value) => Math.abs(value) < FARTHEST_VERTEX)) return null;
  const bounds = meshBounds({vertices, faces});
  if (isFlat) {
    const {places, normals} = flat(vertices, faces, null);
    return {places, normals, bounds};
  }
  const normals = new Float32Array(vertices.length);
  for (let face = 0; face < triangles.length; face += 3) {
    const area = faceArea(vertices, triangles, face);
    for (let corner = face; corner < face + 3; corner++) {
      for (let axis = 0; axis < 3; axis++) normals[3 * triangles[corner] + axis] += area[axis];
    }
  }
  for (let at = 0; at < normals.length; at += 3) {
    const length = Math.hypot(normals[at], normals[at + 1], normals[at + 2]) || 1;
    for (let axis = at; axis < at + 3; axis++) normals[axis] /= length;
  }
  return {places: vertices, normals, bounds};
}

const INPUTS = ["row_place", "row_turn", "row_size", "row_tint", "place", "normal", "uv"];
const [PLACE, NORMAL, UV] = [4, 5, 6];
const CONTINUITY = 0xffff;
const EDGE_INPUTS = ["row_place", "row_turn", "row_size", "row_tint", "edge_0", "edge_1", "edge_2", "edge_3", "normal"];
const SHADOW_CORNERS = 4;
/** Most faces of a mesh with soft silhouettes. An edge takes some 300 bytes on the GPU. */
const MOST_SOFT_FACES = 30_000;

/** First coordinate of each deforming body in the vertices of a snapshot. */
function surfaceStarts(scene, bodies) {
  const starts = new Map();
  let at = 0;
  for (let body = 0; body < bodies; body++) {
    const {kind, mesh} = scene.table[scene.shapeOf(body)];
    const entry = kind === "mesh" ? scene.head.meshes[mesh] : null;
    if (!entry?.deforms) continue;
    starts.set(body, at);
    at += 3 * entry.lengths[0];
  }
  return starts;
}

const epochOf = ({words}, body) => words[RECORD_WORDS * body + EPOCH] ?? 0;

function mixed(older, newer, share) {
  const between = new Float32Array(older.length);
  for (let at = 0; at < older.length; at++) between[at] = older[at] + (newer[at] - older[at]) * share;
  return between;
}

/** Draws the rows whose kind is a mesh. */
export class Meshes {
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
    this.held = new Map();
    this.head = null;
    this.groups = [];
    this.rows = gl.createVertexArray();
    this.surfaces = [];
    this.mostEdges = isSoftware(gl) ? MOST_EDGES_SOFTWARE : MOST_EDGES_GPU;
  }

  /** Uploads the meshes that have arrived. @param {object} scene see scene.js. @param {{groups: object[]}} rows */
  setScene(scene, rows) {
    const {head, contents} = scene;
    const {groups} = rows;
    this.head = head;
    this.groups = groups.filter(({kind}) => kind === "meshes");
    const wanted = new Set(this.groups.map(({mesh}) => head.meshes[mesh].digest));
    for (const [digest, mesh] of this.held) {
      if (wanted.has(digest)) continue;
      this.#delete(mesh);
      this.held.delete(digest);
    }
    for (const digest of wanted) {
      const mesh = this.held.has(digest) ? null : contents?.mesh(digest) ?? null;
      if (mesh !== null) this.held.set(digest, this.#upload(mesh));
    }
    this.#listSurfaces(scene, rows);
  }

  /** Makes the vertex arrays of the bodies that deform. @param {object} scene. @param {{body: Uint32Array}} rows. */
  #listSurfaces(scene, {body}) {
    for (const {mesh} of this.surfaces) this.#delete(mesh);
    this.surfaces = [];
    const deforms = this.groups.filter(({mesh}) => scene.head.meshes[mesh].deforms);
    if (deforms.length === 0) return;
    const starts = surfaceStarts(scene, body.reduce((most, one) => Math.max(most, one), 0) + 1);
    for (const group of deforms) {
      const mesh = this.#meshOf(group);
      if (mesh === null) continue;
      for (let row = group.first; row < group.first + group.count; row++) {
        const [places, normals] = [new InputBuffer(this.gl), new InputBuffer(this.gl)];
        const array = this.#array(places, normals, mesh);
        const start = starts.get(body[row]) ?? null;
        const own = {...mesh, array, edges: undefined, buffers: [places.buffer, normals.buffer]};
        this.surfaces.push({row, body: body[row], start, mesh: own, places, normals});
      }
    }
  }

  /**
   * Blends the vertices of the bodies that deform.
   * @param {function(number): {older: object, newer: object?, share: number}} pairOf from `chosenPair`, of a body
   */
  begin(pairOf) {
    for (const surface of this.surfaces) {
      const {mesh, body} = surface, {older, newer, share} = pairOf(body);
      const start = this.#surfaceIn(older, surface);
      const isOne = newer !== null && share > 0 && !((epochOf(older, body) ^ epochOf(newer, body)) & CONTINUITY);
      const end = isOne ? this.#surfaceIn(newer, surface) : null;
      surface.isDrawn = start !== null;
      if (start === null) continue;
      mesh.bounds = start.bounds;
      mesh.blended = end === null ? start
        : {places: mixed(start.places, end.places, share), normals: mixed(start.normals, end.normals, share)};
      surface.places.write(mesh.blended.places);
      surface.normals.write(mesh.blended.normals);
    }
  }

  /** The vertices that a snapshot has of a body; the rest shape if it has none, null if they are not finite. */
  #surfaceIn(snapshot, { row, start, mesh: {mesh, geometry} }) {
    const {length} = mesh.vertices;
    snapshot.surfaces ??= new Map();
    if (snapshot.surfaces.get(row)?.mesh !== mesh) {
      const {vertices = 0, markWords} = snapshot;
      let found = {...geometry, bounds: meshBounds(mesh)};
      if (start !== null && 3 * vertices >= start + length) {
        const first = markWords.length - RECORD_WORDS * Math.ceil(12 * vertices / 64) + start;
        found = deformed(new Float32Array(markWords.buffer, markWords.byteOffset + 4 * first, length), mesh, geometry);
      }
      snapshot.surfaces.set(row, {mesh, found});
    }
    return snapshot.surfaces.get(row).found;
  }

  /** The groups that are drawn, each with its mesh. A row that deforms is a group of its own. */
  #drawable(groups = this.groups) {
    return groups.flatMap((group) => {
      const mesh = this.#meshOf(group);
      if (mesh === null) return [];
      if (!mesh.mesh.deforms) return [{group, mesh}];
      const isIn = ({row}) => row >= group.first && row < group.first + group.count;
      return this.surfaces.filter((surface) => surface.isDrawn && isIn(surface))
        .map((surface) => ({ group: {...group, first: surface.row, count: 1}, mesh: surface.mesh }));
    });
  }

  /** Draws all opaque meshes. @param {{isParallel: boolean}} frame */
  drawOpaque(frame) {
    const gl = this.gl;
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    for (const one of this.#drawable()) this.#draw(one, frame, this.poses.opaque, false);
  }

  /**
   * Draws transparent meshes. They hide nothing.
   * @param {object} run a group, or some of its rows
   * @param {{isParallel: boolean}} frame
   */
  drawTransparent(run, frame) {
    const gl = this.gl;
    const held = this.#meshOf(run);
    if (held === null) return;
    held.isClosed ??= isClosed(held.mesh, held.geometry);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (held.isClosed) gl.enable(gl.CULL_FACE);
    for (const one of this.#drawable([run])) this.#draw(one, frame, this.poses.transparent, true);
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
    for (const {group, mesh} of this.#drawable()) {
      if (mesh.bounds.isPlate) continue;
      const {program, uniforms} = this.programs.get("mesh shadows", {PARALLEL: frame.isParallel}, INPUTS);
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
  drawSilhouettes({isParallel}) {
    const gl = this.gl;
    const drawn = this.#drawable().filter(({group, mesh}) => mesh.geometry.mayBeSoft && group.material === null);
    const edges = drawn.reduce((sum, {group, mesh}) => sum + this.#edgesOf(mesh).list.length * group.count, 0);
    if (edges === 0 || edges > this.mostEdges) return;
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    for (const {group, mesh} of drawn) {
      const {array, list} = this.#edgesOf(mesh);
      const isFlat = Number(mesh.geometry.isFlat);
      gl.useProgram(this.programs.get("silhouettes", {PARALLEL: isParallel, FLAT: isFlat}, EDGE_INPUTS).program);
      gl.bindVertexArray(array);
      this.#pointRows(group, this.poses.opaque);
      gl.drawElementsInstanced(gl.TRIANGLES, 6 * list.length, gl.UNSIGNED_INT, 0, group.count);
    }
    gl.bindVertexArray(null);
    gl.depthMask(true);
  }

  /** The edges of a mesh on the GPU; they are made when they are first drawn, and written again where it deforms. */
  #edgesOf(mesh) {
    const {geometry, blended = geometry} = mesh;
    mesh.edges ??= this.#uploadEdges(mesh);
    if (mesh.edges.written !== blended) {
      mesh.edges.written = blended;
      mesh.edges.vertices.write(edgeVertices(mesh.edges.list, blended));
    }
    return mesh.edges;
  }

  #uploadEdges({geometry, buffers}) {
    const gl = this.gl;
    const list = silhouetteEdges(geometry);
    const vertices = new InputBuffer(gl);
    vertices.reserve(16 * EDGE_FLOATS * list.length);
    buffers.push(vertices.buffer);
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    for (let at = 0; at < 5; at++) {
      pointInput(gl, PLACE + at, vertices.buffer, {size: 3, stride: 4 * EDGE_FLOATS, offset: 12 * at});
    }
    const corners = [0, 1, 2, 2, 1, 3];
    const indices = Uint32Array.from({length: 6 * list.length}, (_, at) => 4 * Math.floor(at / 6) + corners[at % 6]);
    this.#buffer(gl.ELEMENT_ARRAY_BUFFER, indices, buffers);
    gl.bindVertexArray(null);
    return {array, list, vertices, written: null};
  }

  #buffer(target, values, buffers) {
    const gl = this.gl;
    const buffer = gl.createBuffer();
    gl.bindBuffer(target, buffer);
    gl.bufferData(target, values, gl.STATIC_DRAW);
    buffers.push(buffer);
    return buffer;
  }

  #meshOf({mesh}) {
    return this.held.get(this.head.meshes[mesh].digest) ?? null;
  }

  #draw({group, mesh}, {isParallel}, rows, isTransparent) {
    const gl = this.gl;
    const {isFlat} = mesh.geometry;
    const own = this.head.materials[group.material] ?? null;
    const image = this.textures.of(own, this.head);
    const name = own !== null ? "surfaces" : isFlat ? "flat faces" : "smooth faces";
    const {program, uniforms} = this.programs.get(name, {
      PARALLEL: isParallel, TRANSPARENT: Number(isTransparent), SHADING: isFlat ? "flat" : "smooth",
      FINISH: finishOf(own, image, false),
    }, INPUTS);
    gl.useProgram(program);
    if (own !== null) {
      applyMaterial(gl, uniforms, own, image, mesh.uv !== null);
      const halfSize = mesh.bounds.halfSize.map((value) => Math.max(value, SMALLEST_M));
      gl.uniform3f(uniforms.half_size ?? null, ...halfSize);
    }
    gl.bindVertexArray(mesh.array);
    this.#pointRows(group, rows);
    if (mesh.triangles === null) gl.drawArraysInstanced(gl.TRIANGLES, 0, mesh.corners, group.count);
    else gl.drawElementsInstanced(gl.TRIANGLES, mesh.corners, gl.UNSIGNED_INT, 0, group.count);
    gl.bindVertexArray(null);
  }

  #pointRows({first}, rows) {
    for (let at = 0; at < 4; at++) {
      const offset = ROW_BYTES * first + 16 * at;
      pointInput(this.gl, at, rows.buffer, {size: 4, stride: ROW_BYTES, offset, divisor: 1});
    }
  }

  #upload(mesh) {
    const gl = this.gl;
    const geometry = {...meshGeometry(mesh), mayBeSoft: mesh.faces.length <= 3 * MOST_SOFT_FACES};
    const buffers = [];
    const made = (target, values) => this.#buffer(target, values, buffers);
    const [places, normals] = [geometry.places, geometry.normals].map((values) => made(gl.ARRAY_BUFFER, values));
    const uv = geometry.uv === null ? null : made(gl.ARRAY_BUFFER, geometry.uv);
    const triangles = geometry.triangles === null ? null : made(gl.ELEMENT_ARRAY_BUFFER, geometry.triangles);
    // Copies of a large mesh that only the GPU needs are not kept.
    if (!mesh.deforms && !geometry.mayBeSoft) geometry.places = geometry.normals = geometry.uv = null;
    const held = {mesh, geometry, bounds: meshBounds(mesh), buffers, uv, triangles, corners: mesh.faces.length};
    return { ...held, array: this.#array({buffer: places}, {buffer: normals}, held) };
  }

  #array(places, normals, {uv, triangles}) {
    const gl = this.gl;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const point = (location, buffer, size) => pointInput(gl, location, buffer, {size, stride: 4 * size, offset: 0});
    point(PLACE, places.buffer, 3);
    point(NORMAL, normals.buffer, 3);
    if (uv !== null) point(UV, uv, 2);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, triangles);
    gl.bindVertexArray(null);
    return array;
  }

  #delete({array, edges, buffers}) {
    this.gl.deleteVertexArray(array);
    if (edges) this.gl.deleteVertexArray(edges.array);
    for (const buffer of buffers) this.gl.deleteBuffer(buffer);
  }
}
