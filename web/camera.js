/**
 * An orbit camera: a target, a distance and three angles. From these it computes the view and projection matrices.
 *
 * The functions are those of render/draw/frame/camera.py and framing.py. The automatic camera is a short form of
 * render/scene/automatic_camera.py: it frames all bodies first, and moves smoothly when bodies leave the picture.
 *
 * Always: the target is at the principal point, by default the middle of the picture. When a rolled camera orbits, it
 * turns until the picture is upright. Pure: takes and returns numbers.
 */

import {boundsOf} from "./scene.js";

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
const CENTRINGS = 4;
// Shares of the picture's width and height that differ by less than this are equal: the difference is rounding.
const TIE = 1e-9;

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
    this.reachM = 0;  // radius of the whole scene, measured from the target
    this.among = null;  // ball around all bodies: {middle, radiusM, smallSizeM}; middle: null if a body carries the camera
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
  pan(dxPx, dyPx, heightPx) {
    const metresPerPx = (2 * this.distanceM * tangentOf(this.fovYDeg)) / Math.max(heightPx, 1);
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

  /** Lens and directions of the camera: {right, up, backward, tangent, aspect, orthographic}. */
  framedView(aspect) {
    const [right, up, backward] = this.axes();
    return {right, up, backward, tangent: tangentOf(this.fovYDeg), aspect, orthographic: this.orthographic};
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
    const [acrossPx, alongPx] = this.principalPoint.map((share) => roundEven(share * heightPx));
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
    const height = Math.max(heightPx, 1);
    const larger = this.viewport(Math.max(widthPx, 1), height);
    const focal = ((1 / tangentOf(this.fovYDeg)) * height) / larger.height;
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
export function bodiesOf(scene, snapshot, places = null) {
  const framed = scene.framedBalls(snapshot, places);
  return {framed, bounds: boundsOf(scene.seenBalls(snapshot, places)), smallSizeM: scene.smallSizeM(snapshot)};
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
export function placeFor(balls, view, filled = FILLED) {
  const {middle} = boundsOf(balls);
  const count = Math.max(balls.radius.length, 1);
  const radius = balls.radius.length ? balls.radius.slice() : Float64Array.of(EMPTY_M);
  const [across, along, toward] = [view.right, view.up, view.backward].map((axis) =>
    Float64Array.from({length: count}, (_, ball) =>
      balls.radius.length ? dot(axis, minus(balls.place.subarray(3 * ball, 3 * ball + 3), middle)) : 0,
    ),
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
      half / sine < distanceM * (1 - TIE) ? centred(side ? along : across, radius, depth) : at / cosine, half,
    ]);
  }
  const [[rightM], [upM]] = off;
  const target = middle.map((at, axis) => at + rightM * view.right[axis] + upM * view.up[axis]);
  return {target, distanceM: Math.max(distanceM, (farthestM + Math.hypot(rightM, upM)) * perReach)};
}

/** Sideways position of the eye at which the balls extend equally far to both sides of the picture, metres. */
function centred(side, radius, depth) {
  const mean = depth.reduce((sum, value) => sum + value, 0) / depth.length;
  const share = radius.map((value, ball) => value / depth[ball]);
  let at = 0;
  for (let turn = 0; turn < CENTRINGS; turn++) {
    at += between(side.map((value, ball) => (value - at) / depth[ball]), share)[0] * mean;
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

function roundEven(value) {
  const whole = Math.round(value);
  return whole - value === 0.5 && whole % 2 ? whole - 1 : whole;
}

const tangentOf = (angleDeg) => Math.tan((angleDeg * Math.PI) / 180 / 2);
const limited = (distanceM) => Math.min(Math.max(distanceM, MIN_DISTANCE_M), MAX_DISTANCE_M);
const dot = (one, other) => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
const minus = (one, other) => [one[0] - other[0], one[1] - other[1], one[2] - other[2]];
const distance = (one, other) => Math.hypot(...minus(one, other));
