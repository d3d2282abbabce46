/**
 * Log of the last frames, and figures about their evenness.
 *
 * `FrameLog` has one row for each frame, in memory that never grows. Its figures have the definitions of the native
 * report (`render/measure`): the animation error of frame i, where j is the frame before it, is
 *   (drawn(i) - drawn(j)) / r(i) - (shown(i) - shown(j))
 * in ms of display time. `shown` is the frame's timestamp. r(i) is the simulated time per second that falls due within
 * half a second around the frame, computed afterwards from the snapshots in the log. Frames within half a second of a
 * pause, a change of the time scale or a reset have no animation error, nor those whose r is unknown or below
 * `LEAST_RATE`; they are counted. Always: a figure that was not measured is null, never 0. Reads no clock.
 */

// Two minutes at 60 Hz.
export const KEPT_FRAMES = 7200;
const HALF_WINDOW_NS = 500e6;
// Snapshots must cover at least this much of the second around a frame; with less, r would be a guess.
const LEAST_COVER_NS = 250e6;
const LEAST_RATE = 0.01;
// A snapshot first seen sooner than this after a change of plan may be due by the plan before.
const STALE_AFTER_CHANGE_NS = 100e6;
// A snapshot whose way takes longer waits for a core that other programs have. Physics cannot make up for it.
const MOST_LEAD_NS = 50e6;
const MODES = ["none", "interpolated", "held", "extrapolated"];

// Columns of numbers. timestampMs: of the animation frame, by the page's clock. Instants in ns are by the server's.
const NUMBERS = [
  "timestampMs", "presentNs", "drawNs", "share", "rate", "playRate", "offsetNs", "roomNs", "drawDueNs",
  "usedPublishedNs", "newestTick", "newestSimNs", "newestDueNs", "newestPublishedNs", "worldEpoch", "planNumber",
  "newestArrivalNs", "planRate", "ageBoundMs", "refreshMs", "workMs", "latenessMs", "messages", "bytes", "held",
];
const TEXTS = ["mode", "reason", "clockMode", "method", "quality"];

/** The rows of the last `KEPT_FRAMES` frames. */
export class FrameLog {
  /** Number of frames since the page began. */
  count = 0;
  #kept;
  #columns = {};
  #rested;

  constructor(kept = KEPT_FRAMES) {
    this.#kept = kept;
    for (const name of NUMBERS) this.#columns[name] = new Float64Array(kept);
    for (const name of TEXTS) this.#columns[name] = new Array(kept).fill("");
    this.#rested = new Uint8Array(kept);
  }

  /**
   * Adds the row of one frame: numbers and texts by the names of `NUMBERS` and `TEXTS`.
   * @param {object} row  a missing number is 0; `mode` is "interpolated", "held", "extrapolated" or "none"
   * @param {boolean} isRested  the page made no frames before this one (hidden, or at its start), so no interval is
   *     computed
   */
  add(row, isRested = false) {
    const at = this.count % this.#kept;
    for (const name of NUMBERS) this.#columns[name][at] = row[name] ?? 0;
    for (const name of TEXTS) this.#columns[name][at] = row[name] ?? "";
    this.#rested[at] = isRested || this.count === 0 ? 1 : 0;
    this.count += 1;
  }

  /** Rows of the last `seconds` as objects, oldest first: for a driver. */
  rows(seconds = Infinity) {
    const indices = this.#indices(seconds);
    return indices.map((at, index) => {
      const row = {frame: this.count - indices.length + index, rested: this.#rested[at] === 1};
      for (const name of [...NUMBERS, ...TEXTS]) row[name] = this.#columns[name][at];
      return row;
    });
  }

  /** Values of one column of the last `seconds`, oldest first. */
  column(name, seconds = Infinity) {
    const column = this.#columns[name];
    return this.#indices(seconds).map((at) => column[at]);
  }

  /**
   * Lead that the frames of the last five seconds needed, in ns, at most MOST_LEAD_NS: from publishing a snapshot to
   * the present instant of the first frame that can draw it. Nine of ten frames needed no more. 0 if it is not known.
   */
  leadNs() {
    const [refreshMs, latenessMs, arrivalNs, publishedNs] = ["refreshMs", "latenessMs", "newestArrivalNs",
      "newestPublishedNs"].map((name) => this.column(name, 5));
    const needNs = refreshMs.map((ms, i) => (
      arrivalNs[i] ? (ms - latenessMs[i]) * 1e6 + arrivalNs[i] - publishedNs[i] : NaN));
    return Math.min(MOST_LEAD_NS, Math.max(0, Math.round(distribution(needNs).p90 ?? 0)));
  }

  /** Figures of the frames of the last `seconds`. See `figuresOf`. */
  figures(seconds = Infinity) {
    const indices = this.#indices(seconds);
    const column = (name) => Float64Array.from(indices, (at) => this.#columns[name][at]);
    const columns = Object.fromEntries(NUMBERS.map((name) => [name, column(name)]));
    columns.mode = Uint8Array.from(indices, (at) => Math.max(0, MODES.indexOf(this.#columns.mode[at])));
    columns.joined = Uint8Array.from(indices, (at, index) => (index && !this.#rested[at] ? 1 : 0));
    return figuresOf(columns);
  }

  #indices(seconds) {
    const kept = Math.min(this.count, this.#kept), indices = [];
    const stamps = this.#columns.timestampMs;
    const newest = (this.count - 1) % this.#kept;
    for (let back = 0; back < kept; back++) {
      const at = (this.count - 1 - back) % this.#kept;
      if (stamps[newest] - stamps[at] > seconds * 1e3) break;
      indices.push(at);
    }
    return indices.reverse();
  }
}

/** Columns of a row that tell how the clock chose the draw time. plan: null before the first. */
export function clockColumns({mode, reason, offsetNs, roomNs, rate, held}, plan) {
  return {
    clockMode: mode, reason, offsetNs, roomNs, playRate: rate, held: Number(held), planNumber: plan?.number ?? 0,
    planRate: plan?.rate ?? 1,
  };
}

/**
 * Columns of a row that tell what was drawn, and what was known. pair: null if nothing was drawn. lastDrawNs: draw time
 * of the frame before. isStale: the picture stands until a fresh snapshot arrives.
 */
export function pairColumns(pair, newest, method, lastDrawNs, isStale) {
  if (pair === null) return {mode: "none", method};
  const {older, newer, share, drawNs} = pair, isBlended = newer !== older && method !== "none";
  return {
    mode: drawNs === lastDrawNs && (!isBlended || isStale) ? "held" : "interpolated", method, drawNs,
    share: isBlended ? share : 0, usedPublishedNs: (isBlended ? newer : older).publishedNs, newestTick: newest.tick,
    newestSimNs: newest.simNs, newestDueNs: newest.dueNs, newestPublishedNs: newest.publishedNs,
    newestArrivalNs: newest.arrivalNs, worldEpoch: newest.worldEpoch, rate: newest.rate,
  };
}

/**
 * Figures of consecutive frames. columns: arrays by the names of `NUMBERS`, `mode` (index in `MODES`), and `joined`: 1
 * where the row before it is the frame before it.
 */
function figuresOf(columns) {
  const {timestampMs, joined, mode, drawNs, presentNs, drawDueNs, usedPublishedNs} = columns;
  const count = timestampMs.length;
  const intervalMs = differences(timestampMs, joined);
  const motion = motionOf(columns);
  const frames = intervalMs.filter(Number.isFinite);
  const seconds = sum(frames) / 1e3;
  const excessMs = intervalMs.map((interval, i) => interval - columns.refreshMs[i]);
  const missed = excessMs.map((excess, i) => Math.max(0, roundToEven(excess / columns.refreshMs[i])));
  const {running, steady} = motion;
  const where = (mask, values) => values.filter((_, i) => mask[i]);
  const age = (instantNs) =>
    distribution(presentNs.map((present, i) => (steady[i] && instantNs[i] ? (present - instantNs[i]) / 1e6 : NaN)));
  return {
    count,
    seconds,
    meanFps: seconds > 0 ? frames.length / seconds : null,
    intervalMs: distribution(intervalMs),
    deviationMs: distribution(excessMs.map(Math.abs)),
    missedRefreshes: frames.length ? sum(missed.filter(Number.isFinite)) : null,
    distinctShare: mean(where(running, motion.stepMs).map((step) => (step !== 0 ? 1 : 0))),
    heldShare: mean(where(running, mode).map((code) => (MODES[code] === "held" ? 1 : 0))),
    reversals: motion.stepMs.filter((step) => step < 0).length,
    changes: motion.changes,
    leftOut: motion.leftOut,
    animationErrorMs: distribution(motion.errorMs.map(Math.abs)),
    sampleAgeMs: age(drawDueNs),
    simToPresentMs: age(usedPublishedNs),
    offsetMs: distribution(where(mode, columns.offsetNs).map((ns) => ns / 1e6)),
    workMs: distribution(columns.workMs),
    rate: distribution(motion.rate),
    drawnMs: count ? (drawNs[count - 1] - drawNs[0]) / 1e6 : null,
  };
}

/** Drawn motion of consecutive frames, as `motion` of `render/measure/evenness.py`. */
function motionOf({timestampMs, presentNs, joined, mode, drawNs, worldEpoch, planRate, ...newest}) {
  const count = timestampMs.length;
  const running = new Uint8Array(count), stepMs = new Float64Array(count).fill(NaN), pair = new Uint8Array(count);
  const changes = [];
  for (let i = 1; i < count; i++) {
    const sameWorld = worldEpoch[i] === worldEpoch[i - 1];
    if (!sameWorld || planRate[i] !== planRate[i - 1]) changes.push(i);
    pair[i] = joined[i] && mode[i] && mode[i - 1] ? 1 : 0;
    if (!pair[i] || !sameWorld) continue;
    stepMs[i] = (drawNs[i] - drawNs[i - 1]) / 1e6;
    running[i] = planRate[i] > 0 && planRate[i - 1] > 0 ? 1 : 0;
  }
  const steady = running.slice();
  for (const change of changes) {
    for (let i = 0; i < count; i++) {
      const sinceNs = presentNs[i] - presentNs[change - 1], untilNs = presentNs[i] - presentNs[change];
      if (sinceNs > -HALF_WINDOW_NS && untilNs < HALF_WINDOW_NS) steady[i] = 0;
    }
  }
  const rate = new Float64Array(count).fill(NaN), errorMs = new Float64Array(count).fill(NaN);
  const edges = [0, ...changes, count];
  for (let part = 0; part + 1 < edges.length; part++) {
    ratesOf(rate, edges[part], edges[part + 1], presentNs, newest);
  }
  let leftOut = 0;
  for (let i = 0; i < count; i++) {
    if (!steady[i]) rate[i] = NaN;
    if (rate[i] >= LEAST_RATE) errorMs[i] = stepMs[i] / rate[i] - (timestampMs[i] - timestampMs[i - 1]);
    if (pair[i] && !Number.isFinite(errorMs[i])) leftOut += 1;
  }
  return {running, steady, stepMs, rate, errorMs, leftOut, changes: changes.length};
}

/** Writes the rate r of the frames from `first` to `end`, between which nothing changed. */
function ratesOf(rate, first, end, presentNs, {newestTick, newestDueNs, newestSimNs}) {
  const points = [];
  for (let i = first; i < end; i++) {
    const isNew = i === first ? first === 0 : newestTick[i] !== newestTick[i - 1];
    const isSettled = first === 0 || presentNs[i] >= presentNs[first] + STALE_AFTER_CHANGE_NS;
    if (isNew && isSettled && newestTick[i] >= 0) points.push([newestDueNs[i], newestSimNs[i]]);
  }
  points.sort((a, b) => a[0] - b[0]);
  const dueNs = [], simNs = [];
  for (const [due, sim] of points) {
    const largest = simNs.length ? Math.max(simNs.at(-1), sim) : sim;
    if (dueNs.at(-1) === due) simNs[simNs.length - 1] = largest;
    else dueNs.push(due), simNs.push(largest);
  }
  if (dueNs.length < 2) return;
  for (let i = first; i < end; i++) {
    const low = Math.max(presentNs[i] - HALF_WINDOW_NS, dueNs[0]);
    const high = Math.min(presentNs[i] + HALF_WINDOW_NS, dueNs.at(-1));
    const cover = high - low;
    if (cover >= LEAST_COVER_NS) rate[i] = (interpolated(dueNs, simNs, high) - interpolated(dueNs, simNs, low)) / cover;
  }
}

/** Piecewise linear map at `x`, which must be within the ascending `xs`. */
function interpolated(xs, ys, x) {
  let low = 0, high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  return ys[low] + ((ys[high] - ys[low]) * (x - xs[low])) / (xs[high] - xs[low]);
}

/** Mean, percentiles (linear between sorted values, as numpy's) and largest of the finite values; null without any. */
export function distribution(values) {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  const at = (percent) => {
    if (!sorted.length) return null;
    const place = ((sorted.length - 1) * percent) / 100, below = Math.floor(place);
    return sorted[below] + (sorted[Math.min(below + 1, sorted.length - 1)] - sorted[below]) * (place - below);
  };
  return {mean: mean(sorted), p50: at(50), p90: at(90), p99: at(99), max: at(100)};
}

/** Interval between refreshes of the display, estimated from the timestamps of animation frames. */
export class RefreshInterval {
  /** Estimate in ms. Before enough frames, that of a display of 60 Hz. */
  ms = 1000 / 60;
  #lastMs = null;
  #intervalsMs = [];
  #disagreeing = 0;

  /** Takes the next frame's timestamp. Frames may be missing between two timestamps. */
  observe(timestampMs) {
    const intervalMs = this.#lastMs === null ? 0 : timestampMs - this.#lastMs;
    this.#lastMs = timestampMs;
    if (!(intervalMs > 1 && intervalMs < 250)) return;
    this.#intervalsMs.push(intervalMs);
    if (this.#intervalsMs.length > REFRESH_FRAMES) this.#intervalsMs.shift();
    // The shortest intervals are single refreshes, longer ones are whole multiples. The tenth percentile stands for the
    // shortest, because a late timestamp makes one interval too short.
    const sorted = this.#intervalsMs.slice().sort((a, b) => a - b);
    const shortestMs = sorted[Math.floor(sorted.length / 10)];
    const isOther = Math.abs(shortestMs / this.ms - 1) > REFRESH_TOLERANCE;
    this.#disagreeing = isOther ? this.#disagreeing + 1 : 0;
    if (isOther && this.#disagreeing < REFRESH_FRAMES / 4) return;
    let time = 0, refreshes = 0;
    for (const interval of sorted) {
      const whole = Math.max(1, Math.round(interval / shortestMs));
      if (Math.abs(interval / shortestMs - whole) > REFRESH_TOLERANCE) continue;
      time += interval;
      refreshes += whole;
    }
    if (refreshes >= 8) this.ms = time / refreshes;
  }
}

const REFRESH_FRAMES = 120;
// Timestamps have steps of 0.1 ms in a page that is not isolated.
const REFRESH_TOLERANCE = 0.15;

function differences(values, joined) {
  return values.map((value, i) => (joined[i] ? value - values[i - 1] : NaN));
}

function roundToEven(value) {
  const rounded = Math.round(value);
  return Math.abs(value % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values) {
  return values.length ? sum(values) / values.length : null;
}
