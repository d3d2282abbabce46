/** Quantiles of a window with the latest values, and binary searches; port of a part of `ipc/quantiles.py`. */

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
