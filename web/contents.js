/**
 * Meshes and textures of scenes, collected from pieces by digest.
 *
 * Contents stay as long as they fit, also when a scene no longer names them, because the server sends each content only
 * once on a connection. If a scene names more than the page can hold, its meshes come first, and the rest is not kept.
 *
 * Always: the sizes of all kept contents, complete or not, are at most `mostBytes` together. Pure.
 */

/** Largest number of bytes of all contents. The meshes and textures of one scene have at most 56 MiB. */
const MOST_BYTES = 128 << 20;
const MIB = 1 << 20;

/**
 * @typedef {Object} Mesh
 * @property {Float32Array} vertices 3 a vertex, metres.
 * @property {Uint32Array} faces Indices of vertices, 3 a face.
 * @property {?Float32Array} normals 3 a vertex.
 * @property {?Float32Array} uv Texture coordinates, 2 a vertex.
 * @property {boolean} deforms
 * @property {number} reach Largest distance between a vertex and the origin, metres.
 */
/**
 * @typedef {Object} Texture
 * @property {Uint8Array} pixels The top row first.
 * @property {number[]} shape Height, width, channels; of a cube texture 6, height, width, channels.
 * @property {boolean} hasAlpha True if at least one pixel is not opaque.
 */

export class Contents {
  #mostBytes;
  #kept = new Map();  // by digest, the contents that were named longest ago first
  #named = new Map();  // what the scene names: by digest, the entries of its tables
  #lost = new Set();  // digests of contents of which the page dropped a piece on this connection

  /** @param {number} mostBytes Largest number of bytes of all contents; less for a small device. */
  constructor(mostBytes = MOST_BYTES) {
    this.#mostBytes = mostBytes;
    /** Text for the user about contents that are left out; "" if there are none. */
    this.trouble = "";
  }

  /**
   * A new connection begins.
   * @returns {string[]} Digests of the complete contents, for `have` in the hello.
   */
  begin() {
    this.#lost.clear();
    return [...this.#kept].filter(([, one]) => one.isComplete).map(([digest]) => digest);
  }

  /**
   * A scene arrived. Makes room for its contents.
   * @param {Object} head The JSON of the scene's tables.
   */
  announce({meshes, textures}) {
    const entries = [
      ...meshes.map((entry) => ({...entry, size: meshBytes(entry.lengths)})),
      ...textures.map((entry) => ({...entry, size: entry.shape.reduce((size, side) => size * side, 1)})),
    ];
    this.#named = new Map();
    let size = 0, leftOut = 0, leftOutBytes = 0;
    for (const entry of entries) {
      if (this.#named.has(entry.digest)) continue;
      if (size + entry.size > this.#mostBytes) {
        leftOut++;
        leftOutBytes += entry.size;
        continue;
      }
      size += entry.size;
      this.#named.set(entry.digest, entry);
    }
    const whole = (bytes) => Math.ceil(bytes / MIB);
    this.trouble = leftOut === 0 ? "" :
      `${leftOut} meshes or textures (${whole(leftOutBytes)} MiB) are left out: this page holds ` +
      `${whole(this.#mostBytes)} MiB`;
    for (const [digest, entry] of this.#named) {
      const known = this.#kept.get(digest);
      const one = known?.bytes.length === entry.size ? known : new Content(entry.size);
      this.#kept.delete(digest);
      this.#kept.set(digest, one);  // the newest come last
      one.describe(entry);
    }
    for (const digest of [...this.#kept.keys()]) {
      if (this.bytes <= this.#mostBytes) break;
      if (this.#named.has(digest)) continue;
      this.#kept.delete(digest);
      this.#lost.add(digest);
    }
  }

  /**
   * Adds a piece of a content (docs/wire.md, kind 3).
   * @param {{digest: string, offset: number, size: number, bytes: Uint8Array}} piece
   * @returns {boolean} True if the content has become complete.
   */
  add({digest, offset, size, bytes}) {
    const one = this.#kept.get(digest);
    if (one === undefined) {
      this.#lost.add(digest);
      return false;
    }
    if (one.isComplete || size !== one.bytes.length) return false;
    if (offset === 0) one.received = 0;
    if (offset !== one.received || offset + bytes.length > size) return false;
    one.bytes.set(bytes, offset);
    one.received += bytes.length;
    if (!one.isComplete) return false;
    one.parse();
    return true;
  }

  /** Number of bytes of all kept contents. */
  get bytes() {
    let sum = 0;
    for (const one of this.#kept.values()) sum += one.bytes.length;
    return sum;
  }

  /** True if everything that the scene names and that is not left out has arrived. */
  get isComplete() {
    return [...this.#named.keys()].every((digest) => this.#kept.get(digest).isComplete);
  }

  /** Bytes that have arrived and bytes in all, of what the scene names. */
  get progress() {
    let received = 0, size = 0;
    for (const digest of this.#named.keys()) {
      const one = this.#kept.get(digest);
      received += one.received;
      size += one.bytes.length;
    }
    return {received, size};
  }

  /**
   * True if the scene names a content that the server has sent on this connection and that the page has dropped. The
   * server does not send it again, so the page must connect again.
   */
  get isLost() {
    return [...this.#named.keys()].some((digest) => this.#lost.has(digest) && !this.#kept.get(digest).isComplete);
  }

  /**
   * @param {string} digest
   * @returns {?Mesh} Null until the mesh is complete.
   */
  mesh(digest) {
    return this.#kept.get(digest)?.mesh ?? null;
  }

  /**
   * @param {string} digest
   * @returns {?Texture} Null until the texture is complete.
   */
  texture(digest) {
    return this.#kept.get(digest)?.texture ?? null;
  }
}

/** One content. bytes: its memory. received: number of bytes from the start that have arrived. */
class Content {
  constructor(size) {
    this.bytes = new Uint8Array(size);
    this.received = 0;
    this.mesh = this.texture = this.entry = null;
  }

  get isComplete() {
    return this.received === this.bytes.length;
  }

  /** Sets what the scene's table says about the content. */
  describe(entry) {
    this.entry = entry;
    if (this.isComplete && this.mesh === null && this.texture === null) this.parse();
  }

  /** Makes the arrays of a mesh, or the texture, when all bytes are there. */
  parse() {
    const {lengths, shape, deforms} = this.entry;
    if (lengths === undefined) {
      this.texture = {pixels: this.bytes, shape, hasAlpha: hasAlpha(this.bytes, shape.at(-1))};
      return;
    }
    const [vertices, faces, hasNormals, hasUv] = lengths;
    let offset = 0;
    const next = (Kind, length) => {
      const array = new Kind(this.bytes.buffer, offset, length);
      offset += array.byteLength;
      return array;
    };
    this.mesh = {
      vertices: next(Float32Array, 3 * vertices), faces: next(Uint32Array, 3 * faces),
      normals: hasNormals ? next(Float32Array, 3 * vertices) : null,
      uv: hasUv ? next(Float32Array, 2 * vertices) : null,
      deforms,
    };
    this.mesh.reach = reachOf(this.mesh.vertices);
  }
}

function meshBytes([vertices, faces, hasNormals, hasUv]) {
  return 12 * (vertices + faces) + (hasNormals ? 12 * vertices : 0) + (hasUv ? 8 * vertices : 0);
}

function hasAlpha(pixels, channels) {
  if (channels !== 4) return false;
  for (let at = 3; at < pixels.length; at += 4) if (pixels[at] < 255) return true;
  return false;
}

function reachOf(vertices) {
  let most = 0;
  for (let at = 0; at < vertices.length; at += 3) {
    most = Math.max(most, vertices[at] ** 2 + vertices[at + 1] ** 2 + vertices[at + 2] ** 2);
  }
  return Math.sqrt(most);
}
