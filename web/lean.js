/**
 * Decodes the bodies of lean snapshots into full records. docs/wire.md has the layout, and relay/stream/lean.py is the
 * reference.
 *
 * Always: the records are bit-equal with those of the reference.
 */

const CHUNK = 256;
const HEAD_BYTES = 16, BOX_BYTES = 40, RECORD_WORDS = 16, SELDOM_BYTES = 10;
const VELOCITIES = 1, ANGULAR_VELOCITIES = 2;
const COMPONENT_LIMIT = (1 << 14) - 1;
const COMPONENT_SCALE = Math.sqrt(0.5) / COMPONENT_LIMIT;

/** Values of all half floats, by their bits. */
const HALF_VALUES = new Float32Array(1 << 16);
for (let bits = 0; bits < HALF_VALUES.length; bits++) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent === 0x1f) HALF_VALUES[bits] = fraction ? NaN : sign * Infinity;
  else HALF_VALUES[bits] = sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

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
    if (buffer.byteLength < offset + HEAD_BYTES) throw new Error(`a lean block of ${buffer.byteLength - offset} bytes`);
    const [encoded, fields, exceptions, changed] = new Uint32Array(buffer, offset, 4);
    if (encoded !== count) throw new Error(`a lean block of ${encoded} bodies in a snapshot of ${count}`);
    if (changed > count || (changed < count && count !== this.#colors.length)) {
      throw new Error(`${changed} changed rows of ${count}, but ${this.#colors.length} are known`);
    }
    const boxesAt = offset + HEAD_BYTES;
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
    writePositions(floats, new DataView(buffer, boxesAt, positionsAt - boxesAt),
      new Uint32Array(buffer, positionsAt, 2 * count), count);
    writeOrientations(floats, new Uint16Array(buffer, orientationsAt, 3 * count), count);
    if (fields & VELOCITIES) writeHalves(floats, 8, new Uint16Array(buffer, velocitiesAt, 3 * count));
    if (fields & ANGULAR_VELOCITIES) writeHalves(floats, 12, new Uint16Array(buffer, angularAt, 3 * count));
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
    return { words, floats, end };
  }

  #takeSeldom(buffer, at, count, changed, changedRows) {
    if (count !== this.#colors.length) {
      [this.#colors, this.#flagsAndScales, this.#corrections] = [0, 1, 2].map(() => new Uint32Array(count));
    }
    const colors = new Uint32Array(buffer, at, changed);
    const halves = new Uint16Array(buffer, at + 4 * changed, 3 * changed); // scales, flags, corrections
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

/** Three half floats of each body, from the word `at` of its record. */
function writeHalves(floats, at, halves) {
  for (let index = 0; index < halves.length; index += 3, at += RECORD_WORDS) {
    floats[at] = HALF_VALUES[halves[index]];
    floats[at + 1] = HALF_VALUES[halves[index + 1]];
    floats[at + 2] = HALF_VALUES[halves[index + 2]];
  }
}

/** The size, rounded up to a multiple. */
function padded(size, multiple) {
  return Math.ceil(size / multiple) * multiple;
}
