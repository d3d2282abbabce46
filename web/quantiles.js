/** Quantiles of a list of measured values, and of a window with the latest values; port of `ipc/quantiles.py`. */

/**
 * Mean, p50, p90, p99 and max of `values`, in the unit of `values` (Hyndman and Fan 1996, type 7). Values that are not
 * finite are ignored. If there is no measured value, each figure is null, never 0.
 * @param {Iterable<number>} values
 * @returns {{mean: ?number, p50: ?number, p90: ?number, p99: ?number, max: ?number}}
 */
export function distribution(values) {
  const ordered = Float64Array.from([...values].filter(Number.isFinite)).sort();
  if (!ordered.length) return {mean: null, p50: null, p90: null, p99: null, max: null};
  const mean = ordered.reduce((sum, value) => sum + value, 0) / ordered.length;
  const [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1].map((share) => percentile(ordered, share));
  return {mean, p50, p90, p99, max};
}

/** Median of one or more values. */
export function median(values) {
  const ordered = Float64Array.from(values).sort();
  const middle = ordered.length >> 1;
  return ordered.length % 2 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2;
}

/** Quantiles of the last `size` values that were added. */
export class QuantileWindow {
  #size;
  #values = [];
  #ordered = [];

  constructor(size) { this.#size = size; }

  get length() { return this.#values.length; }

  add(value) {
    const ordered = this.#ordered;
    if (this.#values.length === this.#size) ordered.splice(bisectLeft(ordered, this.#values.shift()), 1);
    this.#values.push(value);
    ordered.splice(bisectRight(ordered, value), 0, value);
  }

  clear() { this.#values.length = this.#ordered.length = 0; }

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

function percentile(ordered, share) {
  const at = share * (ordered.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, ordered.length - 1);
  const gap = ordered[above] - ordered[below];
  return at - below < 0.5 ? ordered[below] + gap * (at - below) : ordered[above] - gap * (1 - at + below);
}
