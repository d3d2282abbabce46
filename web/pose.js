/**
 * The pose of single bodies between two snapshots, for following, picking, pulling, labels, trails, and bodies with a
 * parent. All other bodies are blended on the GPU.
 *
 * The functions and their names are those of render/interpolation: `linear` in method.py, `hermite` and `auto` in
 * hermite.py, rotations in quaternion.py, parents in poses.py. `auto` decides alike for every body.
 *
 * Always: a body keeps the older pose until the newer snapshot's time if its continuity differs, if it is not in the
 * newer snapshot, or if its newer record is not finite. Quaternions are xyzw. Pure.
 */

import {
  EPOCH, FARTHEST, FLAGS, flagsOf, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, ORIENTATION, RECORD_WORDS, scaleOf, SPIN,
  VELOCITY, VISIBLE,
} from "./scene.js";

const CONTINUITY_MASK = 0xffff;
const NS_PER_S = 1e9;
// Number of scenes whose parents are kept. Only a few scenes arrive while their snapshots wait to be drawn.
const MOST_SCENES = 16;
// Limits of the methods `hermite` and `auto`, see render/interpolation/poses.py.
const MOST_TURN_RAD = 128 * Math.PI;
const ACCELERATION_CHANGE = 0.7, POSITION_MISMATCH = 0.07, SWING = 3, LARGEST_COMPARED = 1e15;
// A cubic leaves the straight line by at most this share of the time between the snapshots, times both speeds.
const MOST_SWING = 4 / 27;
const TURN_OFF_RAD = 0.25, TURN_OFF_OF_CHANGE = 0.25;
// Limits of the computation with quaternions, see render/interpolation/quaternion.py.
const NEAR_PARALLEL_SINE = 1e-3, NO_LENGTH = 1e-30, NO_AXIS_SINE = 1e-12;

/**
 * Snapshots around a draw time, from `SnapshotStore.at`.
 * @typedef {Object} Pair
 * @property {?Object} before The snapshot before `older`; null if there is none.
 * @property {Object} older The newest snapshot at or before the draw time.
 * @property {?Object} newer The next snapshot; `older` or null if there is none.
 * @property {number} share Share of the time between the two that has passed.
 */
/**
 * @typedef {Object} Pose
 * @property {number[]} position Metres.
 * @property {number[]} orientation Unit quaternion xyzw.
 * @property {number} scale
 * @property {boolean} isVisible True if the body is drawn.
 * @property {boolean} isDrawable True if the pose is finite.
 */

/**
 * Drawn poses of bodies in the world. A body with a parent is blended in the parent's frame, and then placed by the
 * drawn pose of the parent. If its parent changes between the two snapshots, it is blended straight in the world.
 * Poses are computed when they are asked for, each one once.
 */
export class DrawnPoses {
  #pair;
  #pairOf;
  #parentsOf;
  #found = new Map();

  /**
   * @param {Pair} pair
   * @param {string} method "none", "linear", "hermite" or "auto".
   * @param {?function(Object): Int32Array} parentsOf Function that returns the parent of each body of a snapshot, or
   *   -1, see `ParentLog`; null if no body has a parent.
   * @param {function(number): Object} pairOf Pair and method of a body's layer.
   */
  constructor(pair, method, parentsOf = null, pairOf = () => this.#pair) {
    this.#pair = {...pair, method};
    this.#pairOf = pairOf;
    this.#parentsOf = parentsOf;
  }

  /** Number of bodies that are drawn. */
  get count() {
    return this.#pair.older.count;
  }

  /**
   * @param {number} body
   * @returns {?Pose} Null if the older snapshot does not have the body.
   */
  of(body) {
    if (!(body >= 0 && body < this.count)) return null;
    let pose = this.#found.get(body);
    if (pose === undefined) {
      const pair = this.#pairOf(body);
      this.#found.set(body, poseBetween(pair, pair.method, body));  // the pose in a cycle of parents
      pose = this.#drawn(body);
      this.#found.set(body, pose);
    }
    return pose;
  }

  /** Scale of a body along its own axes, from the column `scale3`; the pose's `scale` multiplies it. */
  stretchOf(body) {
    const {older, newer, share, method} = this.#pairOf(body);
    const start = stretchIn(older, body);
    if (newer === null || newer === older || method === "none" || !mayBeBlended(older, newer, body)) return start;
    const end = stretchIn(newer, body);
    return start.map((from, axis) => (from * end[axis] < 0 ? from : from + (end[axis] - from) * share));
  }

  /** Largest factor by which a body is drawn larger than its shape. */
  largestScale(body) {
    let most = 0;
    const {older, newer} = this.#pairOf(body);
    for (const one of [older, newer]) {
      if (one === null || body >= one.count) continue;
      const scale = Math.abs(scaleOf(one, body)) * Math.max(...stretchIn(one, body).map(Math.abs));
      if (!(scale <= most)) most = scale;
    }
    return most;
  }

  /**
   * A ball around the drawn position of a body, without computing its pose. If that is not possible, its room is
   * Infinity.
   * @returns {{x: number, y: number, z: number, roomM: number}}
   */
  roughly(body) {
    const {older, newer, method} = this.#pairOf(body), at = RECORD_WORDS * body;
    const [x, y, z] = [older.floats[at], older.floats[at + 1], older.floats[at + 2]];
    let roomM = this.#parentsOf === null ? 0 : Infinity;
    if (newer !== null && newer !== older && body < newer.count) {
      roomM += length(minus(vectorAt(newer, body, 0), [x, y, z]));
      if (method !== "linear" && isMoving(older, newer, body)) {
        const speeds = length(vectorAt(older, body, VELOCITY)) + length(vectorAt(newer, body, VELOCITY));
        roomM += (MOST_SWING * speeds * (newer.simNs - older.simNs)) / NS_PER_S;
      }
    }
    return {x, y, z, roomM: Number.isNaN(roomM) ? Infinity : roomM};
  }

  /** True if a body has a parent in one of the two snapshots. The GPU cannot blend it. */
  isChild(body) {
    const {older, newer} = this.#pair;
    return [older, newer].some((one) => one !== null && this.#parentIn(one, body) >= 0);
  }

  /**
   * Writes the drawn poses of bodies with a parent into the records of rows. Do this in each frame with the rows of
   * both snapshots: the GPU then blends two equal poses, and it still blends colours and scales.
   * @param {Uint32Array} body Body of each row.
   * @param {Uint32Array} words Records of the rows, 16 words each, copied from the snapshot's; changed in place.
   * @param {Float32Array} floats View of the same bytes.
   */
  placeRows(body, words, floats) {
    for (let row = 0; row < body.length; row++) {
      if (body[row] >= this.count || !this.isChild(body[row])) continue;
      const {position, orientation, isDrawable} = this.of(body[row]), at = RECORD_WORDS * row;
      floats.set(isDrawable ? position : [NaN, NaN, NaN], at);
      floats.set(orientation, at + ORIENTATION);
      words[at + FLAGS] &= ~(HAS_VELOCITY | HAS_ANGULAR_VELOCITY);
    }
  }

  /** Positions of all bodies, 3 a body, metres. */
  places() {
    const found = new Float64Array(3 * this.count);
    for (let body = 0; body < this.count; body++) found.set(this.of(body).position, 3 * body);
    return found;
  }

  #drawn(body) {
    const own = this.#found.get(body);
    if (this.#parentsOf === null) return own;
    const {older, newer, share, method} = this.#pair;
    const parent = this.#parentIn(older, body);
    const isOther = newer !== null && body < newer.count && this.#parentIn(newer, body) !== parent;
    if (!isOther) return parent < 0 ? own : placed(own, this.of(parent));
    const start = publishedPose(older, body, this.#parentsOf), end = publishedPose(newer, body, this.#parentsOf);
    if (method === "none" || !mayBeBlended(older, newer, body) || !end.isDrawable) return start;
    return {
      ...start, position: straight(start.position, end.position, share), scale: own.scale,
      orientation: slerp(start.orientation, end.orientation, share),
    };
  }

  #parentIn(snapshot, body) {
    return this.#parentsOf === null ? -1 : parentIn(this.#parentsOf, snapshot, body);
  }
}

/**
 * Pose of a body in the world as a snapshot has it.
 * @param {Object} snapshot From `wire.js`.
 * @param {number} body
 * @param {?function(Object): Int32Array} parentsOf See `DrawnPoses`.
 * @returns {Pose}
 */
function publishedPose(snapshot, body, parentsOf = null) {
  const chain = [body];
  let pose = poseIn(snapshot, body);
  for (;;) {
    const parent = parentsOf === null ? -1 : parentIn(parentsOf, snapshot, chain.at(-1));
    if (parent < 0) return pose;
    if (chain.includes(parent)) return poseIn(snapshot, body);
    chain.push(parent);
    pose = placed(pose, poseIn(snapshot, parent));
  }
}

/**
 * Positions of all bodies of a snapshot in the world, 3 a body, metres. Null if no body has a parent.
 * @param {Object} snapshot
 * @param {?function(Object): Int32Array} parentsOf See `DrawnPoses`.
 * @returns {?Float64Array}
 */
export function publishedPlaces(snapshot, parentsOf) {
  return parentsOf === null ? null : new DrawnPoses(atRest(snapshot), "none", parentsOf).places();
}

/** Pair that shows one snapshot as it was published. */
export function atRest(snapshot) {
  return {before: null, older: snapshot, newer: null, share: 0};
}

/** Parents of the bodies in the latest scenes, because a snapshot may be older than the newest scene. */
export class ParentLog {
  #scenes = [];  // the oldest first
  #found = new WeakMap();

  /** Adds a scene that has arrived. */
  add(scene) {
    this.#scenes = [...this.#scenes.filter(({version}) => version < scene.version), scene].slice(-MOST_SCENES);
    this.#found = new WeakMap();
  }

  /** Function for `DrawnPoses`; null if no body has a parent. */
  get parentsOf() {
    return this.#scenes.some((scene) => scene.hasParents) ? (snapshot) => this.#of(snapshot) : null;
  }

  #of(snapshot) {
    let rows = this.#found.get(snapshot);
    if (rows === undefined) {
      const scene = this.#scenes.findLast(({version}) => version <= snapshot.sceneVersion) ?? this.#scenes[0];
      rows = scene.parentRows(snapshot.count);
      this.#found.set(snapshot, rows);
    }
    return rows;
  }
}

/**
 * Pose of a body between two snapshots, in the frame of its records.
 * @param {Pair} pair
 * @param {string} method "none", "linear", "hermite" or "auto".
 * @param {number} body
 * @returns {Pose}
 */
function poseBetween({before, older, newer, share}, method, body) {
  const pose = poseIn(older, body);
  if (newer === null || newer === older || method === "none" || share <= 0) return pose;
  if (!mayBeBlended(older, newer, body)) return pose;
  const gapS = (newer.simNs - older.simNs) / NS_PER_S;
  const scale = scaleOf(newer, body);
  if (pose.scale * scale >= 0) pose.scale += (scale - pose.scale) * share;
  pose.position = positionBetween(before, older, newer, method, body, gapS, share);
  const isLed = method !== "linear" && isTurning(older, newer, body, gapS) &&
    (method === "hermite" || turnIsTrusted(older, newer, body));
  if (isLed) pose.orientation = turn(...endsOfTurn(older, newer, body), gapS, share);
  else pose.orientation = slerp(turnAt(older, body), turnAt(newer, body), share);
  return pose;
}

function positionBetween(before, older, newer, method, body, gapS, share) {
  const start = vectorAt(older, body, 0), end = vectorAt(newer, body, 0);
  const isCurved = method !== "linear" && isMoving(older, newer, body) &&
    (method === "hermite" || curveIsTrusted(before, older, newer, body));
  if (isCurved) {
    const place = curve(start, vectorAt(older, body, VELOCITY), end, vectorAt(newer, body, VELOCITY), gapS, share);
    if (Math.abs(place[0]) < FARTHEST && Math.abs(place[1]) < FARTHEST && Math.abs(place[2]) < FARTHEST) return place;
  }
  return straight(start, end, share);
}

/** Pose of a body as its record has it, in the frame of the record. */
function poseIn(snapshot, body) {
  const isDrawable = isFinitePose(snapshot, body);
  return {
    position: vectorAt(snapshot, body, 0), orientation: normalized(turnAt(snapshot, body)),
    scale: scaleOf(snapshot, body), isVisible: isDrawable && (flagsOf(snapshot, body) & VISIBLE) !== 0, isDrawable,
  };
}

/** A pose in a parent's frame, converted to the frame of the parent. */
function placed(pose, parent) {
  const position = plus(parent.position, rotate(parent.orientation, pose.position));
  const isDrawable = pose.isDrawable && parent.isDrawable && position.every((value) => Math.abs(value) < FARTHEST);
  return {
    ...pose, position, orientation: normalized(multiply(parent.orientation, pose.orientation)),
    isVisible: pose.isVisible && isDrawable, isDrawable,
  };
}

function stretchIn({columns}, body) {
  const column = columns?.get("scale3");
  if (column?.per !== "body" || column.width !== 3) return [1, 1, 1];
  return Array.from(column.values.subarray(3 * body, 3 * body + 3));
}

function parentIn(parentsOf, snapshot, body) {
  const parent = parentsOf(snapshot)[body] ?? -1;
  return parent < snapshot.count ? parent : -1;
}

function isFinitePose(snapshot, body) {
  return Number.isFinite(scaleOf(snapshot, body)) && isBelow(snapshot, body, 0, 3) &&
    isBelow(snapshot, body, ORIENTATION, 4);
}

function mayBeBlended(older, newer, body) {
  if (body >= older.count || body >= newer.count) return false;
  const at = RECORD_WORDS * body + EPOCH;
  return ((older.words[at] ^ newer.words[at]) & CONTINUITY_MASK) === 0 && isFinitePose(older, body) &&
    isFinitePose(newer, body);
}

/** True if the velocity of a body is given and finite in both snapshots. */
function isMoving(older, newer, body) {
  return (flagsOf(older, body) & flagsOf(newer, body) & HAS_VELOCITY) !== 0 && isBelow(older, body, VELOCITY, 3) &&
    isBelow(newer, body, VELOCITY, 3);
}

/** True if the angular velocity is given in both snapshots and turns the body by less than `MOST_TURN_RAD`. */
function isTurning(older, newer, body, gapS) {
  if ((flagsOf(older, body) & flagsOf(newer, body) & HAS_ANGULAR_VELOCITY) === 0) return false;
  if (!isBelow(older, body, SPIN, 3) || !isBelow(newer, body, SPIN, 3)) return false;
  const fastest = Math.max(squared(vectorAt(older, body, SPIN)), squared(vectorAt(newer, body, SPIN)));
  return fastest * gapS ** 2 < MOST_TURN_RAD ** 2;
}

/**
 * True if the curve of a body from `older` to `newer` can be trusted, see hermite.py.
 * @param {?Object} before Snapshot before `older`.
 * @param {Object} older
 * @param {Object} newer
 * @param {number} body
 */
export function curveIsTrusted(before, older, newer, body) {
  if (before === null || before === older || !mayBeBlended(before, older, body)) return false;
  if (!isMoving(before, older, body)) return false;
  const gapS = (newer.simNs - older.simNs) / NS_PER_S, beforeGapS = (older.simNs - before.simNs) / NS_PER_S;
  if (!(beforeGapS > 0)) return false;
  const vb = vectorAt(before, body, VELOCITY), v0 = vectorAt(older, body, VELOCITY);
  const v1 = vectorAt(newer, body, VELOCITY);
  const pb = vectorAt(before, body, 0), p0 = vectorAt(older, body, 0), p1 = vectorAt(newer, body, 0);
  const j = minus(v1, v0), jb = minus(v0, vb), way = minus(p1, p0), wayBefore = minus(p0, pb);
  for (const vector of [vb, v0, v1, way, wayBefore]) {
    for (const value of vector) if (!(Math.abs(value) < LARGEST_COMPARED)) return false;
  }

  const now = times(j, beforeGapS), earlier = times(jb, gapS);  // both accelerations, each multiplied by both gaps
  if (!(length(minus(now, earlier)) < ACCELERATION_CHANGE * Math.min(length(now), length(earlier)))) return false;

  const e = minus(way, times(plus(v0, v1), gapS / 2)), eb = minus(wayBefore, times(plus(vb, v0), beforeGapS / 2));
  const mostLagS = Math.min(gapS, beforeGapS) / 2;
  const changes = dot(j, j) + dot(jb, jb);
  const lagS = Math.max(-mostLagS, Math.min(mostLagS, (dot(e, j) + dot(eb, jb)) / (changes > 0 ? changes : 1)));
  if (length(minus(e, times(j, lagS))) > POSITION_MISMATCH * gapS * length(j)) return false;
  if (length(minus(eb, times(jb, lagS))) > POSITION_MISMATCH * beforeGapS * length(jb)) return false;

  const leaving = dot(v0, j), arriving = dot(v1, j), along = dot(way, j);
  if (leaving < 0 && arriving > 0) return true;
  return Math.max(Math.abs(leaving), Math.abs(arriving)) * gapS <= SWING * (leaving + arriving < 0 ? -along : along);
}

/** True if the angular velocities of a body lead from its older orientation to near its newer one, see hermite.py. */
export function turnIsTrusted(older, newer, body) {
  const gapS = (newer.simNs - older.simNs) / NS_PER_S;
  const [start, startSpin, end, endSpin] = endsOfTurn(older, newer, body);
  const change = length(minus(endSpin, startSpin)) * gapS;
  return length(remainder(start, startSpin, end, endSpin, gapS)) <= TURN_OFF_RAD + TURN_OFF_OF_CHANGE * change;
}

/** Orientation and angular velocity of a body in the older snapshot, and in the newer one. */
function endsOfTurn(older, newer, body) {
  return [turnAt(older, body), vectorAt(older, body, SPIN), turnAt(newer, body), vectorAt(newer, body, SPIN)];
}

/** Position on the cubic from `start` to `end`. Charles Hermite 1878. */
function curve(start, startVelocity, end, endVelocity, gapS, alpha) {
  const h01 = ease(alpha), h10 = alpha * (1 - alpha) ** 2, h11 = -(alpha ** 2) * (1 - alpha);
  const at = (axis) =>
    start[axis] + (end[axis] - start[axis]) * h01 + gapS * (h10 * startVelocity[axis] + h11 * endVelocity[axis]);
  return [at(0), at(1), at(2)];
}

/** Orientation between `start` and `end`, with the given angular velocities. Kim, Kim, Shin 1995. */
function turn(start, startSpin, end, endSpin, gapS, alpha) {
  const [leaving, middle, arriving] = thirds(startSpin, endSpin, gapS);
  const missing = remainder(start, startSpin, end, endSpin, gapS);
  let turned = multiply(exp(times(leaving, 1 - (1 - alpha) ** 3)), normalized(start));
  turned = multiply(exp(times(middle, ease(alpha))), multiply(exp(times(missing, ease(alpha))), turned));
  return normalized(multiply(exp(times(arriving, alpha ** 3)), turned));
}

/** Rotation vector of the shortest rotation from the predicted orientation to the newer one. */
function remainder(start, startSpin, end, endSpin, gapS) {
  const [leaving, middle, arriving] = thirds(startSpin, endSpin, gapS);
  const whole = multiply(normalized(end), conjugate(normalized(start)));
  return log(
    multiply(multiply(exp(times(middle, -1)), exp(times(arriving, -1))), multiply(whole, exp(times(leaving, -1)))),
  );
}

/** Rotation vectors for each third of the time between two snapshots, in order of time. */
function thirds(startSpin, endSpin, gapS) {
  const leaving = times(startSpin, gapS / 3), arriving = times(endSpin, gapS / 3);
  return [leaving, times(plus(leaving, arriving), 0.5), arriving];
}

const ease = (alpha) => alpha * alpha * (3 - 2 * alpha);

/** Quaternion of unit length; the identity if the length is 0 or not finite. */
export function normalized(quaternion) {
  const [x, y, z, w] = quaternion;
  const size = x * x + y * y + z * z + w * w;
  if (!Number.isFinite(size) || size < NO_LENGTH) return [0, 0, 0, 1];
  const root = Math.sqrt(size);
  return [x / root, y / root, z / root, w / root];
}

/** Product second * first: the rotation `first` followed by the rotation `second`. */
export function multiply([x1, y1, z1, w1], [x2, y2, z2, w2]) {
  return [
    w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2, w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
    w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2, w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
  ];
}

/** The inverse rotation of a unit quaternion. */
export function conjugate([x, y, z, w]) {
  return [-x, -y, -z, w];
}

/** Rotates a vector by a unit quaternion. */
export function rotate([x, y, z, w], vector) {
  const axis = [x, y, z];
  return plus(vector, times(cross(axis, plus(cross(axis, vector), times(vector, w))), 2));
}

/** Unit quaternion of a rotation vector of any angle; the identity if its length is not finite. Euler 1775. */
function exp(rotation) {
  const angle = Math.sqrt(squared(rotation));
  if (!Number.isFinite(angle)) return [0, 0, 0, 1];
  const perAngle = angle === 0 ? 0.5 : Math.sin(angle / 2) / angle;
  const [x, y, z] = rotation;
  return normalized([x * perAngle, y * perAngle, z * perAngle, Math.cos(angle / 2)]);
}

/** Shortest rotation vector of a quaternion; the same for q and -q. */
export function log(quaternion) {
  let [x, y, z, w] = normalized(quaternion);
  if (w < 0 || (w === 0 && (z < 0 || (z === 0 && (y < 0 || (y === 0 && x < 0)))))) [x, y, z, w] = [-x, -y, -z, -w];
  const sine = Math.sqrt(x * x + y * y + z * z);
  const perSine = sine < NO_AXIS_SINE ? 2 : (2 * Math.atan2(sine, w)) / sine;
  return [x * perSine, y * perSine, z * perSine];
}

/** Interpolation of two orientations along the shortest way. Ken Shoemake 1985. */
export function slerp(from, to, alpha) {
  const [x, y, z, w] = normalized(from);
  let [a, b, c, d] = normalized(to);
  if (x * a + y * b + z * c + w * d < 0) [a, b, c, d] = [-a, -b, -c, -d];
  const apart = Math.sqrt((a - x) ** 2 + (b - y) ** 2 + (c - z) ** 2 + (d - w) ** 2);
  const angle = 2 * Math.atan2(apart, Math.sqrt((a + x) ** 2 + (b + y) ** 2 + (c + z) ** 2 + (d + w) ** 2));
  const sine = Math.sin(angle), isNear = sine < NEAR_PARALLEL_SINE;
  const one = isNear ? 1 - alpha : Math.sin((1 - alpha) * angle) / sine;
  const other = isNear ? alpha : Math.sin(alpha * angle) / sine;
  return normalized([one * x + other * a, one * y + other * b, one * z + other * c, one * w + other * d]);
}

/** Linear blend; exact at both ends. */
function straight(start, end, alpha) {
  return plus(start, times(minus(end, start), alpha));
}

/** Three numbers of a record, as doubles. field: their first word. */
function vectorAt({floats}, body, field) {
  const at = RECORD_WORDS * body + field;
  return [floats[at], floats[at + 1], floats[at + 2]];
}

function turnAt({floats}, body) {
  const at = RECORD_WORDS * body + ORIENTATION;
  return [floats[at], floats[at + 1], floats[at + 2], floats[at + 3]];
}

function isBelow(snapshot, body, field, width) {
  const at = RECORD_WORDS * body + field;
  for (let axis = 0; axis < width; axis++) if (!(Math.abs(snapshot.floats[at + axis]) < FARTHEST)) return false;
  return true;
}

const dot = (one, other) => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
const squared = (vector) => dot(vector, vector);
const length = (vector) => Math.sqrt(squared(vector));
const plus = (one, other) => [one[0] + other[0], one[1] + other[1], one[2] + other[2]];
const minus = (one, other) => [one[0] - other[0], one[1] - other[1], one[2] - other[2]];
const times = (vector, factor) => [vector[0] * factor, vector[1] * factor, vector[2] * factor];
const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];
