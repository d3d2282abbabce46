/**
 * An orbit camera: a target, a distance and three angles. From these it computes the view and projection matrices.
 *
 * The functions are those of render/draw/frame/camera.py and framing.py. The automatic camera is a short form of
 * render/scene/automatic_camera.py: it frames all bodies first, and moves smoothly when bodies leave the picture.
 *
 * Always: the target is at the principal point, by default the middle of the picture. When a rolled camera orbits, it
 * turns until the picture is upright. Pure: takes and returns numbers.
 */

import {boundsOf, cornersOf, EPOCH, positionsOf} from "./scene.js";

const MAX_ELEVATION_RAD = Math.PI / 2;
// A camera looks straight down or up if the horizontal distance from eye to target is below this share of the whole.
const VERTICAL_SHARE = 1e-6;
const MAP_AZIMUTH_RAD = -Math.PI / 2;
// A roll smaller than this angle is a rounding error.
const LEAST_ROLL_RAD = 1e-9;
// Angle by which the camera turns when the pointer is dragged over the whole height of the picture.
const ORBIT_RAD_PER_HEIGHT = Math.PI;
const ZOOM_PER_NOTCH = 0.9, MOST_NOTCHES = 300;
const MIN_DISTANCE_M = 1e-7, MAX_DISTANCE_M = 1e13;
// Distances of the near and the far plane from the eye, as multiples of the distance from the target.
const NEAR_SHARE = 1 / 200, FAR_SHARE = 50;
// The near plane is never nearer than this share of the distance to the farthest body.
const LEAST_NEAR_SHARE = 1 / 20000;
// The far plane is behind the target by at least this many times the scene's radius.
const FAR_REACHES = 8;
const DEFAULT_AZIMUTH_RAD = (-60 * Math.PI) / 180, DEFAULT_ELEVATION_RAD = (24 * Math.PI) / 180;
const DEFAULT_FOV_Y_DEG = 40;
// A camera that frames bodies lets them fill this share of the picture's width or height, whichever is smaller.
const FILLED = 2 / 3;
const EMPTY_M = 1;
// A program chooses its camera for a picture that is at least this wide (a phone held upright is not).
const CAMERA_ASPECT = 4 / 3;
// The camera's planes are fitted to the bodies at most this often.
const SURROUND_MS = 500;
const CENTRINGS = 4;

/**
 * View and projection of one picture, row by row. They multiply column vectors.
 * @typedef {Object} Matrices
 * @property {Float32Array} view From world to eye space.
 * @property {Float32Array} projection From eye space to clip space, with OpenGL's depth (-1..1).
 * @property {number[]} eye Position of the eye in the world, metres.
 * @property {number[]} target Position of the target in the world, metres.
 * @property {boolean} orthographic
 */

/** A camera on a sphere around `target`. Angles are in radians, lengths in metres. */
export class OrbitCamera {
  constructor(values = {}) {
    this.target = [0, 0, 0];
    this.distanceM = 10;
    this.azimuthRad = DEFAULT_AZIMUTH_RAD;  // direction from target to eye, from +x towards +y
    this.elevationRad = DEFAULT_ELEVATION_RAD;
    this.rollRad = 0;  // clockwise angle of the camera about its line of sight
    this.fovYDeg = DEFAULT_FOV_Y_DEG;
    this.orthographic = false;
    this.principalPoint = [0, 0];
    this.leastAspect = 0;  // a picture that is narrower shows the width of a picture with this aspect
    this.reachM = 0;  // radius of the whole scene, measured from the target
    this.among = null;  // ball around all bodies: {middle, radiusM, smallSizeM}; middle: null for a carried camera
    this.isFlat = false;  // true if drags pan: an orthographic camera that looks straight down or up
    this.locked = false;
    this.body = null;  // body that carries the camera; eye and target are then in its frame
    this.rotatesWithBody = true;
    Object.assign(this, values);
  }

  /**
   * @param {?Object} camera Camera of a scene's head or of a message `camera`, as in ipc/scene/camera.py; null: none.
   * @returns {OrbitCamera} A camera with the same view; with the default direction if there is none.
   */
  static fromHead(camera) {
    if (camera === null) return new OrbitCamera();
    const offset = minus(camera.eye, camera.target);
    const acrossM = Math.hypot(offset[0], offset[1]);
    let distanceM = Math.hypot(...offset), fovYDeg = camera.fov_y_deg;
    const isVertical = acrossM < VERTICAL_SHARE * distanceM;
    const elevationRad = Math.atan2(offset[2], acrossM);
    let azimuthRad = Math.atan2(offset[1], offset[0]);
    if (isVertical) {  // the azimuth then stands for `up`, without a roll
      const below = offset[2] > 0 || Object.is(offset[2], 0) ? -1 : 1, [x, y] = camera.up;
      azimuthRad = x || y ? Math.atan2(below * y, below * x) : MAP_AZIMUTH_RAD;
    }
    if (camera.orthographic_height) {
      fovYDeg = DEFAULT_FOV_Y_DEG;
      distanceM = limited(camera.orthographic_height / 2 / tangentOf(fovYDeg));
    }
    const made = new OrbitCamera({
      target: [...camera.target], distanceM, azimuthRad, elevationRad, fovYDeg,
      orthographic: Boolean(camera.orthographic_height), principalPoint: [...camera.principal_point],
      locked: camera.locked, body: camera.body, rotatesWithBody: camera.rotates_with_body,
    });
    if (isVertical) {
      made.isFlat = made.orthographic && (camera.body === null || !camera.rotates_with_body);
    } else {
      const [right, up] = made.axes();
      const rollRad = Math.atan2(dot(right, camera.up), dot(up, camera.up));
      made.rollRad = Math.abs(rollRad) > LEAST_ROLL_RAD ? rollRad : 0;
    }
    return made;
  }

  /**
   * @returns {Object} The view as the camera of a scene, with the fields of ipc/scene/camera.py.
   */
  toHead() {
    const heightM = 2 * this.distanceM * tangentOf(this.fovYDeg);
    const isVertical = Math.cos(this.elevationRad) < VERTICAL_SHARE;
    const isUpright = !this.rollRad && (!isVertical || this.azimuthRad === MAP_AZIMUTH_RAD);
    return {
      eye: this.eye, target: [...this.target], fov_y_deg: this.fovYDeg, body: this.body,
      orthographic_height: this.orthographic ? heightM : null, rotates_with_body: this.rotatesWithBody,
      up: isUpright ? [0, 0, 1] : this.axes()[1], principal_point: [...this.principalPoint], locked: this.locked,
    };
  }

  /** Directions of the camera to the right, up and backward (from target to eye): unit vectors of the world. */
  axes() {
    const cosA = Math.cos(this.azimuthRad), sinA = Math.sin(this.azimuthRad);
    const cosE = Math.cos(this.elevationRad), sinE = Math.sin(this.elevationRad);
    let right = [-sinA, cosA, 0], up = [-sinE * cosA, -sinE * sinA, cosE];
    if (this.rollRad) {
      const cosine = Math.cos(this.rollRad), sine = Math.sin(this.rollRad);
      [right, up] = [
        right.map((value, axis) => cosine * value - sine * up[axis]),
        right.map((value, axis) => sine * value + cosine * up[axis]),
      ];
    }
    return [right, up, [cosE * cosA, cosE * sinA, sinE]];
  }

  /** Position of the camera, metres. */
  get eye() {
    const [, , backward] = this.axes();
    return this.target.map((value, axis) => value + this.distanceM * backward[axis]);
  }

  /**
   * Turns the camera when the pointer moves, so that the world follows the pointer.
   * @param {number} dxPx To the right.
   * @param {number} dyPx Downwards.
   * @param {number} heightPx Height of the picture.
   */
  orbit(dxPx, dyPx, heightPx) {
    const turn = ORBIT_RAD_PER_HEIGHT / Math.max(heightPx, 1);
    if (this.rollRad) {
      const cosine = Math.cos(this.rollRad), sine = Math.sin(this.rollRad);
      const uprightRad = Math.hypot(dxPx, dyPx) * turn;
      [dxPx, dyPx] = [dxPx * cosine - dyPx * sine, dxPx * sine + dyPx * cosine];
      this.rollRad = Math.sign(this.rollRad) * Math.max(0, Math.abs(this.rollRad) - uprightRad);
    }
    const azimuthRad = this.azimuthRad - dxPx * turn, whole = 2 * Math.PI;
    this.azimuthRad = azimuthRad - whole * roundEven(azimuthRad / whole);
    const elevationRad = this.elevationRad + dyPx * turn;
    this.elevationRad = Math.max(-MAX_ELEVATION_RAD, Math.min(MAX_ELEVATION_RAD, elevationRad));
  }

  /** Moves the target sideways. A point at the depth of the target then stays under the pointer. */
  pan(dxPx, dyPx, heightPx, aspect = Infinity) {
    const metresPerPx = (2 * this.distanceM * this.tangent(aspect)) / Math.max(heightPx, 1);
    const [right, up] = this.axes();
    this.target = this.target.map((at, axis) => at + (-dxPx * right[axis] + dyPx * up[axis]) * metresPerPx);
  }

  /** Moves the camera towards the target; away from it for negative notches of the wheel. */
  zoom(notches) {
    const used = Math.max(-MOST_NOTCHES, Math.min(MOST_NOTCHES, notches));
    this.distanceM = limited(this.distanceM * ZOOM_PER_NOTCH ** used);
  }

  /** Moves the target to this point. Ignores a point that is not finite. */
  follow(position) {
    if (position.every(Number.isFinite)) this.target = [...position];
  }

  /**
   * Moves the camera so that it shows all bodies in the middle of the picture, from the same direction.
   * @param {Bodies} bodies From `bodiesOf`.
   * @param {number} aspect Width of the picture divided by its height.
   */
  frame(bodies, aspect = 4 / 3) {
    this.principalPoint = [0, 0];
    const {target, distanceM} = placeFor(bodies.framed, this.framedView(aspect));
    this.target = target;
    this.distanceM = limited(distanceM);
    this.surround(bodies);
  }

  /** Tangent of half the vertical field, which is wider than `fovYDeg` in a picture narrower than `leastAspect`. */
  tangent(aspect) {
    return tangentOf(this.fovYDeg) * Math.max(1, this.leastAspect / aspect);
  }

  /** Lens and directions of the camera: {right, up, backward, tangent, aspect, orthographic}. */
  framedView(aspect) {
    const [right, up, backward] = this.axes();
    return {right, up, backward, tangent: this.tangent(aspect), aspect, orthographic: this.orthographic};
  }

  /** Places the near and the far plane so that all bodies are between them. bodies: from `bodiesOf`. */
  surround({bounds, smallSizeM}) {
    this.reachM = bounds.radiusM + distance(bounds.middle, this.target);
    this.among = {middle: this.body === null ? bounds.middle : null, radiusM: bounds.radiusM, smallSizeM};
  }

  /** Distance from the eye to the near plane, metres. */
  get nearM() {
    const nearM = this.distanceM * NEAR_SHARE;
    if (this.among === null) return nearM;
    const {middle, radiusM, smallSizeM} = this.among;
    const awayM = middle === null ? radiusM : distance(this.eye, middle);
    return Math.min(nearM, Math.max(smallSizeM, (awayM - 2 * radiusM) / 10, (awayM + radiusM) * LEAST_NEAR_SHARE));
  }

  /** Distance from the eye to the far plane, metres. */
  get farM() {
    return Math.max(this.distanceM * FAR_SHARE, this.distanceM + this.reachM * FAR_REACHES);
  }

  /**
   * @param {number} widthPx
   * @param {number} heightPx
   * @returns {{left: number, bottom: number, width: number, height: number}} The viewport, px, into which a picture of
   *   this size is drawn with `matrices`. It has the principal point in its middle, so it may be larger.
   */
  viewport(widthPx, heightPx) {
    const sharedPx = Math.min(heightPx, widthPx / this.leastAspect);
    const [acrossPx, alongPx] = this.principalPoint.map((share) => roundEven(share * sharedPx));
    return {
      left: Math.min(0, 2 * acrossPx), bottom: Math.min(0, 2 * alongPx),
      width: widthPx + 2 * Math.abs(acrossPx), height: heightPx + 2 * Math.abs(alongPx),
    };
  }

  /**
   * @param {number} widthPx Width of the picture.
   * @param {number} heightPx Height of the picture.
   * @returns {Matrices} Draw with them into `viewport`.
   */
  matrices(widthPx, heightPx) {
    const axes = this.axes(), eye = this.eye;
    const view = new Float32Array(16);
    axes.forEach((axis, row) => view.set([...axis, -dot(axis, eye)], 4 * row));
    view[15] = 1;
    const width = Math.max(widthPx, 1), height = Math.max(heightPx, 1);
    const larger = this.viewport(width, height);
    const focal = ((1 / this.tangent(width / height)) * height) / larger.height;
    const projection = new Float32Array(16);
    const nearM = this.nearM, farM = this.farM, narrower = larger.height / larger.width;
    if (this.orthographic) {
      const perM = 1 / (this.distanceM / focal);
      projection.set([perM * narrower, 0, 0, 0, 0, perM, 0, 0, 0, 0, -1 / farM, -this.distanceM / farM, 0, 0, 0, 1]);
    } else {
      const deep = (nearM + farM) / (nearM - farM), shift = (2 * nearM * farM) / (nearM - farM);
      projection.set([focal * narrower, 0, 0, 0, 0, focal, 0, 0, 0, 0, deep, shift, 0, 0, -1, 0]);
    }
    return {view, projection, eye, target: [...this.target], orthographic: this.orthographic};
  }
}

/**
 * What a camera needs to know about the bodies of a snapshot.
 * @typedef {Object} Bodies
 * @property {Object} framed Balls of the bodies to frame, see `Scene.framedBalls`.
 * @property {Object} bounds Box around all visible bodies, see `boundsOf`.
 * @property {number} smallSizeM A quarter of a small body's radius.
 */
/**
 * @param {Object} scene From `scene.js`.
 * @param {Object} snapshot From `wire.js`.
 * @param {?Float64Array} places Positions in the world, see `Scene.seenBalls`.
 * @returns {Bodies}
 */
function bodiesOf(scene, snapshot, places = null) {
  const seen = scene.seenBalls(snapshot, places);
  return {
    framed: scene.framedBalls(snapshot, places, 1, seen), bounds: boundsOf(seen),
    smallSizeM: scene.smallSizeM(snapshot),
  };
}

/**
 * Converts a camera that is given in a body's frame to the world frame.
 * @param {Matrices} camera
 * @param {number[]} position Drawn position of the body, metres.
 * @param {number[]} turn Its orientation, a unit quaternion xyzw.
 * @returns {Matrices} `camera` itself if position or turn is not finite.
 */
export function carried(camera, position, turn) {
  const rotation = rotationOf(turn);
  if (![...rotation.flat(), ...position].every(Number.isFinite)) return camera;
  const back = [0, 1, 2].map((column) => rotation.map((row) => row[column]));  // transposed
  const shift = back.map((row) => -dot(row, position));
  const view = new Float32Array(16);
  for (let row = 0; row < 3; row++) {
    const own = [...camera.view.subarray(4 * row, 4 * row + 4)];
    for (let column = 0; column < 3; column++) {
      view[4 * row + column] = own[0] * back[0][column] + own[1] * back[1][column] + own[2] * back[2][column];
    }
    view[4 * row + 3] = own[0] * shift[0] + own[1] * shift[1] + own[2] * shift[2] + own[3];
  }
  view[15] = 1;
  const [eye, target] = [camera.eye, camera.target].map((point) =>
    rotation.map((row, axis) => dot(row, point) + position[axis]),
  );
  return {...camera, view, eye, target};
}

/** Rows of the rotation matrix of a unit quaternion xyzw. */
export function rotationOf([x, y, z, w]) {
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
    [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
    [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
  ];
}

/**
 * The place from which a camera with this lens and these directions frames the balls.
 * @param {{place: Float64Array, radius: Float64Array}} balls
 * @param {Object} view From `framedView`.
 * @param {number} filled Share of the picture's shorter side that the balls fill.
 * @returns {{target: number[], distanceM: number}}
 */
function placeFor(balls, view, filled = FILLED) {
  const {middle} = boundsOf(balls);
  const count = Math.max(balls.radius.length, 1);
  const radius = balls.radius.length ? balls.radius.slice() : Float64Array.of(EMPTY_M);
  const [across, along, toward] = [view.right, view.up, view.backward].map(([x, y, z]) =>
    numbers(count, (ball) => {
      if (!balls.radius.length) return 0;
      const {place} = balls, at = 3 * ball;
      return x * (place[at] - middle[0]) + y * (place[at + 1] - middle[1]) + z * (place[at + 2] - middle[2]);
    }),
  );
  let farthestM = 0;
  for (let ball = 0; ball < count; ball++) {
    farthestM = Math.max(farthestM, Math.hypot(across[ball], along[ball], toward[ball]) + radius[ball]);
  }
  if (farthestM === 0) {
    for (let ball = 0; ball < count; ball++) radius[ball] += EMPTY_M;
    farthestM = EMPTY_M;
  }
  const smaller = view.tangent * Math.min(1, view.aspect), larger = view.tangent * Math.max(1, view.aspect);
  let off, distanceM, perReach;
  if (view.orthographic) {
    off = [across, along].map((side) => between(side, radius));
    distanceM = Math.max(...off.map(([, half]) => half)) / (filled * smaller);
    perReach = 1 / larger;
  } else {
    const tangent = filled * smaller;
    perReach = Math.hypot(1, larger) / larger;
    const cosine = 1 / Math.hypot(1, tangent), sine = tangent / Math.hypot(1, tangent);
    const room = toward.map((deep, ball) => deep * sine + radius[ball]);
    off = [across, along].map((side) => between(side.map((value) => value * cosine), room));
    distanceM = Math.max(...off.map(([, half]) => half / sine));
    const depth = toward.map((deep) => distanceM - deep);
    off = off.map(([at, half], side) => [
      half / sine < distanceM ? centred(side ? along : across, radius, depth) : at / cosine, half,
    ]);
  }
  const [[rightM], [upM]] = off;
  const target = middle.map((at, axis) => at + rightM * view.right[axis] + upM * view.up[axis]);
  return {target, distanceM: Math.max(distanceM, (farthestM + Math.hypot(rightM, upM)) * perReach)};
}

/** Sideways position of the eye at which the balls extend equally far to both sides of the picture, metres. */
function centred(side, radius, depth) {
  const nearest = depth.reduce((least, value) => Math.min(least, value), Infinity);
  const share = radius.map((value, ball) => value / depth[ball]);
  let at = 0;
  for (let turn = 0; turn < CENTRINGS; turn++) {
    at += between(side.map((value, ball) => (value - at) / depth[ball]), share)[0] * nearest;
  }
  return at;
}

/** Middle and half the length of the interval that contains `side - room` and `side + room` of all balls. */
function between(side, room) {
  let highest = -Infinity, lowest = Infinity;
  for (let ball = 0; ball < side.length; ball++) {
    highest = Math.max(highest, side[ball] + room[ball]);
    lowest = Math.min(lowest, side[ball] - room[ball]);
  }
  return [(highest + lowest) / 2, (highest - lowest) / 2];
}

/** Array of doubles: the values of a function of the index. */
function numbers(count, valueOf) {
  const found = new Float64Array(count);
  for (let at = 0; at < count; at++) found[at] = valueOf(at);
  return found;
}

function roundEven(value) {
  const whole = Math.round(value);
  return whole - value === 0.5 && whole % 2 ? whole - 1 : whole;
}

const tangentOf = (angleDeg) => Math.tan((angleDeg * Math.PI) / 180 / 2);
const limited = (distanceM) => Math.min(Math.max(distanceM, MIN_DISTANCE_M), MAX_DISTANCE_M);
const dot = (one, other) => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
const minus = (one, other) => [one[0] - other[0], one[1] - other[1], one[2] - other[2]];
const distance = (one, other) => Math.hypot(...minus(one, other));

// The automatic camera. The camera rests while all bodies are within REST_SHARE of the picture. When a body leaves this
// part, the camera moves to a place from which the bodies take FILLED_SHARE; a lone body takes at most ALONE_SHARE. It
// moves nearer when the bodies were small for KEPT_S. Bodies that come back to a place within RETURN_S, such as a ball
// that bounces, keep the places between in the picture. A few bodies that have flown off alone are left out.

const REST_SHARE = 0.85, FILLED_SHARE = 0.6, ALONE_SHARE = 1 / 3, SHRINK_SHARE = 0.5;
const KEPT_S = 3, RETURN_S = 10, NEWEST_S = 0.5, BIN_S = 0.1, CYCLES = 1.5;
// A body has flown off if it is this many times as far from the middle of the bodies as the others.
const FLOWN_FACTOR = 4, FLOWN_OFF_S = 3, FLOWN_SHARE = 0.1, LEAST_OTHERS = 2;
// The motion of the bodies is continued for this time.
const AHEAD_S = 0.25;
// In the first moment the camera cuts instead of moving: velocities are known only after two samples.
const START_S = 0.1;
// Rate of a move, per second. A move is faster if a body would leave the picture before.
const RATE_PER_S = 11, FASTEST_PER_S = 40, HASTE = 3;
// A move ends when the picture is within this many px of its goal.
const REST_PX = 0.1;
const SAMPLES_PER_S = 30;
// Of more bodies, each second, third ... one is sampled.
const MOST_SAMPLED = 2048;
// A frame that took longer counts as this long.
const LONGEST_FRAME_S = 0.1;

/** Smooth move of numbers to `goal`: a filter with three equal poles, so a move from rest does not overshoot. */
class Glide {
  constructor(start, goal, ratePerS) {
    this.place = start;
    this.goal = goal;
    this.ratePerS = ratePerS;
    this.velocity = start.map(() => 0);
    this.acceleration = start.map(() => 0);
  }

  /** A rate above RATE_PER_S falls to it slowly, so that the move stays smooth. */
  advance(seconds) {
    const rate = this.ratePerS, fall = Math.exp(-rate * seconds);
    this.place = this.place.map((place, at) => {
      const away = place - this.goal[at];
      const first = this.velocity[at] + rate * away;
      const second = (this.acceleration[at] + 2 * rate * this.velocity[at] + rate * rate * away) / 2;
      const value = away + first * seconds + second * seconds ** 2, slope = first + 2 * second * seconds;
      this.velocity[at] = (slope - rate * value) * fall;
      this.acceleration[at] = (2 * second - 2 * rate * slope + rate * rate * value) * fall;
      return this.goal[at] + value * fall;
    });
    this.ratePerS = Math.max(RATE_PER_S, rate / (1 + (rate * seconds) / 4));
  }

  isWithin(lengthM) {
    const momentS = 1 / this.ratePerS;
    return this.place.every((place, at) =>
      Math.abs(place - this.goal[at]) + Math.abs(this.velocity[at]) * momentS +
        Math.abs(this.acceleration[at]) * momentS ** 2 < lengthM,
    );
  }
}

/** Keeps the bodies in the picture of `orbit`, whose direction of view does not change. */
export class AutomaticCamera {
  #orbit;
  #nowS = 0;
  #presentMs = null;
  #sampledS = -Infinity;
  #startS = null;
  #last = null;  // last sample: snapshot and positions
  #move = null;
  #smallSinceS = null;
  #bins = [];  // boxes around the bodies: {atS, low, high}, the newest last
  #flownSinceS = new Map();
  #leftOut = 0;

  /** @param {OrbitCamera} orbit The camera to move. It shows all bodies already. */
  constructor(orbit) {
    this.#orbit = orbit;
  }

  get isMoving() {
    return this.#move !== null;
  }

  /**
   * Moves the camera for the frame that is seen at `presentMs`. Call it once a frame.
   * @param {number} presentMs
   * @param {Object} scene From `scene.js`.
   * @param {Object} newest The newest snapshot.
   * @param {function(): ?Float64Array} placesOf Positions in the world of its bodies, see `Scene.seenBalls`.
   * @param {number} widthPx Of the picture.
   * @param {number} heightPx
   * @param {boolean} isHeld True while the user holds a button: the camera stands.
   */
  advance(presentMs, scene, newest, placesOf, widthPx, heightPx, isHeld) {
    const passedS = this.#presentMs === null ? 0 : (presentMs - this.#presentMs) / 1000;
    this.#nowS += Math.min(Math.max(0, passedS), LONGEST_FRAME_S);
    this.#presentMs = presentMs;
    if (isHeld) this.#move = null;
    const view = this.#orbit.framedView(widthPx / Math.max(heightPx, 1));
    if (newest !== this.#last?.snapshot && this.#nowS - this.#sampledS >= 1 / SAMPLES_PER_S - 1e-3) {
      this.#sampledS = this.#nowS;
      const sample = this.#sample(scene, newest, placesOf());
      if (sample !== null && !isHeld) this.#decide(sample, view);
    }
    if (this.#move === null) return;
    this.#move.advance(Math.min(Math.max(0, passedS), LONGEST_FRAME_S));
    const pixelM = (2 * view.tangent * this.#orbit.distanceM) / Math.max(heightPx, 1);
    const isOver = this.#move.isWithin(REST_PX * pixelM);
    this.#place(isOver ? this.#move.goal : this.#move.place, view);
    if (isOver) this.#move = null;
  }

  /** Balls around the bodies now and AHEAD_S later; null if there are none. Remembers the box around them. */
  #sample(scene, snapshot, places) {
    const balls = scene.framedBalls(snapshot, places, Math.ceil(snapshot.count / MOST_SAMPLED));
    const position = places ?? positionsOf(snapshot);
    const before = this.#last;
    this.#last = {snapshot, position, moves: new Float64Array(3 * snapshot.count)};
    const isSame = before !== null && before.snapshot.worldEpoch === snapshot.worldEpoch;
    if (!isSame) this.#bins = [];
    this.#leaveOut(balls);
    if (!balls.radius.length) return null;
    const passedS = isSame ? (snapshot.simNs - before.snapshot.simNs) / 1e9 : 0;
    let later = balls;
    if (passedS > 0) {
      const factor = (AHEAD_S * (snapshot.rate || 1)) / passedS;
      ({later, moves: this.#last.moves} = aheadOf(balls, snapshot, position, before, factor));
    }
    const {low, high} = boundsOf(balls);
    const bin = this.#bins.at(-1);
    if (bin !== undefined && this.#nowS - bin.atS < BIN_S) {
      bin.low = bin.low.map((value, axis) => Math.min(value, low[axis]));
      bin.high = bin.high.map((value, axis) => Math.max(value, high[axis]));
    } else {
      this.#bins.push({atS: this.#nowS, low, high});
    }
    while (this.#nowS - this.#bins[0].atS > RETURN_S) this.#bins.shift();
    return {now: balls, both: together(balls, later), low, high};
  }

  /** Removes the balls of a few bodies that have been far from the others for FLOWN_OFF_S. */
  #leaveOut(balls) {
    const {place, radius, bodies} = balls;
    const total = bodies.length, most = Math.max(1, Math.floor(total * FLOWN_SHARE));
    if (total - most < LEAST_OTHERS) return;
    const middle = [0, 1, 2].map((axis) => numbers(total, (at) => place[3 * at + axis]).sort()[total >> 1]);
    const away = numbers(total, (at) => radius[at] + Math.hypot(
      place[3 * at] - middle[0], place[3 * at + 1] - middle[1], place[3 * at + 2] - middle[2],
    ));
    const limitM = FLOWN_FACTOR * away.slice().sort()[total - 1 - most];
    const since = new Map();
    const isLeft = [...away].map((awayM, at) => {
      if (awayM <= limitM) return false;
      since.set(bodies[at], this.#flownSinceS.get(bodies[at]) ?? this.#nowS);
      return this.#nowS - since.get(bodies[at]) >= FLOWN_OFF_S;
    });
    this.#flownSinceS = since;
    const leftOut = isLeft.filter(Boolean).length;
    if (leftOut > this.#leftOut) this.#bins = [];
    this.#leftOut = leftOut;
    const kept = [...radius.keys()].filter((at) => !isLeft[at]);
    if (kept.length === radius.length) return;
    balls.place = Float64Array.from(kept.flatMap((at) => [...place.subarray(3 * at, 3 * at + 3)]));
    balls.radius = Float64Array.from(kept, (at) => radius[at]);
    balls.bodies = bodies.filter((_, at) => !isLeft[at]);
  }

  #decide(sample, view) {
    this.#startS ??= this.#nowS;
    const pose = this.#move === null ? this.#poseNow(view) : this.#move.goal;
    if (beyond(sample.both, pose, view, REST_SHARE) > 0) {
      this.#smallSinceS = null;
      const goal = this.#goal(sample, view, this.#keptS(sample));
      if (this.#nowS - this.#startS < START_S) {
        this.#place(goal, view);
        return;
      }
      if (this.#move !== null) goal[3] = Math.max(goal[3], this.#move.goal[3]);
      const ratePerS = Math.min(Math.max(RATE_PER_S, HASTE / this.#leaveS(sample, view)), FASTEST_PER_S);
      this.#begin(goal, ratePerS, view);
      return;
    }
    const goal = this.#goal(sample, view, Math.max(KEPT_S, this.#keptS(sample)));
    if (goal[3] >= SHRINK_SHARE * pose[3]) this.#smallSinceS = null;
    else if (this.#nowS - (this.#smallSinceS ??= this.#nowS) >= KEPT_S) {
      this.#smallSinceS = null;
      this.#begin(goal, RATE_PER_S, view);
    }
  }

  #begin(goal, ratePerS, view) {
    if (this.#move === null) this.#move = new Glide(this.#poseNow(view), goal, ratePerS);
    else Object.assign(this.#move, {goal, ratePerS: Math.max(ratePerS, this.#move.ratePerS)});
  }

  /** Time for which places are kept in the picture: some cycles of bodies that come back; 0 if they do not. */
  #keptS({low, high}) {
    for (let at = this.#bins.length - 1; at >= 0; at--) {
      const bin = this.#bins[at], ageS = this.#nowS - bin.atS;
      const isApart = bin.low.some((value, axis) => value > high[axis] || bin.high[axis] < low[axis]);
      if (ageS >= NEWEST_S && !isApart) return Math.max(KEPT_S, CYCLES * ageS);
    }
    return 0;
  }

  /** Place from which the bodies, and the places of the last `keptS`, take FILLED_SHARE. */
  #goal({now, both}, view, keptS) {
    const boxes = this.#bins.filter(({atS}) => this.#nowS - atS <= keptS);
    const corners = boxes.flatMap(({low, high}) => cornersOf([low, high])).flat();
    const kept = {place: Float64Array.from(corners), radius: new Float64Array(corners.length / 3)};
    const {target, distanceM} = placeFor(together(both, kept), view, FILLED_SHARE);
    const loneM = now.radius.length === 1 ? now.radius[0] : 0;
    const aloneM = loneM / (ALONE_SHARE * view.tangent * Math.min(1, view.aspect));
    return [...toView(target, view), limited(Math.max(distanceM, aloneM))];
  }

  /** Time until a body leaves the picture, seconds; AHEAD_S if none leaves. */
  #leaveS({now, both}, view) {
    const pose = this.#poseNow(view), nowM = beyond(now, pose, view, 1), thenM = beyond(both, pose, view, 1);
    if (thenM <= 0) return AHEAD_S;
    return Math.max(1e-3, (AHEAD_S * Math.max(-nowM, 0)) / (Math.max(-nowM, 0) + thenM));
  }

  #poseNow(view) {
    return [...toView(this.#orbit.target, view), this.#orbit.distanceM];
  }

  #place([x, y, z, distanceM], {right, up, backward}) {
    this.#orbit.target = right.map((value, axis) => x * value + y * up[axis] + z * backward[axis]);
    this.#orbit.distanceM = distanceM;
  }
}

// Presented cameras are drawn so long after their instants, besides their way to this page, and the time between two.
const BEHIND_NS = 100_000_000, PRESENTED_NS = 33_000_000;
// Number of cameras that are kept. A page that does not draw them uses up none.
const MOST_CAMERAS = 64;
// Weight of one camera in the mean time of their way.
const WAY_SHARE = 0.03;

/** The cameras of the page that presents, for a page that follows it. Instants are the server's. */
export class PresentedCameras {
  #cameras = [];  // the oldest first: {atNs, camera}
  #wayNs = null;
  #begun = 0;  // number of presentations that had begun, as the last message tells

  /** True if a page presents. */
  get isThere() {
    return this.#cameras.length > 0;
  }

  /** True if no presentation has begun since the last message that was taken over. */
  isKnown({begun}) {
    return begun <= this.#begun;
  }

  /** Takes a message `presented` over. */
  add({camera, at_ns: atNs, begun}, arrivalNs) {
    const cameras = this.#cameras, last = cameras.at(-1);
    this.#begun = begun;
    if (camera === null) return this.clear();
    this.#wayNs ??= arrivalNs - atNs;
    this.#wayNs += WAY_SHARE * (arrivalNs - atNs - this.#wayNs);
    // After a rest, the motion begins from there.
    if (last && atNs - last.atNs > BEHIND_NS) last.atNs = atNs - PRESENTED_NS;
    cameras.push({atNs, camera});
    if (cameras.length > MOST_CAMERAS) cameras.shift();
  }

  clear() {
    this.#cameras = [];
    this.#wayNs = null;
  }

  /** The camera for a frame: blended between two that were received. */
  at(presentNs) {
    const cameras = this.#cameras, drawNs = presentNs - this.#wayNs - BEHIND_NS;
    while (cameras.length > 1 && cameras[1].atNs <= drawNs) cameras.shift();
    const [from, to] = cameras;
    if (!to || from.camera.body !== to.camera.body) return from.camera;
    const share = Math.min(1, Math.max(0, (drawNs - from.atNs) / (to.atNs - from.atNs)));
    return mixed(from.camera, to.camera, share);
  }
}

/** Numbers of `from` and `to` are blended, also in lists; all else is that of `from`. */
function mixed(from, to, share) {
  if (typeof from === "number" && typeof to === "number") return from + (to - from) * share;
  if (from === null || to === null || typeof from !== "object") return from;
  const blended = Object.entries(from).map(([name, value]) => [name, mixed(value, to[name], share)]);
  return Array.isArray(from) ? blended.map(([, value]) => value) : Object.fromEntries(blended);
}

/**
 * What the picture shows: a camera of the program, or one that follows all bodies until the user moves it; the body
 * that the user follows, or that carries the camera.
 */
export class View {
  orbit = new OrbitCamera();
  followed = null;  // the body that the user follows, or null
  #automatic = null;
  #isToFrame = true;  // the next frame shows all bodies
  #follows = true;  // an automatic camera begins with the next framing
  #camera = null;
  #surroundedMs = -Infinity;
  #glideM = [0, 0, 0];  // from the followed body to the target; it fades
  #presentMs = null;
  #carrier = null;
  /** True if the user has moved the camera since it was set. */
  isMoved = false;
  /** False to keep the first view: the option `camera`. */
  mayFollow = true;
  seen = null;  // what the last frame was drawn with: {matrices, viewport, widthPx, heightPx}

  /** Replaces the view. camera: camera of a scene or of a message `camera`; null: all bodies. */
  setCamera(camera) {
    this.#camera = camera;
    this.orbit = OrbitCamera.fromHead(camera);
    if (camera !== null) this.orbit.leastAspect = CAMERA_ASPECT;
    this.followed = this.#automatic = this.#carrier = null;
    this.#isToFrame = camera === null;
    this.#follows = this.#isToFrame && this.mayFollow;
    this.isMoved = false;
    this.#surroundedMs = -Infinity;
  }

  /** Shows the camera that another page presents, in place of any other. */
  show(camera) {
    const {reachM, among} = this.orbit;
    this.orbit = Object.assign(OrbitCamera.fromHead(camera), {leastAspect: CAMERA_ASPECT, reachM, among});
    this.followed = this.#automatic = null;
    this.#isToFrame = false;
    if (camera.body === null) this.#carrier = null;
  }

  /** Shows all bodies, and follows them. A carried camera returns to its first view. False if the camera is locked. */
  frameAll() {
    if (this.orbit.locked) return false;
    if (this.orbit.body !== null) this.setCamera(this.#camera);
    else [this.#isToFrame, this.#follows] = [true, this.mayFollow];
    this.followed = null;
    this.isMoved = !this.mayFollow || this.#camera !== null;
    return true;
  }

  /** Keeps a body in the middle of the picture; null: no body. */
  follow(body) {
    if (this.orbit.locked || this.orbit.body !== null || body === this.followed) return;
    this.followed = body;
    this.isMoved ||= body !== null;
    this.#automatic = null;
    this.#glideM = null;
  }

  /** The user has moved the camera: it no longer follows all bodies. */
  userMoved() {
    this.isMoved = true;
    this.#automatic = null;
    this.#isToFrame = this.#follows = false;
  }

  /** The user pans: the camera no longer follows a body either. */
  pan(dxPx, dyPx, heightPx) {
    this.followed = null;
    this.userMoved();
    this.orbit.pan(dxPx, dyPx, heightPx, this.seen === null ? Infinity : this.seen.widthPx / this.seen.heightPx);
  }

  orbitBy(dxPx, dyPx, heightPx) {
    this.isMoved = true;
    if (this.followed === null) this.userMoved();
    this.orbit.orbit(dxPx, dyPx, heightPx);
  }

  zoom(notches) {
    this.isMoved = true;
    if (this.followed === null) this.userMoved();
    this.orbit.zoom(notches);
  }

  /** True if the camera keeps all bodies in the picture. */
  get isFollowingAll() {
    return this.#automatic !== null;
  }

  /**
   * Moves the view for the frame that is seen at `presentMs`. Call it once a frame, before `matrices`.
   * @param {number} presentMs
   * @param {{scene: Object, newest: Object, poses: Object, placesOf: function(): ?Float64Array}} drawn newest: newest
   *   snapshot. poses: `DrawnPoses` of this frame. placesOf: positions in the world of the bodies of `newest`, or null.
   * @param {number} widthPx
   * @param {number} heightPx
   * @param {boolean} isHeld True while the user holds a button.
   */
  advance(presentMs, {scene, newest, poses, placesOf}, widthPx, heightPx, isHeld) {
    const {orbit} = this, aspect = Math.max(widthPx, 1) / Math.max(heightPx, 1);
    const isDue = presentMs - this.#surroundedMs >= SURROUND_MS;
    if (isDue || this.#isToFrame) {
      this.#surroundedMs = presentMs;
      const bodies = bodiesOf(scene, newest, placesOf());
      if (this.#isToFrame) {
        orbit.frame(bodies, aspect);
        this.#automatic = this.#follows ? new AutomaticCamera(orbit) : null;
      }
      orbit.surround(bodies);
      // Without bodies, the first ones are framed at once.
      this.#isToFrame &&= !bodies.framed.radius.length;
    }
    this.#automatic?.advance(presentMs, scene, newest, placesOf, widthPx, heightPx, isHeld);
    this.#advanceFollowed(presentMs, poses);
    const carrier = orbit.body === null ? null : poses.of(orbit.body);
    if (carrier?.isDrawable) this.#carrier = carrier;
  }

  #advanceFollowed(presentMs, poses) {
    const passedS = this.#presentMs === null ? 0 : Math.max(0, presentMs - this.#presentMs) / 1000;
    this.#presentMs = presentMs;
    const pose = this.followed === null ? null : poses.of(this.followed);
    if (!pose?.isDrawable) return;
    this.#glideM ??= minus(this.orbit.target, pose.position);
    const left = Math.exp(-RATE_PER_S * passedS);
    this.#glideM = this.#glideM.map((value) => value * left);
    this.orbit.follow(pose.position.map((value, axis) => value + this.#glideM[axis]));
  }

  /**
   * @param {number} widthPx
   * @param {number} heightPx
   * @returns {Matrices} In the world, also for a camera that a body carries.
   */
  matrices(widthPx, heightPx) {
    let matrices = this.orbit.matrices(widthPx, heightPx);
    if (this.#carrier !== null) {
      const turn = this.orbit.rotatesWithBody ? this.#carrier.orientation : [0, 0, 0, 1];
      matrices = carried(matrices, this.#carrier.position, turn);
    }
    this.seen = {matrices, viewport: this.orbit.viewport(widthPx, heightPx), widthPx, heightPx};
    return matrices;
  }
}

/**
 * Balls of the bodies after some time, if each keeps its velocity: along each axis the lower one between the last three
 * samples, so that a jump or a bounce is not continued. factor: that time, in times between two samples.
 * @returns {{later: Balls, moves: Float64Array}} moves: of each body since the sample before.
 */
function aheadOf({place, radius, bodies}, snapshot, position, before, factor) {
  const later = place.slice(), moves = new Float64Array(3 * snapshot.count);
  bodies.forEach((body, at) => {
    const word = 16 * body + EPOCH;
    if (body >= before.snapshot.count || ((snapshot.words[word] ^ before.snapshot.words[word]) & 0xffff) !== 0) return;
    for (let axis = 0; axis < 3; axis++) {
      const moved = position[3 * body + axis] - before.position[3 * body + axis];
      if (!Number.isFinite(moved)) continue;
      moves[3 * body + axis] = moved;
      const earlier = before.moves[3 * body + axis] ?? 0;
      const leastM = Math.min(Math.abs(moved), Math.abs(earlier));
      if (moved * earlier > 0) later[3 * at + axis] += factor * Math.sign(moved) * leastM;
    }
  });
  return {later: {place: later, radius}, moves};
}

function together(one, other) {
  const join = (name) => {
    const joined = new Float64Array(one[name].length + other[name].length);
    joined.set(one[name]);
    joined.set(other[name], one[name].length);
    return joined;
  };
  return {place: join("place"), radius: join("radius")};
}

/** How far the balls are beyond the borders of this share of the picture, metres; negative if all are inside. */
function beyond({place, radius}, [x, y, z, distanceM], {right, up, backward, tangent, aspect, orthographic}, share) {
  let most = -Infinity;
  const across = share * tangent * aspect, along = share * tangent;
  const [acrossR, alongR] = [across, along].map((slope) => (orthographic ? 1 : Math.hypot(1, slope)));
  for (let ball = 0; ball < radius.length; ball++) {
    const a = place[3 * ball], b = place[3 * ball + 1], c = place[3 * ball + 2];
    const depthM = distanceM + (orthographic ? 0 : z - backward[0] * a - backward[1] * b - backward[2] * c);
    const sideM = Math.abs(right[0] * a + right[1] * b + right[2] * c - x) + acrossR * radius[ball] - across * depthM;
    const highM = Math.abs(up[0] * a + up[1] * b + up[2] * c - y) + alongR * radius[ball] - along * depthM;
    most = Math.max(most, sideM, highM);
  }
  return most;
}

const toView = (point, {right, up, backward}) => [dot(right, point), dot(up, point), dot(backward, point)];
