/**
 * Estimate of the playback offset for `auto`, and quantiles of a window with the latest values; port of
 * `render/playback/estimator.py`, which gives the reasons, and of a part of `ipc/quantiles.py`.
 */

/** Quantiles of the last `size` values that were added. */
export class QuantileWindow {
  #size;
  #values = [];
  #ordered = [];

  constructor(size) { this.#size = size; }

  add(value) {
    const ordered = this.#ordered;
    if (this.#values.length === this.#size) ordered.splice(bisectLeft(ordered, this.#values.shift()), 1);
    this.#values.push(value);
    ordered.splice(bisectRight(ordered, value), 0, value);
  }

  /** Smallest value v such that at least the fraction `share` of all values is <= v; `unknown` if there is none. */
  quantile(share, unknown = 0) {
    const ordered = this.#ordered;
    if (!ordered.length) return unknown;
    return ordered[Math.min(ordered.length - 1, Math.max(0, Math.ceil(share * ordered.length) - 1))];
  }
}

/** Index of the first element >= `value` of a sorted array. */
export function bisectLeft(ordered, value) {
  let [first, end] = [0, ordered.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (ordered[middle] < value) first = middle + 1;
    else end = middle;
  }
  return first;
}

/** Index of the first element > `value` of a sorted array. */
export function bisectRight(ordered, value) {
  let [first, end] = [0, ordered.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (ordered[middle] <= value) first = middle + 1;
    else end = middle;
  }
  return first;
}

export const MEMORY_NS = 10_000_000_000;  // a required offset is remembered for this time
const BUCKET_NS = 500_000_000;
const FEW = 4;  // with fewer samples, the largest required offset is used instead of the second largest
const STALL_NS = 250_000_000, STALL_INTERVALS = 2.5;  // excess over the median that shows a stall
const STALL_OVER_NS = 3_000_000_000, FALLING_NS = 250_000_000, FALLING_INTERVALS = 4, FALL_NS = 1_000_000;
const STALL_MEMORY_NS = 240_000_000_000, MAX_STALL_OFFSET_NS = 2_000_000_000;
const MARGIN_NS = 300_000, SCATTER_FACTOR = 0.5, SCATTER_MARGIN_MAX_NS = 12_000_000;
const MEDIAN_OF = 31;
const LONG_AGO_NS = -(2 ** 70);
const UNDERRUNS_PER_S = 0.15;  // number of underruns that lost snapshots may cause
const LOSS_MEMORY_NS = 40_000_000_000, LEAST_NS = 2_000_000_000;
const MOST_INTERVALS = 8;  // longer gaps are stalls, not losses
const LATENESSES = 128;

/**
 * Required offset of one arrival, measured at the last frame before it. gapNs: since the previous snapshot; intervals:
 * this gap in intervals at that time; latenessNs: from the due time until a frame could draw the snapshot; widestGap:
 * in intervals, of the snapshots that arrived for the same frame.
 * @typedef {{offsetNs: number, gapNs: number, intervals: number, latenessNs: number, widestGap: number}} RequiredOffset
 */

/** Estimates the playback offset from the two largest required offsets of each half second of the last ten. */
export class OffsetEstimator {
  #buckets = [];  // {sinceNs, top: RequiredOffset[]}
  #recent = [];
  #count = 0;
  #losses = new LossEstimator();
  #longest = new LongestStall();
  #stalledUntilNs = LONG_AGO_NS;
  #lowestNs = 0;  // lowest required offset after the stall began, and the instant of this offset
  #fellAtNs = 0;

  /** Records an arrival. The frame at `nowNs` was the first frame that could draw the snapshot. */
  add(nowNs, required, intervalNs) {
    const {offsetNs, latenessNs, widestGap} = required, buckets = this.#buckets;
    if (this.#count >= FEW) this.#longest.add(nowNs, offsetNs);
    if (this.#isOfStall(nowNs, offsetNs, intervalNs)) return;
    this.#recent.push(offsetNs);
    if (this.#recent.length > MEDIAN_OF) this.#recent.shift();
    this.#losses.add(nowNs, latenessNs, widestGap);
    this.#count++;
    if (widestGap > 1) return;
    if (!buckets.length || nowNs - buckets[buckets.length - 1].sinceNs >= BUCKET_NS) {
      buckets.push({sinceNs: nowNs, top: []});
      while (nowNs - buckets[0].sinceNs > MEMORY_NS) buckets.shift();
    }
    const {top} = buckets[buckets.length - 1];
    top.push(required);
    if (top.length > 2) top.sort((a, b) => b.offsetNs - a.offsetNs).pop();
  }

  /** True if a stall caused this offset, or if the offset belongs to a snapshot that the stall delayed. */
  #isOfStall(nowNs, offsetNs, intervalNs) {
    const recent = this.#recent;
    if (recent.length < FEW - 1) return false;
    const median = Float64Array.from(recent).sort()[recent.length >> 1];
    if (this.#stalledUntilNs === LONG_AGO_NS) {
      if (offsetNs <= median + Math.max(STALL_NS, STALL_INTERVALS * intervalNs)) return false;
      this.#stalledUntilNs = nowNs + STALL_OVER_NS;
      [this.#lowestNs, this.#fellAtNs] = [offsetNs, nowNs];
      return true;
    }
    if (offsetNs < this.#lowestNs - FALL_NS) [this.#lowestNs, this.#fellAtNs] = [offsetNs, nowNs];
    const falls = nowNs - this.#fellAtNs < Math.max(FALLING_NS, FALLING_INTERVALS * intervalNs);
    if (offsetNs > median) {
      if (falls && nowNs < this.#stalledUntilNs) return true;
      recent.length = 0;
    }
    this.#stalledUntilNs = LONG_AGO_NS;
    return false;
  }

  /** Wanted playback offset in ns. scatterNs: usual change of lateness; roomNs: time that is added to the offset. */
  offsetNs(intervalNs, scatterNs, roomNs = 0) {
    let largest = -Infinity, second = -Infinity;
    for (const {top} of this.#buckets) {
      for (const required of top) {
        const value = requiredNowNs(required, intervalNs);
        if (value > largest) [largest, second] = [value, largest];
        else if (value > second) second = value;
      }
    }
    const offsetNs = this.#count >= FEW && second > -Infinity ? second : largest;
    const lostNs = this.#losses.offsetNs(intervalNs);
    if (lostNs !== null && lostNs > offsetNs) return Math.max(0, lostNs + MARGIN_NS + roomNs);
    if (offsetNs === -Infinity) return roomNs;
    const marginNs = MARGIN_NS + Math.min(SCATTER_FACTOR * scatterNs, SCATTER_MARGIN_MAX_NS);
    return Math.max(0, offsetNs + marginNs + roomNs);
  }

  /** Playback offset in ns at which the longest stall of the last minutes would have caused no underrun. */
  stallOffsetNs() {
    const longestNs = this.#longest.valueNs;
    return longestNs === null ? 0 : Math.max(0, longestNs + MARGIN_NS);
  }

  /** New estimator for another time scale. Only the lengths of stalls remain valid. */
  rescaled() {
    const estimator = new OffsetEstimator();
    estimator.#longest = this.#longest;
    return estimator;
  }

  /** Clears the offsets that were required at and after an instant, because they do not predict later ones. */
  forgetSince(instantNs) {
    const buckets = this.#buckets;
    while (buckets.length && buckets[buckets.length - 1].sinceNs >= instantNs) buckets.pop();
    this.#recent.length = 0;
  }
}

/** Required offset in ns, corrected if the interval has become shorter after the measurement. */
function requiredNowNs({offsetNs, gapNs, intervals}, intervalNs) {
  const gapNowNs = intervalNs ? intervals * intervalNs : gapNs;
  return gapNowNs < gapNs ? offsetNs - gapNs + gapNowNs : offsetNs;
}

/** Largest required offset of the last minutes. Offsets above MAX_STALL_OFFSET_NS are ignored. */
class LongestStall {
  #tops = [];  // [instant, largest required offset from then until the next entry]

  get valueNs() { return this.#tops.length ? Math.max(...this.#tops.map(([, offsetNs]) => offsetNs)) : null; }

  add(nowNs, offsetNs) {
    const tops = this.#tops, last = tops[tops.length - 1];
    if (offsetNs > MAX_STALL_OFFSET_NS) return;
    if (last === undefined || nowNs - last[0] >= MEMORY_NS) {
      tops.push([nowNs, offsetNs]);
      while (nowNs - tops[0][0] > STALL_MEMORY_NS) tops.shift();
    } else {
      last[1] = Math.max(last[1], offsetNs);
    }
  }
}

/** Least time in ns from the arrival of a snapshot until a frame shows it. */
export class LeastDrawDelay {
  #beforeNs = -LONG_AGO_NS;
  #nowNs = -LONG_AGO_NS;
  #sinceNs = null;

  /** Records a delay. Returns the least of the recent delays, in ns. */
  leastNs(nowNs, delayNs) {
    if (this.#sinceNs === null || nowNs - this.#sinceNs > MEMORY_NS) {
      [this.#beforeNs, this.#nowNs, this.#sinceNs] = [this.#nowNs, delayNs, nowNs];
    }
    this.#nowNs = Math.min(this.#nowNs, delayNs);
    return Math.min(this.#nowNs, this.#beforeNs);
  }
}

/** Computes the playback offset for lost snapshots, from the gaps of several intervals and the lateness of all. */
export class LossEstimator {
  #latenessesNs = new QuantileWindow(LATENESSES);
  #gaps = [];  // [instant, length in intervals]
  #sinceNs = null;
  #nowNs = 0;

  /** Records a snapshot that came `intervals` intervals after the previous one. */
  add(nowNs, latenessNs, intervals) {
    this.#sinceNs ??= nowNs;
    this.#nowNs = nowNs;
    this.#latenessesNs.add(latenessNs);
    if (intervals > 1) this.#gaps.push([nowNs, intervals]);
    while (this.#gaps.length && nowNs - this.#gaps[0][0] > LOSS_MEMORY_NS) this.#gaps.shift();
  }

  /** Offset in ns at which lost snapshots cause UNDERRUNS_PER_S underruns a second; null if none was lost. */
  offsetNs(intervalNs) {
    if (this.#sinceNs === null || !this.#gaps.length) return null;
    const overS = Math.max(LEAST_NS, Math.min(LOSS_MEMORY_NS, this.#nowNs - this.#sinceNs)) / 1e9;
    const lengths = this.#gaps.map(([, length]) => length);
    let underrunsPerS = 0, chance = 0;
    for (let intervals = Math.min(Math.max(...lengths), MOST_INTERVALS); intervals > 1; intervals--) {
      const count = chance + lengths.filter((length) => length === intervals).length;
      // A single gap of each length may be chance, so this gap counts as one of the next shorter length.
      chance = intervals > 2 ? Math.min(count, 1) : 0;
      const perS = (count - chance) / overS;
      if (underrunsPerS + perS > UNDERRUNS_PER_S) {
        const uncovered = (UNDERRUNS_PER_S - underrunsPerS) / perS;
        return intervals * intervalNs + this.#latenessesNs.quantile(1 - uncovered);
      }
      underrunsPerS += perS;
    }
    return null;
  }
}
