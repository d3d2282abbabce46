/**
 * Stores the snapshots that the page holds, and finds the two around a draw time.
 *
 * Always: entries are in the order of simulated time, one for each simulated time, all of one world epoch. A state that
 * is published again for the same simulated time replaces the entry. The pair in use is never dropped, and the newest
 * snapshot only for a newer one. When the store is full, snapshots older than the pair in use go first, then single
 * snapshots that are not drawn yet: the one whose neighbours are closest in time.
 */

// Limits of what is held. A clock draws only a few snapshots behind the newest one.
const MOST_SNAPSHOTS = 64;
const MOST_BYTES = 128 * 1024 * 1024;
// Two for the pair in use and one for the next: held even if they exceed the limit of bytes.
const FEWEST_HELD = 3;

// A gap is a standstill if it is longer than this, and has more than so many times the ticks of the gap before.
const STANDSTILL_NS = 1_000_000_000, STANDSTILL_TICKS = 4;

/** Finds the first snapshot after a standstill of the server or of the link, in which many snapshots were left out. */
export class Standstill {
  #last = null;
  #ticks = Infinity;

  /** True for that snapshot. A simulation that publishes seldom, stands still itself or is paused has no standstill. */
  endsWith({tick, publishedNs}) {
    const last = this.#last, ticks = last === null ? Infinity : tick - last.tick;
    const isLong = last !== null && publishedNs - last.publishedNs > STANDSTILL_NS;
    const isEnd = isLong && ticks > STANDSTILL_TICKS * Math.max(1, this.#ticks);
    this.#last = {tick, publishedNs};
    this.#ticks = ticks;
    return isEnd;
  }
}

/** The snapshots of one world, oldest first. */
export class SnapshotStore {
  /** Number of snapshots that were dropped before they were drawn, because the store was full. */
  thinned = 0;
  #entries = [];
  #bytes = 0;
  #worldEpoch = -Infinity;
  #released = [];
  #inUse = [];  // the older and the newer snapshot of each pair of the last frame

  get newest() {
    return this.#entries.at(-1) ?? null;
  }

  get count() {
    return this.#entries.length;
  }

  get bytes() {
    return this.#bytes;
  }

  /**
   * Adds a snapshot. Returns false if nobody will draw it: it is a duplicate, belongs to an older world, or is older
   * than the pair in use. It is then not held, and needs no release.
   */
  add(snapshot) {
    if (snapshot.worldEpoch < this.#worldEpoch) return false;
    if (snapshot.worldEpoch > this.#worldEpoch) {
      this.clear();
      this.#worldEpoch = snapshot.worldEpoch;
    }
    if (this.#inUse.length && this.#inUse.every(({simNs}) => snapshot.simNs < simNs)) return false;
    const entries = this.#entries, index = after(entries, snapshot.simNs);
    const known = index && entries[index - 1].simNs === snapshot.simNs ? entries[index - 1] : null;
    if (known !== null) {
      if (snapshot.tick <= known.tick) return false;
      entries[index - 1] = snapshot;
      this.#inUse = this.#inUse.map((used) => (used === known ? snapshot : used));
      this.#bytes += bytesOf(snapshot) - bytesOf(known);
      this.#released.push(known);
      return true;
    }
    entries.splice(index, 0, snapshot);
    this.#bytes += bytesOf(snapshot);
    while (this.#isFull() && this.#dropOne(snapshot)) {/* until there is room */}
    return true;
  }

  /**
   * The snapshots around a draw time, which become the pair in use. Outside the held times, the first or the last
   * snapshot is drawn alone: then `newer` is `older`, and `share` is 0.
   * @param {number} drawNs  simulated time
   * @param {boolean} isFirst  false if the frame also draws the pairs of the calls before
   * @returns {{before: object | null, older: object, newer: object, share: number, drawNs: number} | null} `drawNs`:
   *     the simulated time that is really drawn; null if nothing is held
   */
  at(drawNs, isFirst = true) {
    const entries = this.#entries;
    if (!entries.length) return null;
    const index = Math.max(0, after(entries, drawNs) - 1);
    const older = entries[index], before = index ? entries[index - 1] : null;
    const next = drawNs < older.simNs ? undefined : entries[index + 1];
    this.#inUse = [...(isFirst ? [] : this.#inUse), older, next ?? older];
    if (next === undefined) return {before, older, newer: older, share: 0, drawNs: older.simNs};
    return {before, older, newer: next, share: (drawNs - older.simNs) / (next.simNs - older.simNs), drawNs};
  }

  /**
   * Drops the snapshots that no later frame needs: those before the one before the draw time's pair. Returns all
   * snapshots that left the store since the last call; their buffers may be used again.
   */
  dropBefore(drawNs) {
    const surplus = after(this.#entries, drawNs) - 2;
    for (let i = 0; i < surplus; i++) this.#remove(0);
    const released = this.#released;
    this.#released = [];
    return released;
  }

  /** Drops all snapshots. Those of older worlds stay refused. */
  clear() {
    this.#released.push(...this.#entries);
    this.#entries = [];
    this.#bytes = 0;
    this.#inUse = [];
  }

  #isFull() {
    const count = this.#entries.length;
    return count > MOST_SNAPSHOTS || (count > FEWEST_HELD && this.#bytes > MOST_BYTES);
  }

  #dropOne(added) {
    const entries = this.#entries, last = entries.length - 1;
    if (this.#inUse.every(({simNs}) => entries[0].simNs < simNs)) {
      this.#remove(0);
      return true;
    }
    let best = -1, leastNs = Infinity;
    for (let i = 1; i < last; i++) {
      const spanNs = entries[i + 1].simNs - entries[i - 1].simNs;
      if (spanNs < leastNs && entries[i] !== added && !this.#inUse.includes(entries[i])) [best, leastNs] = [i, spanNs];
    }
    if (best < 0) return false;
    this.#remove(best);
    this.thinned += 1;
    return true;
  }

  #remove(index) {
    const [snapshot] = this.#entries.splice(index, 1);
    this.#bytes -= bytesOf(snapshot);
    this.#released.push(snapshot);
  }
}

/** Number of entries whose simulated time is at most `simNs`. */
function after(entries, simNs) {
  let low = 0, high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle].simNs <= simNs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Bytes of a snapshot: its message, and its records if they are not in the message. */
function bytesOf({words, markWords}) {
  return words.buffer.byteLength + (markWords.buffer === words.buffer ? 0 : markWords.buffer.byteLength);
}
