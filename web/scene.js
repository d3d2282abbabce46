/**
 * A scene: rows of parts for drawing, balls around bodies for the camera, labels, parents and groups.
 *
 * A row is one part of one body. The rows are computed once for each scene and number of bodies. They are sorted by
 * kind, material and mesh, so that each draw call has contiguous rows. The functions that give sizes and colours are
 * those of render/draw/bodies/shape_rows.py; the functions that give balls are those of render/draw/frame/framing.py.
 *
 * Always: rows of one group and one layer are in the order of their bodies, and of the parts of each body. Pure.
 */

import {METHODS} from "./glsl.js";

const KIND_OF = {
  sphere: "spheres", box: "boxes", plane: "planes", capsule: "capsules", cylinder: "cylinders",
  ellipsoid: "ellipsoids", mesh: "meshes",
};
/** Kinds of rows, in the order of the rows. */
export const KINDS = Object.values(KIND_OF);
/** Colours of bodies that have no colour: body i has colour i modulo 8. The same as in ipc/scene/parts.py. */
export const PALETTE = [
  [0xe8, 0x6a, 0x5c], [0x5b, 0x9b, 0xe6], [0xf2, 0xb5, 0x4a], [0x5c, 0xc3, 0xa0],
  [0xa7, 0x85, 0xe0], [0xec, 0x8f, 0xb4], [0x8f, 0xc7, 0x5e], [0x55, 0xc1, 0xd6],
];
const OPAQUE = 255;
// A shape counts as transparent if its alpha is at most this number.
const LEAST_TRANSPARENT = 254;
const IN_PLACE = [0, 0, 0, 0, 0, 0, 1];
const NO_SHAPES = [{kind: "sphere", radius: 0.5, color: null, material: null}];

// A record of a body (`BODY` in ipc/snapshot.py) has 16 words. These are the indices of its fields.
export const RECORD_WORDS = 16;
export const EPOCH = 3, ORIENTATION = 4, VELOCITY = 8, FLAGS = 11, SPIN = 12, COLOR = 15;
// Bits of the flags.
export const VISIBLE = 1, HAS_VELOCITY = 2, HAS_ANGULAR_VELOCITY = 4, HAS_COLOR = 8;
const WHITE_RGB = 0xffffff;

// Labels of at most this many bodies are considered: those with the lowest indices.
const MOST_LABELED = 2048;
// A box may be a floor or a wall if its shortest edge is below this share of its second longest edge.
const THIN = 1 / 8;
// Largest coordinate of a body that is drawn, in metres.
export const FARTHEST = 1e30;
// A body is not framed if its distance from the median position is larger than both limits, see framing.py.
const FLOWN_OFF_M = 1e7, FLOWN_OFF_SPREADS = 1000, FARTHEST_FRAMED_M = 1e13;

/**
 * One row for each part of each body, sorted by kind, material and mesh.
 * @typedef {Object} Rows
 * @property {number} count Number of rows.
 * @property {Uint32Array} body Body of each row.
 * @property {Uint32Array} part Index of each row's part in the part columns of a snapshot.
 * @property {Float32Array} form Half size x, y, z in metres, and 1 if the colour is the palette's; 4 a row.
 * @property {Uint8Array} color Red, green, blue, alpha; 4 a row.
 * @property {Float32Array} local Position in metres and orientation xyzw of the part in its body's frame; 7 a row.
 * @property {Group[]} groups Contiguous rows that are drawn alike.
 * @property {boolean} isPlaced False if every local pose is the identity.
 * @property {number[][][]} layers For each layer of the scene the ranges of its rows: [first, count].
 * @property {?{color: Uint8Array, inPalette: Uint8Array}} base The scene's own colours, if a part column `color`
 *   replaces them; `color` is then white. See `paintParts`.
 */
/**
 * @typedef {Object} Group
 * @property {string} kind One of `KINDS`.
 * @property {?number} material Index in the head's `materials`.
 * @property {?number} mesh Index in the head's `meshes`.
 * @property {number} first First row.
 * @property {number} count Number of rows.
 */
/**
 * Balls around bodies, in the world, in metres.
 * @typedef {Object} Balls
 * @property {Float64Array} place Centres x, y, z; 3 a ball.
 * @property {Float64Array} radius
 * @property {number[]} bodies Body of each of the first balls. The corners of the outline come last.
 */

export class Scene {
  #contents;
  #shapeIndex;
  #children;
  #parents;
  #partsOf;  // for each distinct shape: its parts, with the index in `#groups`
  #groups;  // kind, material and mesh of rows that are drawn alike
  #rows = null;
  #parentRows = null;
  #bodyCount = 0;
  #layerOf = new Map();

  /**
   * @param {{version: number, head: Object, shapeIndex: Uint16Array, indices: Uint32Array}} message From `wire.js`.
   * @param {?Object} contents Meshes and textures, see `contents.js`. Null: none are known.
   */
  constructor(message, contents = null) {
    this.version = message.version;
    this.cameraVersion = message.cameraVersion ?? 0;
    this.head = message.head;
    this.#contents = contents;
    this.#shapeIndex = message.shapeIndex;
    const {parents: children, groups, members} = this.head;
    this.#children = message.indices.subarray(0, children);
    this.#parents = message.indices.subarray(children, 2 * children);
    let at = 2 * children;
    this.groups = groups.map(({name, interpolation, delay_ms: delayMs}, index) => {
      const bodies = message.indices.subarray(at, (at += members[index]));
      return {name, interpolation, delayMs, bodies};
    });
    this.#makeLayers();
    this.refresh();
  }

  /**
   * Divides the bodies into layers: those of groups with a method or a delay of their own, and before them all others.
   * As in the window, a body with a parent belongs to the others.
   */
  #makeLayers() {
    const free = [...METHODS, "latest"], children = new Set(this.#children);
    /** @type {{method: ?string, delayNs: number}[]} Method null: that of the picture. */
    this.layers = [{method: null, delayNs: 0}];
    for (const {interpolation, delayMs, bodies} of this.groups) {
      const method = free.includes(interpolation) ? interpolation : null, delayNs = Math.round(delayMs * 1e6);
      let at = this.layers.findIndex((one) => one.method === method && one.delayNs === delayNs);
      if (at < 0) at = this.layers.push({method, delayNs}) - 1;
      for (const body of at ? bodies : []) if (!children.has(body)) this.#layerOf.set(body, at);
    }
  }

  /** Index in `layers` of the layer of a body. */
  layerOf(body) {
    return this.#layerOf.get(body) ?? 0;
  }

  /** Computes everything again that depends on the contents. Call it after a mesh or a texture is complete. */
  refresh() {
    const {shapes} = this.head;
    /** The distinct shapes. */
    this.table = (shapes.length ? shapes : NO_SHAPES).map((entry) => this.#shape(entry));
    this.#sort();
    this.#rows = null;
  }

  /** Number of bodies that have a shape of their own. Further bodies have the last shape. */
  get shapeCount() {
    return this.#shapeIndex.length;
  }

  /** Meshes and textures, see `contents.js`; null if none are known. */
  get contents() {
    return this.#contents;
  }

  /** True if a body has a parent. */
  get hasParents() {
    return this.#children.length > 0;
  }

  /**
   * @param {number} body
   * @returns {number} Index of the body's shape in `table`.
   */
  shapeOf(body) {
    const known = this.#shapeIndex.length;
    return known ? this.#shapeIndex[Math.min(body, known - 1)] : 0;
  }

  /**
   * @param {number} bodyCount
   * @returns {Int32Array} The parent of each body; -1 if it has none, or if the parent does not exist. The same array
   *   until the number of bodies changes.
   */
  parentRows(bodyCount) {
    if (this.#parentRows?.length === bodyCount) return this.#parentRows;
    const rows = (this.#parentRows = new Int32Array(bodyCount).fill(-1));
    for (let at = 0; at < this.#children.length; at++) {
      const child = this.#children[at], parent = this.#parents[at];
      if (child < bodyCount && parent < bodyCount) rows[child] = parent;
    }
    return rows;
  }

  /**
   * @param {number} bodyCount
   * @returns {{body: number, text: string, reachM: number}[]} Labels of bodies, in the order of the bodies.
   */
  labels(bodyCount) {
    const found = [];
    if (!this.table.some((shape) => shape.label !== null)) return found;
    for (let body = 0; body < bodyCount && found.length < MOST_LABELED; body++) {
      const shape = this.table[this.shapeOf(body)];
      if (shape.label !== null) found.push({body, text: shape.label, reachM: shape.reach});
    }
    return found;
  }

  /**
   * @param {number} bodyCount
   * @returns {Rows} The same object until the number of bodies or the contents change.
   */
  rowsFor(bodyCount) {
    if (this.#rows === null || this.#bodyCount !== bodyCount) {
      this.#bodyCount = bodyCount;
      this.#rows = this.#madeRows(bodyCount);
    }
    return this.#rows;
  }

  #shape(entry) {
    const label = entry.label ?? null;
    if (entry.kind !== "compound") return {...this.#single(entry), label, parts: null};
    const parts = entry.parts.map(([row, position, orientation]) => {
      const shape = this.#single(this.head.part_shapes[row]);
      return {shape, position, orientation};
    });
    const reach = parts.reduce((most, part) => Math.max(most, Math.hypot(...part.position) + part.shape.reach), 0);
    return {kind: "compound", half: [0, 0, 0], reach, isThin: false, label, parts};
  }

  #single(entry) {
    const half = halfSize(entry);
    const mesh = entry.kind === "mesh" ? this.#contents?.mesh(this.head.meshes[entry.mesh].digest) ?? null : null;
    const material = entry.material === null ? null : this.head.materials[entry.material];
    const texture = material === null || material.texture === null ? null : this.head.textures[material.texture];
    const own = entry.color ?? (texture === null ? null : [1, 1, 1]);
    const rgba = own === null ? [OPAQUE, OPAQUE, OPAQUE, OPAQUE] : bytesOf(own);
    const hasHoles = texture !== null && (this.#contents?.texture(texture.digest)?.hasAlpha ?? false);
    if (own !== null && hasHoles) rgba[3] = Math.min(rgba[3], LEAST_TRANSPARENT);
    const isColoredBy = this.head.color_by !== null;
    if (isColoredBy) rgba.fill(OPAQUE, 0, 3);
    return {
      kind: entry.kind, half, rgba, inPalette: own === null && !isColoredBy, material: entry.material,
      mesh: entry.kind === "mesh" ? entry.mesh : null, arrays: mesh, reach: reachOf(entry, half, mesh),
      isThin: isThin(entry),
    };
  }

  /** Numbers the groups, and finds the group of each part of each distinct shape. */
  #sort() {
    const keyed = new Map();
    this.#partsOf = this.table.map((shape) => {
      if (shape.parts === null) return [{shape, local: IN_PLACE}];
      return shape.parts.map(({shape: one, position, orientation}) => ({
        shape: one, local: [...position, ...orientation],
      }));
    });
    for (const part of this.#partsOf.flat()) {
      const {kind, material, mesh} = part.shape;
      const order = [KINDS.indexOf(KIND_OF[kind]), material ?? -1, mesh ?? -1];
      const key = order.join();
      if (!keyed.has(key)) keyed.set(key, {order, kind: KIND_OF[kind], material, mesh});
      part.key = key;
    }
    const sorted = [...keyed.entries()].sort(([, {order: one}], [, {order: other}]) => {
      const at = one.findIndex((value, index) => value !== other[index]);
      return at < 0 ? 0 : one[at] - other[at];
    });
    const place = new Map(sorted.map(([key], index) => [key, index]));
    for (const part of this.#partsOf.flat()) part.group = place.get(part.key);
    this.#groups = sorted.map(([, {kind, material, mesh}]) => ({kind, material, mesh}));
  }

  #madeRows(bodyCount) {
    const counts = new Uint32Array(this.#groups.length);
    for (let body = 0; body < bodyCount; body++) {
      for (const part of this.#partsOf[this.shapeOf(body)]) counts[part.group]++;
    }
    const next = new Uint32Array(counts.length);
    let count = 0;
    const groups = [];
    this.#groups.forEach((group, index) => {
      next[index] = count;
      if (counts[index]) groups.push({...group, first: count, count: counts[index]});
      count += counts[index];
    });
    const rows = {
      count, body: new Uint32Array(count), part: new Uint32Array(count), form: new Float32Array(4 * count),
      color: new Uint8Array(4 * count), local: new Float32Array(7 * count), groups, isPlaced: false, base: null,
      layers: this.layers.map(() => []),
    };
    rows.layers.forEach((ranges, layer) => {
      const began = next.slice();
      let partIndex = 0;
      for (let body = 0; body < bodyCount; body++) {
        const parts = this.#partsOf[this.shapeOf(body)], inTurn = PALETTE[body % PALETTE.length];
        if (this.layerOf(body) === layer) {
          parts.forEach(({shape, local, group}, part) => {
            const row = next[group]++;
            rows.body[row] = body;
            rows.part[row] = partIndex + part;
            rows.form.set(shape.half, 4 * row);
            rows.form[4 * row + 3] = shape.inPalette ? 1 : 0;
            rows.color.set(shape.inPalette ? inTurn : shape.rgba, 4 * row);
            if (shape.inPalette) rows.color[4 * row + 3] = OPAQUE;
            rows.local.set(local, 7 * row);
            rows.isPlaced ||= local !== IN_PLACE;
          });
        }
        partIndex += parts.length || 1;  // a compound without parts has one row in part columns
      }
      began.forEach((first, group) => {
        const added = next[group] - first, last = ranges.at(-1);
        if (added && last && last[0] + last[1] === first) last[1] += added;
        else if (added) ranges.push([first, added]);
      });
    });
    if (this.head.part_columns.includes("color")) makeWhite(rows);
    return rows;
  }

  /**
   * @param {Object} snapshot From `wire.js`.
   * @param {?Float64Array} places Positions of the bodies in the world, 3 a body; null if no body has a parent.
   * @param {number} stride Only each body whose number is a multiple of it.
   * @returns {Balls} Balls around all visible bodies, and balls of radius 0 at the corners of the outline.
   */
  seenBalls(snapshot, places = null, stride = 1) {
    return this.#balls(snapshot, places, stride, false);
  }

  /**
   * @param {Object} snapshot
   * @param {?Float64Array} places
   * @param {number} stride
   * @param {Balls} seen Result of `seenBalls`.
   * @returns {Balls} The balls without floors and walls.
   */
  framedBalls(snapshot, places = null, stride = 1, seen = this.seenBalls(snapshot, places, stride)) {
    if (!this.table.some((shape) => shape.isThin)) return seen;
    const rest = this.#balls(snapshot, places, stride, true);
    const others = rest.radius.length, thin = seen.radius.length - others;
    const largestM = Math.max(...this.table.filter((shape) => shape.isThin).map((shape) => shape.reach));
    return 0 < others && others >= thin && largestM > boundsOf(rest).radiusM ? rest : seen;
  }

  /** A quarter of the lower quartile of the visible bodies' radii, in metres; 0 if there are no bodies. */
  smallSizeM(snapshot) {
    const found = [];
    for (let body = 0; body < snapshot.count; body++) {
      const radius = this.#radius(snapshot, body);
      if ((flagsOf(snapshot, body) & VISIBLE) !== 0 && Number.isFinite(radius) && radius > 0) found.push(radius);
    }
    const sorted = Float32Array.from(found).sort();
    return sorted.length ? sorted[(sorted.length - 1) >> 2] / 4 : 0;
  }

  #radius(snapshot, body) {
    return Math.fround(Math.fround(this.table[this.shapeOf(body)].reach) * scaleOf(snapshot, body));
  }

  #balls(snapshot, places, stride, isThick) {
    let bodies = [];
    const position = places ?? positionsOf(snapshot);
    for (let body = 0; body < snapshot.count; body += stride) {
      if ((flagsOf(snapshot, body) & VISIBLE) === 0 || (isThick && this.table[this.shapeOf(body)].isThin)) continue;
      if (Number.isFinite(this.#radius(snapshot, body)) && isNear(position, body)) bodies.push(body);
    }
    bodies = withinSight(bodies, position);
    const corners = this.head.outline === null ? [] : cornersOf(this.head.outline);
    const place = new Float64Array(3 * (bodies.length + corners.length));
    const radius = new Float64Array(bodies.length + corners.length);
    for (let at = 0; at < bodies.length; at++) {
      for (let axis = 0; axis < 3; axis++) place[3 * at + axis] = position[3 * bodies[at] + axis];
      radius[at] = Math.abs(this.#radius(snapshot, bodies[at]));
    }
    corners.forEach((corner, at) => place.set(corner, 3 * (bodies.length + at)));
    return {place, radius, bodies};
  }
}

/**
 * Writes the colours and the visibility of parts into the records of their rows.
 * @param {Uint32Array} words Records of the rows, 16 words each; changed in place.
 * @param {Rows} rows
 * @param {Map<string, {width: number, values: Object}>} columns Columns of the snapshot.
 * @param {number} parts Number of rows of each part column.
 */
export function paintParts(words, rows, columns, parts) {
  const given = columns.get("color"), shown = columns.get("visible");
  const own = given?.per === "part" && given.width === 4 ? given.values : null;
  const isByte = own instanceof Uint8Array;
  for (let row = 0; row < rows.count; row++) {
    const at = RECORD_WORDS * row, part = rows.part[row];
    if (rows.base !== null) {
      const color = colorOfPart(own, part < parts ? part : -1, isByte, rows.base.color, row);
      const isBase = [0, 1, 2].every((channel) => color[channel] === rows.base.color[4 * row + channel]);
      if (isBase && rows.base.inPalette[row] && hasColor(words, at)) color.fill(OPAQUE, 0, 3);
      let packed = 0;
      for (let channel = 0; channel < 4; channel++) {
        const product = ((words[at + COLOR] >>> (8 * channel)) & 255) * color[channel];
        packed |= Math.floor((product + 127) / OPAQUE) << (8 * channel);
      }
      words[at + COLOR] = packed >>> 0;
      words[at + FLAGS] |= HAS_COLOR;
    }
    if (shown?.per === "part" && part < parts && !shown.values[part]) words[at + FLAGS] &= ~VISIBLE;
  }
}

/** True if the colour of a record is given, see `has_color` in ipc/snapshot.py. at: the record's first word. */
export function hasColor(words, at) {
  return (words[at + FLAGS] & HAS_COLOR) !== 0 || (words[at + COLOR] & WHITE_RGB) !== WHITE_RGB;
}

/** The bits VISIBLE, HAS_VELOCITY, ... of a body. */
export function flagsOf(snapshot, body) {
  return snapshot.words[RECORD_WORDS * body + FLAGS] & 0xffff;
}

/** The scale of a body. */
export function scaleOf(snapshot, body) {
  return halfFloat(snapshot.words[RECORD_WORDS * body + FLAGS] >>> 16);
}

/** A half float (IEEE 754 2008) as a number. */
export function halfFloat(bits) {
  const fraction = bits & 0x3ff, exponent = (bits >>> 10) & 31, sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -24 * fraction;
}

/** Positions of the bodies of a snapshot as published, 3 a body, metres. */
export function positionsOf(snapshot) {
  const found = new Float64Array(3 * snapshot.count);
  for (let body = 0; body < snapshot.count; body++) {
    const at = RECORD_WORDS * body;
    for (let axis = 0; axis < 3; axis++) found[3 * body + axis] = snapshot.floats[at + axis];
  }
  return found;
}

/**
 * @param {Balls} balls
 * @returns {{low: number[], high: number[], middle: number[], radiusM: number}} The box around all balls; from -1 to
 *   1 m on each axis if there are none.
 */
export function boundsOf({place, radius}) {
  const low = [-1, -1, -1], high = [1, 1, 1];
  for (let axis = 0; axis < 3 && radius.length; axis++) {
    let least = Infinity, most = -Infinity;
    for (let ball = 0; ball < radius.length; ball++) {
      least = Math.min(least, place[3 * ball + axis] - radius[ball]);
      most = Math.max(most, place[3 * ball + axis] + radius[ball]);
    }
    [low[axis], high[axis]] = [least, most];
  }
  const middle = low.map((value, axis) => (value + high[axis]) / 2);
  return {low, high, middle, radiusM: Math.hypot(...low.map((value, axis) => high[axis] - value)) / 2};
}

/** Half the extent of a shape of scale 1 along its own axes, metres. For a capsule, z does not include the caps. */
function halfSize(entry) {
  switch (entry.kind) {
    case "sphere": return [entry.radius, entry.radius, entry.radius];
    case "capsule":
    case "cylinder": return [entry.radius, entry.radius, entry.length / 2];
    case "plane": return [entry.size[0] / 2, entry.size[1] / 2, 0];
    case "mesh": return [0, 0, 0];
    default: return entry.size.map((edge) => edge / 2);
  }
}

/** Radius of a ball around the body's position that contains the shape, metres; 0 for a mesh that is not known. */
function reachOf(entry, half, mesh) {
  switch (entry.kind) {
    case "sphere": return entry.radius;
    case "capsule": return entry.radius + entry.length / 2;
    case "cylinder": return Math.hypot(entry.radius, entry.length / 2);
    case "ellipsoid": return Math.max(...half);
    case "mesh": return mesh === null ? 0 : mesh.reach;
    default: return Math.hypot(...half);
  }
}

function isThin(entry) {
  if (entry.kind !== "box") return entry.kind === "plane";
  const [thickness, edge] = [...entry.size].sort((one, other) => one - other);
  return thickness < THIN * edge;
}

/** Four bytes of a colour of three or four numbers from 0 to 1; rounded half to even, as in Python. */
function bytesOf(paint) {
  return [...paint, 1].slice(0, 4).map((channel) => {
    const value = channel * OPAQUE, whole = Math.round(value);
    return whole - value === 0.5 && whole % 2 ? whole - 1 : whole;
  });
}

function makeWhite(rows) {
  const base = {color: rows.color.slice(), inPalette: new Uint8Array(rows.count)};
  for (let row = 0; row < rows.count; row++) {
    const alpha = 4 * row + 3;
    base.inPalette[row] = rows.form[alpha];
    if (base.color[alpha] === LEAST_TRANSPARENT) base.color[alpha] = OPAQUE;
    rows.form[alpha] = 0;
    rows.color.fill(OPAQUE, 4 * row, alpha);
    rows.color[alpha] = rows.color[alpha] === LEAST_TRANSPARENT ? LEAST_TRANSPARENT : OPAQUE;
  }
  rows.base = base;
}

/** The four bytes of a part's colour: from its column, or the scene's. */
function colorOfPart(own, part, isByte, base, row) {
  if (own === null || part < 0) return base.slice(4 * row, 4 * row + 4);
  const given = own.slice(4 * part, 4 * part + 4);
  if (isByte) return given;
  const floats = Float32Array.from(given);
  if (!floats.every(Number.isFinite)) return new Uint8Array(4).fill(OPAQUE);
  return Uint8Array.from(floats, (channel) => {
    const value = Math.fround(Math.min(1, Math.max(0, channel)) * OPAQUE), whole = Math.round(value);
    return whole - value === 0.5 && whole % 2 ? whole - 1 : whole;
  });
}

/** The eight corners of a box. */
export function cornersOf([low, high]) {
  return [...Array(8).keys()].map((bit) => [1, 2, 4].map((mask, axis) => (bit & mask ? high : low)[axis]));
}

/** True if all coordinates of a body are finite and small enough to be drawn. */
function isNear(position, body) {
  const at = 3 * body;
  return Math.abs(position[at]) < FARTHEST && Math.abs(position[at + 1]) < FARTHEST &&
    Math.abs(position[at + 2]) < FARTHEST;
}

/** The bodies to frame: all, or those near the median position if some are too far away. */
function withinSight(bodies, position) {
  if (!bodies.length) return bodies;
  const columns = [0, 1, 2].map((axis) => {
    const column = new Float64Array(bodies.length);
    for (let at = 0; at < bodies.length; at++) column[at] = position[3 * bodies[at] + axis];
    return column;
  });
  const extents = columns.map((column) => {
    let low = Infinity, high = -Infinity;
    for (const value of column) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    return high - low;
  });
  if (Math.max(...extents) <= FLOWN_OFF_M) return bodies;
  const half = (bodies.length - 1) >> 1;
  const middles = columns.map((column) => column.slice().sort()[half]);
  const spreadM = Math.max(
    ...columns.map((column, axis) => column.map((value) => Math.abs(value - middles[axis])).sort()[half]),
  );
  const farthestM = Math.min(Math.max(FLOWN_OFF_M, FLOWN_OFF_SPREADS * spreadM), FARTHEST_FRAMED_M);
  const near = bodies.filter((_, at) =>
    columns.every((column, axis) => Math.abs(column[at] - middles[axis]) <= farthestM),
  );
  return near.length ? near : bodies;
}
