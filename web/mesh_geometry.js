/**
 * Arrays of meshes for the GPU: vertices, triangles, silhouette edges, bounds, and the vertices of deforming meshes.
 *
 * The functions are those of render/draw/meshes/mesh_geometry.py, with one difference: each face of a flat mesh has
 * three vertices of its own. Pure.
 */

import { PLATE_SHARE } from "./glsl.js";

/** Floats of a vertex of an edge: four places and a normal. */
export const EDGE_FLOATS = 15;
/** Largest coordinate of a vertex of a deforming mesh, metres. */
const FARTHEST_VERTEX = 1e15;

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
export function meshBounds({ vertices, faces }) {
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
 * The edges of a mesh, as `silhouette_edges` in render/draw/meshes/mesh_geometry.py: the opposite corner of one face,
 * both ends, the opposite corner of the other face.
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
export function edgeVertices(edges, { places, normals }) {
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
export function deformed(vertices, { faces }, { triangles, isFlat }) {
  if (!vertices.every((value) => Math.abs(value) < FARTHEST_VERTEX)) return null;
  const bounds = meshBounds({ vertices, faces });
  if (isFlat) {
    const { places, normals } = flat(vertices, faces, null);
    return { places, normals, bounds };
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
  return { places: vertices, normals, bounds };
}
