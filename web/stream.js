/**
 * Map from wall time to simulated time, and statistics of the stream of snapshots; port of `render/playback/stream.py`,
 * which gives the reasons.
 *
 * Times are whole ns in doubles, below 2^53; only the due time of a snapshot that a pause holds back lies beyond
 * (`FAR_NS`). Always: due time and simulated time never decrease along the map.
 */

import {bisectLeft, bisectRight} from "./estimator.js";

/** Due time (ns) of snapshots that a paused plan holds back. */
export const FAR_NS = 2 ** 70;
export const NEVER_NS = -FAR_NS;
const RATE_BEYOND_NS = 300_000_000;  // averaging time of the rate at which playback extrapolates
const KEPT = 1024;  // number of vertices at which the older half of the map is thinned
const INTERVAL_GAPS = 9;  // the interval is the median of this many gaps
const EVENNESS_GAPS = 16, EVEN_CHANGES = 10;  // the unevenness is the change with this index, of 15 sorted changes
const SCATTER_SHARE = 0.02;  // weight of one snapshot in the mean change of lateness
const REST_GAPS = 4, REST_NS = 200_000_000, ALIKE = 2;
const SLIP_GAPS = 2, SLIP_ON_TIME = 0.25;

/**
 * At the instant `wallNs` the simulated time is `simNs`, and then it advances at `rate` (0: paused); see `ipc/plan.py`.
 * @typedef {{number: number, worldEpoch: number, wallNs: number, simNs: number, rate: number}} Plan
 */

/** Rounds half to even, as Python does. */
export function roundEven(value) {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** Map between due time (wall time) and simulated time, for one world epoch. */
export class Stream {
  #due = [];
  #sim = [];
  #planNumber = [];
  #rate = 1;  // the last rate of a plan that was not 0
  #anchorNs = 0;  // beginning and factor of the last plan that was not a pause
  #stretch = 1;

  constructor(reachNs = 0) {
    this.plan = null;
    this.rhythm = new Rhythm();
    this.longestWaitNs = NEVER_NS;  // longest time that a snapshot was overdue when the next one arrived
    this.widestGap = 1;  // widest gap in snapshots (lost ones count), since its last reset
    this.newestArrivalNs = 0;
    this.reachNs = reachNs;  // simulated time that may be drawn beyond the newest snapshot
    this.stands = false;  // true: the newest snapshot did not advance simulated time
    this.heldSinceNs = null;  // instant from which a paused plan holds simulated time
  }

  get length() { return this.#sim.length; }

  get oldestSimNs() { return this.#sim[0]; }

  get newestSimNs() { return this.#sim[this.#sim.length - 1]; }

  get newestDueNs() { return this.#due[this.#due.length - 1]; }

  get #newestNumber() { return this.#planNumber[this.#planNumber.length - 1]; }

  /** Latest simulated time that may be drawn. */
  get limitSimNs() { return this.newestSimNs + this.reachNs; }

  /** Due time of `limitSimNs` at the current rate. */
  get limitDueNs() {
    if (!this.#goesBeyond || this.newestDueNs >= FAR_NS) return this.newestDueNs;
    return this.newestDueNs + roundEven(this.reachNs / this.#rateBeyond());
  }

  /** Due time of the snapshot before the newest one. */
  get previousDueNs() { return this.#due[Math.max(0, this.#due.length - 2)]; }

  get paused() { return this.heldSinceNs !== null; }

  /** Adds a snapshot. Returns true if it is the newest one. drawTimeNs is null if nothing was drawn yet. */
  observe(simNs, dueNs, arrivalNs, planNumber = null, drawTimeNs = null) {
    const plan = this.plan;
    const number = planNumber ?? (plan === null ? 0 : plan.number - (arrivalNs < plan.wallNs ? 1 : 0));
    // A snapshot of a plan that is not known yet keeps its due time, also in a pause.
    if (plan !== null && simNs > plan.simNs && number < plan.number + (this.paused ? 1 : 0)) {
      dueNs = plan.rate > 0 ? plan.wallNs + roundEven((simNs - plan.simNs) / plan.rate) : FAR_NS;
    } else if (plan !== null && plan.rate > 0 && simNs < plan.simNs && number < plan.number) {
      dueNs = this.#ledUpNs(plan, simNs, dueNs);
    }
    const newest = this.length - 1;
    if (newest >= 0 && simNs <= this.#sim[newest]) {
      const isNewer = simNs === this.#sim[newest] && this.#due[newest] < dueNs && dueNs < FAR_NS;
      if (isNewer && !this.paused) this.#stand(dueNs, arrivalNs);
      else this.#insert(simNs, dueNs, number);
      return false;
    }
    if (newest >= 0) {
      if (drawTimeNs !== null && dueNs < this.newestDueNs && this.newestDueNs < FAR_NS) {
        this.#straighten(drawTimeNs, dueNs);
      }
      // Older vertices of the map cannot fall due after the newer snapshot.
      for (let index = this.length - 1; index >= 0 && this.#due[index] > dueNs; index--) this.#due[index] = dueNs;
      if (dueNs < FAR_NS && this.newestDueNs < FAR_NS) this.#measure(simNs, dueNs, arrivalNs, number);
    }
    this.#append(simNs, dueNs, number);
    this.newestArrivalNs = arrivalNs;
    this.stands = false;
    return true;
  }

  /** Simulated time that falls due at `dueNs`. After the map, its newest plus at most `reachNs`. */
  simAt(dueNs) {
    const due = this.#due, sim = this.#sim;
    const after = bisectRight(due, dueNs), before = after - 1;
    if (after === 0) return sim[0];
    if (after < due.length) return interpolated(dueNs, due[before], due[after], sim[before], sim[after]);
    if (!this.#goesBeyond) return sim[before];
    return sim[before] + Math.min(this.reachNs, roundEven((dueNs - due[before]) * this.#rateBeyond()));
  }

  /** Time at which `simNs` falls due. If simulated time stands still at this value, the last such time. */
  dueOf(simNs) {
    const due = this.#due, sim = this.#sim;
    const after = bisectRight(sim, simNs), before = after - 1;
    if (after === 0) return due[0];
    if (after < sim.length) return interpolated(simNs, sim[before], sim[after], due[before], due[after]);
    if (!this.#goesBeyond || due[before] >= FAR_NS) return due[before];
    return due[before] + roundEven(Math.min(this.reachNs, simNs - sim[before]) / this.#rateBeyond());
  }

  /** Mean rate (simulated time per wall time) over the `overNs` before the newest snapshot fell due. */
  meanRate(overNs) {
    const endNs = this.newestDueNs;
    const first = Math.max(0, Math.min(bisectLeft(this.#due, endNs - overNs), this.length - 2));
    const spanNs = endNs - this.#due[first];
    return spanNs > 0 ? (this.newestSimNs - this.#sim[first]) / spanNs : 0;
  }

  get #goesBeyond() { return this.reachNs > 0 && !this.stands; }

  #rateBeyond() { return this.meanRate(RATE_BEYOND_NS) || this.#rate; }

  /** Maps everything anew that is not drawn yet. Returns the factor by which intervals of wall time became longer. */
  replan(plan, drawTimeNs) {
    let stretch = 1;
    const anchorNs = this.heldSinceNs ?? plan.wallNs;  // due time of the plan's simulated time on the old map
    if (plan.rate > 0) {
      if (this.plan !== null) stretch = this.#rate / plan.rate;
      if (this.length && this.heldSinceNs === null) this.#restBefore(plan);
      [this.#anchorNs, this.#stretch] = [anchorNs, stretch];
      this.#remap(plan, drawTimeNs, anchorNs, stretch);
      this.#rate = plan.rate;
      this.heldSinceNs = null;
      this.rhythm.restart(stretch);
    } else {
      this.#hold(plan);
      this.heldSinceNs ??= plan.wallNs;
    }
    this.plan = plan;
    return stretch;
  }

  /** Holds back all snapshots after the simulated time at which a plan pauses. */
  #hold(plan) {
    const first = bisectRight(this.#sim, plan.simNs);
    this.#due.fill(FAR_NS, first);
    if (first > 0 && first < this.length) this.#vertex(first, plan.wallNs, plan.simNs);
  }

  /** Inserts a rest if physics had stopped and the new plan begins a step after the newest snapshot. */
  #restBefore(plan) {
    const simNs = this.newestSimNs, dueNs = this.newestDueNs;
    const restNs = this.rhythm.restNs(plan.wallNs - dueNs, Math.max(0, plan.simNs - simNs));
    if (restNs && plan.simNs > simNs) this.#append(simNs, dueNs + restNs, this.#newestNumber);
  }

  /** Moves all vertices that are not drawn yet. */
  #remap(plan, drawTimeNs, anchorNs, stretch) {
    if (!this.length) return;
    const due = this.#due, sim = this.#sim;
    if (drawTimeNs !== null) {
      drawTimeNs = Math.min(drawTimeNs, this.newestSimNs);
      const drawnDueNs = Math.min(this.dueOf(drawTimeNs), anchorNs);
      const keep = bisectRight(sim, drawTimeNs);
      due.splice(0, keep, drawnDueNs);
      sim.splice(0, keep, drawTimeNs);
      this.#planNumber.splice(0, keep, 0);
    }
    const after = bisectRight(sim, plan.simNs);
    for (let index = after; index < sim.length; index++) {
      if (this.#planNumber[index] >= plan.number) continue;
      due[index] = plan.wallNs + roundEven((sim[index] - plan.simNs) / plan.rate);
    }
    let dueNs = plan.wallNs, simNs = plan.simNs, oldDueNs = anchorNs;
    for (let index = after - 1; index >= 0; index--) {
      const wasDueNs = Math.min(due[index], oldDueNs);
      const cameNs = (oldDueNs - wasDueNs) * Math.min(stretch, 1);
      dueNs -= roundEven(Math.max((simNs - sim[index]) / plan.rate, cameNs));
      [simNs, oldDueNs, due[index]] = [sim[index], wasDueNs, dueNs];
    }
    for (let index = 1; index < due.length; index++) due[index] = Math.max(due[index], due[index - 1]);
    const isInside = after < sim.length || this.newestSimNs === plan.simNs;
    if (after > 0 && isInside) this.#vertex(after, plan.wallNs, plan.simNs);
  }

  /** Due time of a snapshot that was published before the plan but read after it. `#remap` would give the same. */
  #ledUpNs(plan, simNs, dueNs) {
    const cameNs = Math.max(0, this.#anchorNs - dueNs) * Math.min(this.#stretch, 1);
    return plan.wallNs - roundEven(Math.max((plan.simNs - simNs) / plan.rate, cameNs));
  }

  #vertex(index, dueNs, simNs) {
    dueNs = Math.max(dueNs, this.#due[index - 1]);
    if (index < this.length) dueNs = Math.min(dueNs, this.#due[index]);
    this.#splice(index, simNs, dueNs, this.#planNumber[index - 1]);
  }

  /** Inserts a late snapshot in order, unless it is known, or older than everything that could still be drawn. */
  #insert(simNs, dueNs, number) {
    const index = bisectLeft(this.#sim, simNs);
    if (this.#sim[index] === simNs || index === 0) return;
    this.#splice(index, simNs, Math.min(Math.max(dueNs, this.#due[index - 1]), this.#due[index]), number);
  }

  #splice(index, simNs, dueNs, number) {
    this.#due.splice(index, 0, dueNs);
    this.#sim.splice(index, 0, simNs);
    this.#planNumber.splice(index, 0, number);
  }

  /** Replaces the vertices that would fall due at `dueNs` by a straight line from the draw time. */
  #straighten(drawTimeNs, dueNs) {
    const drawnDueNs = this.dueOf(drawTimeNs);
    const after = bisectRight(this.#sim, drawTimeNs);
    if (after === 0 || after === this.length || drawnDueNs >= dueNs) return;
    const kept = Math.max(after, bisectLeft(this.#due, dueNs));
    this.#due.length = this.#sim.length = this.#planNumber.length = kept;
    if (this.newestSimNs < drawTimeNs) this.#append(drawTimeNs, drawnDueNs, this.#newestNumber);
  }

  /** Extends the newest simulated time up to `dueNs`. Until then simulated time stands still. */
  #stand(dueNs, arrivalNs) {
    const newest = this.length - 1;
    if (newest > 0 && this.#sim[newest - 1] === this.#sim[newest]) this.#due[newest] = dueNs;
    else this.#append(this.#sim[newest], dueNs, this.#planNumber[newest]);
    this.newestArrivalNs = arrivalNs;
    this.stands = true;
  }

  #append(simNs, dueNs, number) {
    if (this.length >= KEPT) {
      const isKept = (_, index) => index >= KEPT / 2 || index % 2 === 0;
      this.#due = this.#due.filter(isKept);
      this.#sim = this.#sim.filter(isKept);
      this.#planNumber = this.#planNumber.filter(isKept);
    }
    this.#splice(this.length, simNs, dueNs, number);
  }

  /** Updates the statistics. Inserts a flat piece into the map for a long rest. */
  #measure(simNs, dueNs, arrivalNs, number) {
    const rhythm = this.rhythm;
    const dueGapNs = dueNs - this.newestDueNs, simGapNs = simNs - this.newestSimNs;
    rhythm.addLateness(arrivalNs - dueNs, dueGapNs, simGapNs);
    this.widestGap = Math.max(this.widestGap, roundEven(rhythm.intervals(dueGapNs, simGapNs)));
    const restNs = rhythm.restNs(dueGapNs, simGapNs);
    if (restNs) {
      this.#append(this.newestSimNs, this.newestDueNs + restNs, number);
      rhythm.addRest(dueGapNs, simGapNs);
    } else {
      rhythm.addGap(dueGapNs, simGapNs);
    }
    this.longestWaitNs = Math.max(this.longestWaitNs, arrivalNs - this.newestDueNs);
  }
}

/** Interval, evenness and scatter of the latest snapshots. Gaps are in ns: of due times, and of simulated time. */
export class Rhythm {
  #gaps = [];  // [dueGapNs, simGapNs]
  #latenessNs = null;
  #rest = null;  // the last gap, if it was a rest

  constructor() {
    this.simIntervalNs = 0;  // recent medians; 0 if fewer than two snapshots are known
    this.intervalNs = 0;
    this.slopeChange = 0;  // usual relative change of the due time per simulated time; 0: all steps are even
    this.meanGapNs = 0;  // of the last EVENNESS_GAPS due gaps
    this.longestGapNs = 0;
    this.scatterNs = 0;  // usual change of lateness from one snapshot to the next
    this.slips = 0;  // number of times that the physics process dropped a debt and moved its due times
  }

  /** Length of a gap in usual gaps: by simulated time or by due time, whichever is smaller; 1 if nothing is known. */
  intervals(dueGapNs, simGapNs) {
    if (!this.simIntervalNs || !this.intervalNs) return 1;
    return Math.min(simGapNs / this.simIntervalNs, dueGapNs / this.intervalNs);
  }

  /** Time in ns for which the world stood still in this gap; 0: no rest. */
  restNs(dueGapNs, simGapNs) {
    if (!this.#gaps.length) return 0;
    const [before] = this.#rest ?? [null];
    if (before !== null && Math.max(before, dueGapNs) <= ALIKE * Math.min(before, dueGapNs)) return 0;
    return this.#exceeds(dueGapNs, simGapNs);
  }

  addRest(dueGapNs, simGapNs) { this.#rest = [dueGapNs, simGapNs]; }

  /** Length of a gap beyond the usual time of its steps; 0 if the gap is too short for a rest. */
  #exceeds(dueGapNs, simGapNs) {
    const stepsNs = this.intervalNs * Math.max(1, roundEven(simGapNs / this.simIntervalNs));
    return dueGapNs > Math.max(REST_GAPS * stepsNs, REST_NS) ? dueGapNs - stepsNs : 0;
  }

  addGap(dueGapNs, simGapNs) {
    if (this.#rest !== null) {
      if (this.#exceeds(dueGapNs, simGapNs)) [this.#gaps, this.slopeChange] = [[this.#rest], 0];
      this.#rest = null;
    }
    const gaps = this.#gaps;
    gaps.push([dueGapNs, simGapNs]);
    if (gaps.length > EVENNESS_GAPS) gaps.shift();
    const recent = gaps.slice(-INTERVAL_GAPS), middle = recent.length >> 1;
    this.intervalNs = sorted(recent.map(([due]) => due))[middle];
    this.simIntervalNs = sorted(recent.map(([, sim]) => sim))[middle];
    if (gaps.length < EVENNESS_GAPS) return;
    const slopes = gaps.map(([due, sim]) => due / sim);
    const changes = slopes.slice(1).map((slope, index) => Math.abs(slope - slopes[index]) / (slopes[index] || 1));
    this.slopeChange = sorted(changes)[EVEN_CHANGES];
    this.meanGapNs = gaps.reduce((sum, [due]) => sum + due, 0) / gaps.length;
    this.longestGapNs = Math.max(...gaps.map(([due]) => due));
  }

  /** Records a snapshot that came `latenessNs` after its due time. The gaps begin at the previous snapshot. */
  addLateness(latenessNs, dueGapNs, simGapNs) {
    const before = this.#latenessNs, intervalNs = this.intervalNs;
    this.#latenessNs = latenessNs;
    if (before === null) return;
    this.scatterNs += SCATTER_SHARE * (Math.min(Math.abs(latenessNs - before), intervalNs) - this.scatterNs);
    const movedOver = dueGapNs > SLIP_GAPS * intervalNs && this.intervals(dueGapNs, simGapNs) < 1.5;
    if (movedOver && before > intervalNs && Math.abs(latenessNs) < SLIP_ON_TIME * intervalNs) this.slips++;
  }

  /** Clears the gaps between snapshots, because later gaps are `stretch` times as long. */
  restart(stretch) {
    [this.#gaps, this.#rest, this.slopeChange] = [[], null, 0];
    this.intervalNs = roundEven(this.intervalNs * stretch);
  }
}

/** y at `x` on the line from (x0, y0) to (x1, y1), rounded down. x0 <= x < x1, y0 <= y1; all are whole numbers. */
function interpolated(x, x0, x1, y0, y1) {
  const product = (x - x0) * (y1 - y0);
  if (product <= Number.MAX_SAFE_INTEGER && x1 < FAR_NS) return y0 + Math.floor(product / (x1 - x0));
  const start = BigInt(x0), low = BigInt(y0);
  return Number(low + ((BigInt(x) - start) * (BigInt(y1) - low)) / (BigInt(x1) - start));
}

function sorted(values) { return values.sort((a, b) => a - b); }
