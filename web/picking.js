/**
 * Finds the body at a pixel: a ray from the eye is intersected with the bodies, in the poses that were drawn.
 *
 * First, the bounding spheres of all bodies are tested. Then the shapes whose sphere the ray meets are tested, the
 * nearest sphere first, until the next sphere begins behind the nearest hit. The functions are those of
 * render/input/picking.py.
 *
 * Always: a hit is in front of the eye. If the eye is inside a shape, the ray hits the far wall. Pure. Triangles:
 * Moeller and Trumbore 1997. Boxes: the slab method of Kay and Kajiya 1986.
 */

import {rotationOf} from "./camera.js";
import {conjugate, log, multiply} from "./pose.js";

/**
 * Points origin + t * direction with t > 0. In the world, `direction` has length 1, so t is in metres.
 * @typedef {{origin: number[], direction: number[]}} Ray
 */
/**
 * The first body that a ray meets. point: in metres, in the world.
 * @typedef {{body: number, point: number[]}} Hit
 */

/**
 * Ray through a pixel of a picture.
 * @param {Object} matrices From `OrbitCamera.matrices`.
 * @param {{left: number, bottom: number, width: number, height: number}} viewport From `OrbitCamera.viewport`.
 * @param {number} xPx From the left of the picture.
 * @param {number} yPx From the top of the picture.
 * @param {number} heightPx Height of the picture.
 * @returns {Ray}
 */
export function rayOf({view, projection, eye, orthographic}, viewport, xPx, yPx, heightPx) {
  const x = (2 * (xPx - viewport.left)) / Math.max(viewport.width, 1) - 1;
  const y = (2 * (heightPx - yPx - viewport.bottom)) / Math.max(viewport.height, 1) - 1;
  const [right, up, backward] = axesOf(view);
  const across = x / projection[0], along = y / projection[5];
  const sideways = right.map((value, axis) => across * value + along * up[axis]);
  if (orthographic) return {origin: plus(eye, sideways), direction: backward.map((value) => -value)};
  const direction = minus(sideways, backward), length = Math.hypot(...direction);
  return {origin: [...eye], direction: direction.map((value) => value / length)};
}

/**
 * Pixel of a point in the world: the inverse of `rayOf`.
 * @returns {?number[]} x from the left and y from the top of the picture; null if the point is not in front of the eye.
 */
export function pixelOf({view, projection, eye, orthographic}, viewport, point, heightPx) {
  const [right, up, backward] = axesOf(view), away = minus(point, eye), depth = -dot(away, backward);
  if (!orthographic && !(depth > 0)) return null;
  const share = orthographic ? 1 : 1 / depth;
  const x = dot(away, right) * share * projection[0], y = dot(away, up) * share * projection[5];
  return [
    viewport.left + ((x + 1) * viewport.width) / 2, heightPx - viewport.bottom - ((y + 1) * viewport.height) / 2,
  ];
}

/** Directions of a camera to the right, up and backward, from its view matrix. */
function axesOf(view) {
  return [0, 4, 8].map((at) => Array.from(view.subarray(at, at + 3)));
}

/**
 * The first visible body that the ray meets.
 * @param {Ray} ray
 * @param {Object} scene From `scene.js`.
 * @param {Object} poses `DrawnPoses` of pose.js.
 * @returns {?Hit} Null if the ray meets no body.
 */
export function firstHit(ray, scene, poses) {
  const met = [];
  for (let body = 0; body < poses.count; body++) {
    const shape = scene.table[scene.shapeOf(body)];
    if (passesBy(ray, poses.roughly(body), shape.reach * poses.largestScale(body))) continue;
    const pose = poses.of(body);
    if (!pose.isVisible) continue;
    const scale = poses.stretchOf(body).map((value) => value * pose.scale);
    const reach = shape.reach * Math.max(...scale.map(Math.abs));
    const away = minus(pose.position, ray.origin), along = dot(away, ray.direction);
    const halfSquared = reach * reach - dot(away, away) + along * along;
    if (halfSquared >= 0 && along + reach > 0) {
      met.push({body, pose, shape, scale, away, near: along - Math.sqrt(halfSquared)});
    }
  }
  met.sort((one, other) => one.near - other.near);
  let best = Infinity, found = -1;
  for (const {body, pose, shape, scale, away, near} of met) {
    if (near > best) break;
    if (scale.includes(0)) continue;
    // The ray is not normalized in the body's frame, so distances along it are world metres at any scale.
    const turn = rotationOf(pose.orientation);
    const toBody = (vector) => turnedBack(turn, vector).map((value, axis) => value / scale[axis]);
    const distance = distanceTo(shape, {origin: toBody(away.map((value) => -value)), direction: toBody(ray.direction)});
    if (distance < best) [best, found] = [distance, body];
  }
  return found < 0 ? null : {body: found, point: plus(ray.origin, ray.direction.map((value) => best * value))};
}

/** True if the ray certainly passes by a ball: most bodies are found so, without their poses. */
function passesBy({origin, direction}, {x, y, z, roomM}, reachM) {
  const away = [x - origin[0], y - origin[1], z - origin[2]], along = dot(away, direction);
  return dot(away, away) - along * along > (1 + 1e-6) * (reachM + roomM) ** 2 + 1e-6 * along * along;
}

/** Smallest t > 0 at which the ray meets the shape, which is one of `Scene.table`; Infinity if it does not. */
function distanceTo(shape, ray) {
  const {half} = shape;
  switch (shape.kind) {
    case "compound": return Math.min(...shape.parts.map((part) => distanceToPart(part, ray)));
    case "mesh": return toMesh(shape.arrays, ray);
    case "box": return toBox(half, ray);
    case "plane": return toRectangle(half, ray);
    case "ellipsoid": {
      const scaled = (vector) => vector.map((value, axis) => value / half[axis]);
      return toBall(1, {origin: scaled(ray.origin), direction: scaled(ray.direction)});
    }
    case "cylinder": return Math.min(toTube(half[0], half[2], ray), toCaps(half[0], half[2], ray));
    case "capsule":
      return Math.min(toTube(half[0], half[2], ray), ...[-1, 1].map((side) => toEnd(side, half[2], half[0], ray)));
    default: return toBall(half[0], ray);
  }
}

function distanceToPart({shape, position, orientation}, {origin, direction}) {
  const turn = rotationOf(orientation);
  return distanceTo(shape, {
    origin: turnedBack(turn, minus(origin, position)), direction: turnedBack(turn, direction),
  });
}

function first(distances) {
  return Math.min(...distances.filter((t) => t > 0));
}

function toBall(radius, {origin, direction}) {
  return first(roots(direction, origin, radius));
}

/** Distance to the half sphere at one end of a capsule. side: 1 for the end at positive z, -1 for the other end. */
function toEnd(side, half, radius, {origin, direction}) {
  const found = roots(direction, [origin[0], origin[1], origin[2] - side * half], radius);
  return first(found.filter((t) => side * (origin[2] + t * direction[2]) >= half));
}

/** The two values of t at which the vector away + t * direction has length `radius`. Empty if there are none. */
function roots(direction, away, radius) {
  const product = (one, other) => one.reduce((sum, value, axis) => sum + value * other[axis], 0);
  const a = product(direction, direction), halfB = product(away, direction);
  const under = halfB * halfB - a * (product(away, away) - radius * radius);
  if (!(a > 0) || !(under >= 0)) return [];
  const root = Math.sqrt(under);
  return [(-halfB - root) / a, (-halfB + root) / a];
}

function toBox(half, {origin, direction}) {
  let enter = -Infinity, leave = Infinity;
  for (let axis = 0; axis < 3; axis++) {
    if (direction[axis] === 0) {
      if (Math.abs(origin[axis]) > half[axis]) return Infinity;
      continue;
    }
    const one = (-half[axis] - origin[axis]) / direction[axis], other = (half[axis] - origin[axis]) / direction[axis];
    enter = Math.max(enter, Math.min(one, other));
    leave = Math.min(leave, Math.max(one, other));
  }
  return enter <= leave ? first([enter, leave]) : Infinity;
}

function toRectangle(half, {origin, direction}) {
  if (direction[2] === 0) return Infinity;
  const t = -origin[2] / direction[2];
  const isInside = [0, 1].every((axis) => Math.abs(origin[axis] + t * direction[axis]) <= half[axis]);
  return isInside ? first([t]) : Infinity;
}

function toTube(radius, half, {origin, direction}) {
  const found = roots(direction.slice(0, 2), origin.slice(0, 2), radius);
  return first(found.filter((t) => Math.abs(origin[2] + t * direction[2]) <= half));
}

function toCaps(radius, half, {origin, direction}) {
  if (direction[2] === 0) return Infinity;
  const ends = [-1, 1].map((side) => (side * half - origin[2]) / direction[2]);
  return first(ends.filter((t) => Math.hypot(origin[0] + t * direction[0], origin[1] + t * direction[1]) <= radius));
}

/** mesh: vertices and faces, see `contents.js`; null if it has not arrived. */
function toMesh(mesh, {origin, direction}) {
  let best = Infinity;
  if (mesh === null) return best;
  const {vertices, faces} = mesh;
  const corner = (index) => [vertices[3 * index], vertices[3 * index + 1], vertices[3 * index + 2]];
  for (let face = 0; face < faces.length; face += 3) {
    const from = corner(faces[face]);
    const edge = minus(corner(faces[face + 1]), from), other = minus(corner(faces[face + 2]), from);
    const across = cross(direction, other), area = dot(edge, across);
    const away = minus(origin, from), turned = cross(away, edge);
    const u = dot(away, across) / area, v = dot(turned, direction) / area, t = dot(other, turned) / area;
    if (u >= 0 && v >= 0 && u + v <= 1 && t > 0 && t < best) best = t;
  }
  return best;
}

/** The vector in the frame of a body with this rotation matrix. */
function turnedBack(turn, vector) {
  return [0, 1, 2].map((axis) => turn[0][axis] * vector[0] + turn[1][axis] * vector[1] + turn[2][axis] * vector[2]);
}

const dot = (one, other) => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
const plus = (one, other) => [one[0] + other[0], one[1] + other[1], one[2] + other[2]];
const minus = (one, other) => [one[0] - other[0], one[1] - other[1], one[2] - other[2]];
const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];

// The spring between a dragged body and the pointer, see render/input/pointer.py. A page does not know the masses of
// bodies, so it assumes the density of water.

const STILL = [[0, 0, 0], [0, 0, 0]];
const RATE_PER_S = 5, DENSITY_KG_M3 = 1000;
// Share of its bounding sphere that a mesh is assumed to fill.
const FILLED = 0.1;
// A larger speed of a point, in m/s, means that the body jumped to another place.
const FASTEST_M_S = 100;
// Angle by which a drag across the whole height of the picture turns a body.
const TURN_PER_HEIGHT = Math.PI;

/**
 * A point of a body that the user drags or has selected.
 *
 * Its pulls have the fields of `Pull` in ipc/interaction/events.py: lengths in metres, in the world.
 */
export class Grab {
  #before = null;  // from the last pull: draw time, position of the point, orientation
  #motions = STILL;

  /**
   * @param {number} body
   * @param {number[]} point The grabbed point in the body's frame, metres.
   */
  constructor(body, point) {
    this.body = body;
    this.point = point;
    this.drag = null;
  }

  /**
   * @param {Hit} hit
   * @param {Object} poses `DrawnPoses`.
   * @returns {Grab}
   */
  static of({body, point}, poses) {
    const {position, orientation} = poses.of(body);
    return new Grab(body, turnedBack(rotationOf(orientation), minus(point, position)));
  }

  /** Position and orientation of the body, and position of the point, as drawn; null if the body is not drawn. */
  place(poses) {
    const pose = poses.of(this.body);
    if (!pose?.isDrawable) return null;
    const arm = rotationOf(pose.orientation).map((row) => dot(row, this.point));
    return {middle: pose.position, orientation: pose.orientation, at: plus(pose.position, arm)};
  }

  /**
   * Begins a drag. isTurn: true if it turns the body, false if it pulls the point.
   * @returns {boolean} False if the body is not drawn.
   */
  begin(isTurn, xPx, yPx, {ray, view}, poses) {
    const place = this.place(poses);
    if (place === null) return false;
    const depthM = -dot(minus(place.at, ray.origin), axesOf(view)[2]);
    this.drag = {isTurn, depthM, orientation: place.orientation, fromPx: [xPx, yPx]};
    this.#before = null;
    return true;
  }

  end() {
    this.drag = this.#before = null;
  }

  /** The point under the pointer, at the depth of the grabbed point. */
  target({ray, view}) {
    const along = -dot(ray.direction, axesOf(view)[2]);
    return plus(ray.origin, ray.direction.map((value) => (value * this.drag.depthM) / along));
  }

  /**
   * The pull at the present place of the pointer.
   * @param {Object} scene From `scene.js`.
   * @param {Object} poses `DrawnPoses` of the last frame.
   * @param {number} drawNs Draw time of that frame.
   * @param {?{xPx: number, yPx: number, heightPx: number, ray: Ray, view: Float32Array}} pointer Null: it is not on the
   *   picture.
   * @returns {Object} The fields of `Pull`.
   */
  pull(scene, poses, drawNs, pointer) {
    const place = this.place(poses);
    if (this.drag === null || place === null || pointer === null) {
      this.#before = null;
      return pullFields({body: this.body, point: this.point, is_held: false});
    }
    const {middle, orientation, at} = place;
    const [velocity, spin] = this.#motion(drawNs, at, orientation);
    const shape = scene.table[scene.shapeOf(this.body)];
    const mass = DENSITY_KG_M3 * volumeOf(shape);
    const known = {body: this.body, point: this.point, at, position: middle};
    if (!this.drag.isTurn) {
      const target = this.target(pointer);
      return pullFields({...known, target, ...pulled(mass, at, target, velocity, middle)});
    }
    const turn = this.#turn(pointer);
    const left = minus(turn, rotationBetween(this.drag.orientation, orientation));
    return pullFields({...known, target: at, is_turn: true, turn, torque: turned(mass, shape.reach, left, spin)});
  }

  /** Velocity of the point and angular velocity of the body between the frames of the last two pulls. */
  #motion(drawNs, at, orientation) {
    const before = this.#before;
    if (drawNs !== before?.drawNs) {
      this.#before = {drawNs, at, orientation};
      const passedS = before === null ? 0 : (drawNs - before.drawNs) / 1e9;
      const ways = () => [minus(at, before.at), rotationBetween(before.orientation, orientation)];
      this.#motions = passedS > 0 ? ways().map((way) => way.map((value) => value / passedS)) : STILL;
    }
    return this.#motions;
  }

  #turn({xPx, yPx, heightPx, view}) {
    const [right, up] = axesOf(view), [fromX, fromY] = this.drag.fromPx;
    const factor = TURN_PER_HEIGHT / Math.max(heightPx, 1);
    return up.map((value, axis) => ((xPx - fromX) * value + (yPx - fromY) * right[axis]) * factor);
  }
}

/** The fields of a pull; the default is no pull. */
export function pullFields(given = {}) {
  const nowhere = [0, 0, 0];
  return {
    body: null, point: nowhere, at: nowhere, target: nowhere, is_turn: false, turn: nowhere, force: nowhere,
    torque: nowhere, is_held: true, position: nowhere, ...given,
  };
}

/** Force and torque that pull the point `at` towards `target`. */
export function pulled(mass, at, target, velocity, middle) {
  const slowed = limited(velocity);
  const force = at.map((value, axis) => mass * RATE_PER_S * (RATE_PER_S * (target[axis] - value) - 2 * slowed[axis]));
  return {force, torque: cross(minus(at, middle), force)};
}

/** Torque that turns a body by the rotation vector `left`. spin: its angular velocity. */
export function turned(mass, reachM, left, spin) {
  const inertia = 0.4 * mass * (reachM / 2) ** 2, slowed = limited(spin);
  return left.map((value, axis) => inertia * RATE_PER_S * (RATE_PER_S * value - 2 * slowed[axis]));
}

/** Rotation vector that turns the orientation `before` into `now`, in the world. */
export function rotationBetween(before, now) {
  return log(multiply(now, conjugate(before)));
}

/** Volume of a shape of scale 1, m^3. */
export function volumeOf({kind, half, parts, reach}) {
  const [x, y, z] = half;
  switch (kind) {
    case "compound": return parts.reduce((sum, {shape}) => sum + volumeOf(shape), 0);
    case "sphere": return (4 / 3) * Math.PI * x ** 3;
    case "box": return 8 * x * y * z;
    case "ellipsoid": return (4 / 3) * Math.PI * x * y * z;
    case "cylinder": return 2 * Math.PI * x ** 2 * z;
    case "capsule": return Math.PI * x ** 2 * (2 * z + (4 / 3) * x);
    default: return FILLED * (4 / 3) * Math.PI * reach ** 3;
  }
}

function limited(velocity) {
  return Math.hypot(...velocity) <= FASTEST_M_S ? velocity : [0, 0, 0];
}
