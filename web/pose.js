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
  EPOCH, FARTHEST, FLAGS, HAS_ANGULAR_VELOCITY, HAS_VELOCITY, ORIENTATION, RECORD_WORDS, SPIN, VELOCITY, VISIBLE,
  flagsOf, scaleOf,
} from "./scene.js";

const CONTINUITY_MASK = 0xffff;
const NS_PER_S = 1e9;
// Limits of the methods `hermite` and `auto`, see render/interpolation/poses.py.
const MOST_TURN_RAD = 128 * Math.PI;
const ACCELERATION_CHANGE = 0.7, POSITION_MISMATCH = 0.07, SWING = 3, LARGEST_COMPARED = 1e15;
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
  #method;
  #parentsOf;
  #found = new Map();

  /**
   * @param {Pair} pair
   * @param {string} method "none", "linear", "hermite" or "auto".
   * @param {?function(Object): Int32Array} parentsOf Function that returns the parent of each body of a snapshot, or -1,
   *   see `Scene.parentRows`; null if no body has a parent.
   */
  constructor(pair, method, parentsOf = null) {
    this.#pair = pair;
    this.#method = method;
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
      this.#found.set(body, poseBetween(this.#pair, this.#method, body));  // the pose in a cycle of parents
      pose = this.#drawn(body);
      this.#found.set(body, pose);
    }
    return pose;
  }

  /** Scale of a body along its own axes, from the column `scale3`; the pose's `scale` multiplies it. */
  stretchOf(body) {
    const {older, newer, share} = this.#pair;
    const start = stretchIn(older, body);
    if (newer === null || newer === older || this.#method === "none" || !mayBeBlended(older, newer, body)) return start;
    const end = stretchIn(newer, body);
    return start.map((from, axis) => (from * end[axis] < 0 ? from : from + (end[axis] - from) * share));
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
    const {older, newer} = this.#pair;
    const parent = parentIn(this.#parentsOf, older, body);
    if (newer === null || newer === older || body >= newer.count) return parent < 0 ? own : placed(own, this.of(parent));
    if (parentIn(this.#parentsOf, newer, body) === parent) return parent < 0 ? own : placed(own, this.of(parent));
    const start = publishedPose(older, body, this.#parentsOf), end = publishedPose(newer, body, this.#parentsOf);
    if (this.#method === "none" || !mayBeBlended(older, newer, body) || !end.isDrawable) return start;
    return {
      ...start, position: straight(start.position, end.position, this.#pair.share), scale: own.scale,
      orientation: slerp(start.orientation, end.orientation, this.#pair.share),
    };
  }
}

/**
 * Pose of a body in the world as a snapshot has it.
 * @param {Object} snapshot From `wire.js`.
 * @param {number} body
 * @param {?function(Object): Int32Array} parentsOf See `DrawnPoses`.
 * @returns {Pose}
 */
export function publishedPose(snapshot, body, parentsOf = null) {
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

/**
 * Writes a record that draws a pose without blending: both snapshots of the GPU get the same record.
 * @param {Object} snapshot Snapshot whose record has the other fields.
 * @param {number} body
 * @param {Pose} pose
 * @param {Uint32Array} words The record is written here.
 * @param {Float32Array} floats View of the same bytes.
 * @param {number} at First word of the record.
 */
export function writePosed(snapshot, body, pose, words, floats, at) {
  const from = RECORD_WORDS * body;
  words.set(snapshot.words.subarray(from, from + RECORD_WORDS), at);
  floats.set(pose.position, at);
  floats.set(pose.orientation, at + ORIENTATION);
  const cleared = pose.isVisible ? HAS_VELOCITY | HAS_ANGULAR_VELOCITY : HAS_VELOCITY | HAS_ANGULAR_VELOCITY | VISIBLE;
  words[at + FLAGS] &= ~cleared;
}

/**
 * Pose of a body between two snapshots, in the frame of its records.
 * @param {Pair} pair
 * @param {string} method "none", "linear", "hermite" or "auto".
 * @param {number} body
 * @returns {Pose}
 */
export function poseBetween({before, older, newer, share}, method, body) {
  const pose = poseIn(older, body);
  if (newer === null || newer === older || method === "none" || share <= 0) return pose;
  if (!mayBeBlended(older, newer, body)) return pose;
  const start = numbersAt(older, body, 0, 3), end = numbersAt(newer, body, 0, 3);
  pose.position = straight(start, end, share);
  pose.orientation = slerp(numbersAt(older, body, ORIENTATION, 4), numbersAt(newer, body, ORIENTATION, 4), share);
  const scale = scaleOf(newer, body);
  if (pose.scale * scale >= 0) pose.scale += (scale - pose.scale) * share;
  if (method === "linear") return pose;
  const gapS = (newer.simNs - older.simNs) / NS_PER_S;
  if (isMoving(older, newer, body) && (method === "hermite" || curveIsTrusted(before, older, newer, body))) {
    const velocities = [older, newer].map((snapshot) => numbersAt(snapshot, body, VELOCITY, 3));
    const place = curve(start, velocities[0], end, velocities[1], gapS, share);
    if (place.every((value) => Math.abs(value) < FARTHEST)) pose.position = place;
  }
  if (isTurning(older, newer, body, gapS) && (method === "hermite" || turnIsTrusted(older, newer, body))) {
    pose.orientation = turn(...endsOfTurn(older, newer, body), gapS, share);
  }
  return pose;
}

/** Pose of a body as its record has it, in the frame of the record. */
function poseIn(snapshot, body) {
  const isDrawable = isFinitePose(snapshot, body);
  return {
    position: numbersAt(snapshot, body, 0, 3), orientation: normalized(numbersAt(snapshot, body, ORIENTATION, 4)),
    scale: scaleOf(snapshot, body), isVisible: isDrawable && (flagsOf(snapshot, body) & VISIBLE) !== 0, isDrawable,
  };
}

/** A pose in a parent's frame, converted to the frame of the parent. */
function placed(pose, parent) {
  const arm = rotate(parent.orientation, pose.position);
  const position = arm.map((value, axis) => parent.position[axis] + value);
  const isDrawable = pose.isDrawable && parent.isDrawable && position.every((value) => Math.abs(value) < FARTHEST);
  return {
    ...pose, position, orientation: normalized(multiply(parent.orientation, pose.orientation)),
    isVisible: pose.isVisible && isDrawable, isDrawable,
  };
}

function stretchIn({columns}, body) {
  const column = columns?.get("scale3");
  return column?.per === "body" && column.width === 3 ? Array.from(column.values.subarray(3 * body, 3 * body + 3)) : [1, 1, 1];
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
  const fastest = Math.max(...[older, newer].map((snapshot) => squared(numbersAt(snapshot, body, SPIN, 3))));
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
  const [vb, v0, v1] = [before, older, newer].map((snapshot) => numbersAt(snapshot, body, VELOCITY, 3));
  const [pb, p0, p1] = [before, older, newer].map((snapshot) => numbersAt(snapshot, body, 0, 3));
  const j = minus(v1, v0), jb = minus(v0, vb), way = minus(p1, p0), wayBefore = minus(p0, pb);
  const isComparable = [...vb, ...v0, ...v1, ...way, ...wayBefore].every((value) => Math.abs(value) < LARGEST_COMPARED);
  if (!isComparable) return false;

  const now = times(j, beforeGapS), earlier = times(jb, gapS);  // both accelerations, each multiplied by both gaps
  if (!(length(minus(now, earlier)) < ACCELERATION_CHANGE * Math.min(length(now), length(earlier)))) return false;

  const e = way.map((value, axis) => value - (v0[axis] + v1[axis]) * (gapS / 2));
  const eb = wayBefore.map((value, axis) => value - (vb[axis] + v0[axis]) * (beforeGapS / 2));
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
  return [older, newer].flatMap((snapshot) => [
    numbersAt(snapshot, body, ORIENTATION, 4), numbersAt(snapshot, body, SPIN, 3),
  ]);
}

/** Position on the cubic from `start` to `end`. Charles Hermite 1878. */
function curve(start, startVelocity, end, endVelocity, gapS, alpha) {
  const h01 = ease(alpha), h10 = alpha * (1 - alpha) ** 2, h11 = -(alpha ** 2) * (1 - alpha);
  return start.map((from, axis) =>
    from + (end[axis] - from) * h01 + gapS * (h10 * startVelocity[axis] + h11 * endVelocity[axis]),
  );
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
  return [leaving, leaving.map((value, axis) => (value + arriving[axis]) / 2), arriving];
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
  const axis = [x, y, z], once = cross(axis, vector).map((value, at) => value + w * vector[at]);
  return cross(axis, once).map((value, at) => vector[at] + 2 * value);
}

/** Unit quaternion of a rotation vector of any angle; the identity if its length is not finite. Euler 1775. */
function exp(rotation) {
  const angle = Math.sqrt(squared(rotation));
  if (!Number.isFinite(angle)) return [0, 0, 0, 1];
  const perAngle = angle === 0 ? 0.5 : Math.sin(angle / 2) / angle;
  return normalized([...times(rotation, perAngle), Math.cos(angle / 2)]);
}

/** Shortest rotation vector of a quaternion; the same for q and -q. */
export function log(quaternion) {
  let unit = normalized(quaternion);
  const [x, y, z, w] = unit;
  if (w < 0 || (w === 0 && (z < 0 || (z === 0 && (y < 0 || (y === 0 && x < 0)))))) unit = times(unit, -1);
  const sine = Math.hypot(unit[0], unit[1], unit[2]);
  const perSine = sine < NO_AXIS_SINE ? 2 : (2 * Math.atan2(sine, unit[3])) / sine;
  return [unit[0] * perSine, unit[1] * perSine, unit[2] * perSine];
}

/** Interpolation of two orientations along the shortest way. Ken Shoemake 1985. */
export function slerp(from, to, alpha) {
  const start = normalized(from);
  let end = normalized(to);
  if (start.reduce((sum, value, at) => sum + value * end[at], 0) < 0) end = times(end, -1);
  const apart = Math.hypot(...end.map((value, at) => value - start[at]));
  const angle = 2 * Math.atan2(apart, Math.hypot(...end.map((value, at) => value + start[at])));
  const sine = Math.sin(angle), isNear = sine < NEAR_PARALLEL_SINE;
  const ofStart = isNear ? 1 - alpha : Math.sin((1 - alpha) * angle) / sine;
  const ofEnd = isNear ? alpha : Math.sin(alpha * angle) / sine;
  return normalized(start.map((value, at) => ofStart * value + ofEnd * end[at]));
}

/** Linear blend; exact at both ends. */
function straight(start, end, alpha) {
  return start.map((from, axis) => from + (end[axis] - from) * alpha);
}

function numbersAt(snapshot, body, field, width) {
  const at = RECORD_WORDS * body + field;
  return Array.from(snapshot.floats.subarray(at, at + width));
}

function isBelow(snapshot, body, field, width) {
  const at = RECORD_WORDS * body + field;
  for (let axis = 0; axis < width; axis++) if (!(Math.abs(snapshot.floats[at + axis]) < FARTHEST)) return false;
  return true;
}

const dot = (one, other) => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
const squared = (vector) => dot(vector, vector);
const length = (vector) => Math.sqrt(squared(vector));
const minus = (one, other) => one.map((value, axis) => value - other[axis]);
const times = (vector, factor) => vector.map((value) => value * factor);
const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];
