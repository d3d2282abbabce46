/**
 * Decodes the binary messages of the stream, as `docs/wire.md` defines them.
 *
 * Always: arrays are views of the message's own bytes where alignment and codec allow it. Lean bodies become full
 * records, bit-equal with those of `relay/stream/lean.py`. Damaged bytes raise an Error, and no message is decoded in
 * part. Simulated times are doubles of ns since the *simulated origin*, the first simulated time that was decoded, so
 * that they are exact for 104 days around it.
 */

const CHUNK = 256;
const LEAN_HEAD_BYTES = 16, BOX_BYTES = 40, RECORD_WORDS = 16, SELDOM_BYTES = 10;
const VELOCITIES = 1, ANGULAR_VELOCITIES = 2;
const COMPONENT_LIMIT = (1 << 14) - 1;
const COMPONENT_SCALE = Math.sqrt(0.5) / COMPONENT_LIMIT;

/** Velocities as shares of the power of two of their chunk, by their 16 bits. */
const SHARES = new Float32Array(
  Uint32Array.from({length: 1 << 16}, (_, bits) => (bits & 0x7fff) << 11 | (bits & 0x8000) << 16).buffer,
).map((share) => share * 2 ** 119);

/** Decodes the blocks of one connection, in the order in which they arrived. */
export class LeanDecoder {
  // Fields that change seldom, a row for each body.
  #colors = new Uint32Array(0);
  #flagsAndScales = new Uint32Array(0);  // flags in the low half
  #corrections = new Uint32Array(0);  // high half of the epoch; the low half is 0

  /**
   * Full records of the bodies: 16 words each, as `BODY` in ipc/snapshot.py.
   * @param {ArrayBuffer} buffer
   * @param {number} offset  where the block begins, a multiple of 4
   * @param {number} count  number of bodies of the snapshot
   * @returns {{words: Uint32Array, floats: Float32Array, end: number}} two views on the same bytes, and where the block
   *     ends, padding included
   * @throws {Error} if the block is too short, or if it lacks rows that are not known
   */
  decode(buffer, offset, count) {
    const bytes = buffer.byteLength - offset;
    if (bytes < LEAN_HEAD_BYTES) throw new Error(`a lean block of ${bytes} bytes`);
    const [encoded, fields, exceptions, changed] = new Uint32Array(buffer, offset, 4);
    if (encoded !== count) throw new Error(`a lean block of ${encoded} bodies in a snapshot of ${count}`);
    if (changed > count || (changed < count && count !== this.#colors.length)) {
      throw new Error(`${changed} changed rows of ${count}, but ${this.#colors.length} are known`);
    }
    const boxesAt = offset + LEAN_HEAD_BYTES;
    const positionsAt = boxesAt + Math.ceil(count / CHUNK) * BOX_BYTES;
    const exceptionsAt = positionsAt + 8 * count;
    const recordsAt = exceptionsAt + 4 * exceptions;
    const orientationsAt = recordsAt + 4 * RECORD_WORDS * exceptions;
    const epochsAt = orientationsAt + 6 * count;
    const velocitiesAt = epochsAt + 2 * count;
    const angularAt = velocitiesAt + (fields & VELOCITIES ? 6 * count : 0);
    const changedAt = padded(angularAt + (fields & ANGULAR_VELOCITIES ? 6 * count : 0), 4);
    const seldomAt = changedAt + (changed < count ? 4 * changed : 0);
    const end = offset + padded(seldomAt + SELDOM_BYTES * changed - offset, 8);
    if (buffer.byteLength < end) throw new Error(`the buffer has ${buffer.byteLength} bytes, but ${end} are needed`);

    const exceptionRows = new Uint32Array(buffer, exceptionsAt, exceptions);
    const changedRows = changed < count ? new Uint32Array(buffer, changedAt, changed) : null;
    for (const rows of [exceptionRows, changedRows ?? []]) {
      for (const row of rows) if (row >= count) throw new Error(`row ${row} of a snapshot of ${count} bodies`);
    }
    this.#takeSeldom(buffer, seldomAt, count, changed, changedRows);

    const words = new Uint32Array(RECORD_WORDS * count);
    const floats = new Float32Array(words.buffer);
    const boxes = new DataView(buffer, boxesAt, positionsAt - boxesAt);
    writePositions(floats, boxes, new Uint32Array(buffer, positionsAt, 2 * count), count);
    writeOrientations(floats, new Uint16Array(buffer, orientationsAt, 3 * count), count);
    const velocities = [[VELOCITIES, 8, velocitiesAt, 36], [ANGULAR_VELOCITIES, 12, angularAt, 38]];
    for (const [field, word, at, exponentAt] of velocities) {
      if (fields & field) writeVelocities(floats, word, new Uint16Array(buffer, at, 3 * count), boxes, exponentAt);
    }
    const epochs = new Uint16Array(buffer, epochsAt, count);
    for (let row = 0, at = 0; row < count; row++, at += RECORD_WORDS) {
      words[at + 3] = this.#corrections[row] | epochs[row];
      words[at + 11] = this.#flagsAndScales[row];
      words[at + 15] = this.#colors[row];
    }
    const records = new Uint32Array(buffer, recordsAt, RECORD_WORDS * exceptions);
    exceptionRows.forEach((row, index) => {
      words.set(records.subarray(RECORD_WORDS * index, RECORD_WORDS * (index + 1)), RECORD_WORDS * row);
    });
    return {words, floats, end};
  }

  #takeSeldom(buffer, at, count, changed, changedRows) {
    if (count !== this.#colors.length) {
      [this.#colors, this.#flagsAndScales, this.#corrections] = [0, 1, 2].map(() => new Uint32Array(count));
    }
    const colors = new Uint32Array(buffer, at, changed);
    const halves = new Uint16Array(buffer, at + 4 * changed, 3 * changed);  // scales, flags, corrections
    for (let index = 0; index < changed; index++) {
      const row = changedRows ? changedRows[index] : index;
      this.#colors[row] = colors[index];
      this.#flagsAndScales[row] = halves[changed + index] | halves[index] << 16;
      this.#corrections[row] = halves[2 * changed + index] << 16;
    }
  }
}

/** Positions from integers of 21 bits: x, y and z of a body are in two words. */
function writePositions(floats, boxes, packed, count) {
  for (let begin = 0, box = 0; begin < count; begin += CHUNK, box += BOX_BYTES) {
    const [firstX, firstY, firstZ] = [0, 8, 16].map((at) => boxes.getFloat64(box + at, true));
    const [stepX, stepY, stepZ] = [24, 28, 32].map((at) => boxes.getFloat32(box + at, true));
    const end = Math.min(begin + CHUNK, count);
    for (let row = begin, at = RECORD_WORDS * begin; row < end; row++, at += RECORD_WORDS) {
      const low = packed[2 * row], high = packed[2 * row + 1];
      floats[at] = (firstX + (low & 0x1fffff)) * stepX;
      floats[at + 1] = (firstY + (low >>> 21 | (high & 0x3ff) << 11)) * stepY;
      floats[at + 2] = (firstZ + (high >>> 10 & 0x1fffff)) * stepZ;
    }
  }
}

/** Unit quaternions from their three smallest components. */
function writeOrientations(floats, halves, count) {
  for (let row = 0, at = 4; row < count; row++, at += RECORD_WORDS) {
    const first = halves[3 * row], second = halves[3 * row + 1], third = halves[3 * row + 2];
    const largest = first >> 15 | second >> 15 << 1;
    const a = ((first & 0x7fff) - COMPONENT_LIMIT) * COMPONENT_SCALE;
    const b = ((second & 0x7fff) - COMPONENT_LIMIT) * COMPONENT_SCALE;
    const c = ((third & 0x7fff) - COMPONENT_LIMIT) * COMPONENT_SCALE;
    const rest = Math.sqrt(Math.max(1 - a * a - b * b - c * c, 0));
    floats[at] = largest === 0 ? rest : a;
    floats[at + 1] = largest === 0 ? a : largest === 1 ? rest : b;
    floats[at + 2] = largest <= 1 ? b : largest === 2 ? rest : c;
    floats[at + 3] = largest === 3 ? rest : c;
  }
}

/** Velocities of each body, from the word `at` of its record. exponentAt: place of their exponent in a box. */
function writeVelocities(floats, at, shares, boxes, exponentAt) {
  for (let index = 0, scale = 1; index < shares.length; index += 3, at += RECORD_WORDS) {
    if (index % (3 * CHUNK) === 0) scale = 2 ** boxes.getInt16(index / (3 * CHUNK) * BOX_BYTES + exponentAt, true);
    for (let axis = 0; axis < 3; axis++) floats[at + axis] = SHARES[shares[index + axis]] * scale;
  }
}

/** The size, rounded up to a multiple. */
function padded(size, multiple) {
  return Math.ceil(size / multiple) * multiple;
}

const COLUMNS = 1, SCENE = 2, CONTENT = 3, SNAPSHOT = 4, OVERLAY = 5;
const FULL = 0, LEAN = 1;
const PREFIX_BYTES = 8;
const HEAD_BYTES = 128;
const RECORD_BYTES = 64;
const VERTEX_BYTES = 12;
const CONTENT_HEAD_BYTES = 40, OVERLAY_HEAD_BYTES = 8;
// Number of bytes of a digest in a scene's tables. The message pads it with zeros to 32 bytes.
const DIGEST_BYTES = 16;
// Number of layouts that are kept. A connection sends one layout at each change of the columns' shapes.
const MOST_LAYOUTS = 64;

// Kinds of columns' values, by numpy's name of the dtype.
const ARRAY_OF = {
  "<f4": Float32Array, "<f8": Float64Array, "<i2": Int16Array, "<i4": Int32Array, "<i8": BigInt64Array,
  "<u2": Uint16Array, "<u4": Uint32Array, "<u8": BigUint64Array, "|i1": Int8Array, "|u1": Uint8Array,
  "|b1": Uint8Array, "<f2": Uint16Array,  // half precision numbers stay as their bits
};
const PERS = ["body", "part", "world"];

/** Decodes the messages of one page, connection after connection. */
export class Decoder {
  #layouts = new Map();
  #lean = new LeanDecoder();
  #originNs = null;

  /** Forgets the layouts, and what lean snapshots build on. Call this when a new connection begins. */
  begin() {
    this.#layouts.clear();
    this.#lean = new LeanDecoder();
  }

  /**
   * Simulated time since the simulated origin, in ns.
   * @param {bigint | string} absoluteNs  simulated time as a BigInt, or as the text of a message of the control
   *     connection
   * @returns {number}
   */
  simNs(absoluteNs) {
    const ns = typeof absoluteNs === "string" ? BigInt(absoluteNs) : absoluteNs;
    this.#originNs ??= ns;
    return Number(ns - this.#originNs);
  }

  /** Text of a simulated time, for a message of the page. simNs: since the simulated origin, in ns. */
  simText(simNs) {
    return String((this.#originNs ?? 0n) + BigInt(Math.round(simNs)));
  }

  /**
   * Decodes one message of the stream.
   * @param {ArrayBuffer} buffer  the message
   * @param {number} after  number of a message; one that is not newer is not decoded
   * @returns {?object} a message with `kind` "columns", "scene", "content", "snapshot" or "overlay", and its `number`;
   *     null if it is not newer
   * @throws {Error} if the bytes are damaged
   */
  decode(buffer, after = 0) {
    if (buffer.byteLength < PREFIX_BYTES) throw damaged(`it has ${buffer.byteLength} bytes`);
    const view = new DataView(buffer);
    const kind = view.getUint8(0), codec = view.getUint8(1), layout = view.getUint16(2, true);
    const number = view.getUint32(4, true);
    if (number <= after) return null;
    switch (kind) {
      case COLUMNS: return {kind: "columns", number, layout, columns: this.#columns(buffer, layout)};
      case SCENE: return {kind: "scene", number, ...sceneOf(buffer, view)};
      case CONTENT: return {kind: "content", number, ...contentOf(buffer, view)};
      case SNAPSHOT: return {kind: "snapshot", number, snapshot: this.#snapshot(buffer, view, codec, layout)};
      case OVERLAY: return {kind: "overlay", number, codec, ...overlayOf(buffer, view)};
      default: throw damaged(`its kind is ${kind}`);
    }
  }

  #columns(buffer, layout) {
    const {columns} = jsonOf(new Uint8Array(buffer, PREFIX_BYTES));
    const isValid = ({name, dtype, width, per}) =>
      typeof name === "string" && dtype in ARRAY_OF && Number.isInteger(width) && width > 0 && PERS.includes(per);
    if (!Array.isArray(columns) || !columns.every((column) => column && isValid(column))) {
      throw damaged("it has an invalid column");
    }
    this.#layouts.delete(layout);
    this.#layouts.set(layout, columns);
    if (this.#layouts.size > MOST_LAYOUTS) this.#layouts.delete(this.#layouts.keys().next().value);
    return columns;
  }

  #snapshot(buffer, view, codec, layout) {
    if (codec !== FULL && codec !== LEAN) throw damaged(`its codec is ${codec}`);
    if (buffer.byteLength < PREFIX_BYTES + HEAD_BYTES) throw damaged(`a snapshot has ${buffer.byteLength} bytes`);
    const columns = this.#layouts.get(layout);
    if (columns === undefined) throw damaged(`its layout ${layout} was not sent`);
    const snapshot = this.#head(view);
    let offset = PREFIX_BYTES + HEAD_BYTES;
    const block = (bytes) => {
      const begin = offset;
      offset += Math.ceil(bytes / 8) * 8;
      if (offset > buffer.byteLength) {
        throw damaged(`a snapshot of ${snapshot.count} bodies has ${buffer.byteLength} bytes`);
      }
      return begin;
    };
    if (codec === LEAN) {
      const {words, floats, end} = this.#leanBodies(buffer, offset, snapshot.count);
      Object.assign(snapshot, {words, floats});
      offset = end;
    } else {
      const bodies = block(snapshot.count * RECORD_BYTES);
      snapshot.words = new Uint32Array(buffer, bodies, snapshot.count * 16);
      snapshot.floats = new Float32Array(buffer, bodies, snapshot.count * 16);
    }
    const marks = block(snapshot.marks * RECORD_BYTES);
    snapshot.markWords = new Uint32Array(buffer, marks, snapshot.marks * 16);
    snapshot.columns = new Map();
    for (const {name, dtype, width, per} of columns) {
      const rows = per === "body" ? snapshot.count : per === "part" ? snapshot.parts : 1;
      const kind = ARRAY_OF[dtype], length = rows * width;
      const values = new kind(buffer, block(length * kind.BYTES_PER_ELEMENT), length);
      snapshot.columns.set(name, {per, dtype, width, values});
    }
    if (offset !== buffer.byteLength) throw damaged(`it has ${buffer.byteLength - offset} bytes too many`);
    return snapshot;
  }

  #leanBodies(buffer, offset, count) {
    try {
      return this.#lean.decode(buffer, offset, count);
    } catch (error) {
      throw damaged(error.message);
    }
  }

  #head(view) {
    const at = (index) => view.getBigInt64(PREFIX_BYTES + 8 * index, true);
    const whole = (index) => Number(at(index));
    const size = (index, name) => {
      const value = whole(index);
      if (!(value >= 0 && value <= 0xffffffff)) throw damaged(`${name} is ${value}`);
      return value;
    };
    const rate = view.getFloat64(PREFIX_BYTES + 32, true);
    if (!Number.isFinite(rate)) throw damaged(`rate is ${rate}`);
    const head = {
      tick: whole(0), simNs: 0, dueNs: whole(2), publishedNs: whole(3), rate, dtNs: whole(5), stepCostNs: whole(6),
      worldEpoch: whole(7), count: size(8, "count"), sceneVersion: whole(9), planNumber: whole(10),
      marks: size(11, "marks"), vertices: size(12, "vertices"), parts: size(13, "parts"),
    };
    if (Math.ceil(head.vertices * VERTEX_BYTES / RECORD_BYTES) > head.marks) throw damaged("it has too many vertices");
    head.simNs = this.simNs(at(1));
    return head;
  }
}

function sceneOf(buffer, view) {
  const bytes = new Uint8Array(buffer, Math.min(buffer.byteLength, PREFIX_BYTES + 8));
  const end = bytes.indexOf(10);
  if (end < 0) throw damaged("a scene has no tables");
  const head = jsonOf(bytes.subarray(0, end));
  const lengths = [head.bodies, head.parents, ...(Array.isArray(head.members) ? head.members : [NaN])];
  if (!lengths.every((length) => Number.isInteger(length) && length >= 0)) throw damaged("a scene has invalid lengths");
  const shapes = 2 * head.bodies;
  const indices = 4 * (2 * head.parents + head.members.reduce((sum, length) => sum + length, 0));
  const from = bytes.byteOffset + end + 1;
  if (from + shapes + indices !== buffer.byteLength) {
    throw damaged(`a scene of ${head.bodies} bodies has ${buffer.byteLength - from} bytes of indices`);
  }
  return {
    version: view.getUint32(8, true),
    cameraVersion: view.getUint32(12, true),
    head,
    shapeIndex: new Uint16Array(buffer.slice(from, from + shapes)),
    indices: new Uint32Array(buffer.slice(from + shapes)),
  };
}

function contentOf(buffer, view) {
  const begin = PREFIX_BYTES + CONTENT_HEAD_BYTES;
  if (buffer.byteLength < begin) throw damaged(`a content has ${buffer.byteLength} bytes`);
  const digest = [...new Uint8Array(buffer, PREFIX_BYTES, DIGEST_BYTES)]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const offset = view.getUint32(40, true), size = view.getUint32(44, true);
  const bytes = new Uint8Array(buffer, begin);
  if (offset + bytes.length > size) {
    throw damaged(`a content of ${size} bytes has a piece that ends at ${offset + bytes.length}`);
  }
  return {digest, offset, size, bytes};
}

function overlayOf(buffer, view) {
  const begin = PREFIX_BYTES + OVERLAY_HEAD_BYTES;
  if (buffer.byteLength <= begin) throw damaged(`an overlay has ${buffer.byteLength} bytes`);
  return {offset: view.getUint32(8, true), size: view.getUint32(12, true), bytes: new Uint8Array(buffer, begin)};
}

function jsonOf(bytes) {
  let value;
  try {
    value = JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(bytes));
  } catch {
    throw damaged("its text is not JSON");
  }
  if (value === null || typeof value !== "object") throw damaged("its text is not a JSON object");
  return value;
}

function damaged(why) {
  return new Error(`a message of the stream is damaged: ${why}`);
}
