/**
 * Modes of the playback clock: the user's preferences, and the modes `ahead`, `newest-two` and `buffered`; port of
 * `render/playback/modes.py`, which gives the reasons. The mode `auto` has its own module.
 *
 * A mode has `name`, `reason` and three methods. `advanceTo(stream, presentNs, passedNs, drawTimeNs)` proposes the draw
 * time of a frame; drawTimeNs is that of the previous frame, or null. `replanned(stream, drawTimeNs, stretch)` adapts to
 * a new map, whose intervals of wall time are `stretch` times as long. `beginAnew()` clears the statistics of frames.
 */

import {roundEven} from "./stream.js";

export const PREFERENCES = ["latency", "balanced", "smooth"];
const MAX_BUFFER_MS = 60_000;
const TOLERANCE = 1; // number of snapshots in reserve, in addition to the one that is expected next
const CATCH_UP = 0.02, SLOW_DOWN = 0.04;
const THRESHOLD = 1; // number of intervals of drift up to which the playback speed stays 1
const DRIFT_OVER_NS = 1_000_000_000, DEVIATION_OVER_NS = 2_000_000_000; // averaging times
const STOP_NS = 1_000_000_000, STOP_INTERVALS = 4; // a longer gap between snapshots is a stop, not jitter
const FIRST_GAPS = 3; // number of first gaps in which the clock is never ahead of the wanted delay
const SET_TAU_NS = 500_000_000, SET_FAR_NS = 60_000_000, SET_FAR_INTERVALS = 1.2, SET_SPEED = 0.25;

/** The user's choices: response of `auto` to stalls, and delay of `buffered` in ms (null: from measured jitter). */
export class Preferences {
  #prefer;
  #bufferMs;

  constructor(prefer, bufferMs) { [this.prefer, this.bufferMs] = [prefer, bufferMs]; }

  get prefer() { return this.#prefer; }

  set prefer(prefer) {
    if (!PREFERENCES.includes(prefer)) {
      throw new RangeError(`prefer must be one of ${PREFERENCES.join(", ")}, got '${prefer}'`);
    }
    this.#prefer = prefer;
  }

  get bufferMs() { return this.#bufferMs; }

  set bufferMs(bufferMs) {
    if (bufferMs !== null && !(typeof bufferMs === "number" && bufferMs >= 0 && bufferMs <= MAX_BUFFER_MS)) {
      throw new RangeError(`bufferMs must be 0 to ${MAX_BUFFER_MS}, or null to measure the jitter, got ${bufferMs}`);
    }
    this.#bufferMs = bufferMs;
  }
}

/** A duration in ms with one decimal, rounded as Python rounds: exact halves (0.25, 0.75) go to the even digit. */
export function msText(ns) {
  const ms = ns / 1e6;
  return (Number.isInteger(4 * ms) ? roundEven(10 * ms) / 10 : ms).toFixed(1);
}

class StatelessMode {
  replanned() {}

  beginAnew() {}
}

/** Mode `ahead`: draws the simulated time that is due when the frame is shown. */
export class PresentMode extends StatelessMode {
  name = "ahead";
  reason = "drawing the time that is due now";

  advanceTo(stream, presentNs) {
    const isLate = presentNs > stream.newestDueNs;
    this.reason = isLate ? "no newer snapshot: holding" : "drawing the time that is due now";
    return stream.simAt(presentNs);
  }
}

/** Mode `newest-two`: draws between the two newest snapshots, one interval late. */
export class NewestTwoMode extends StatelessMode {
  name = "newest-two";
  reason = "between the two newest snapshots, one interval late";

  advanceTo(stream, presentNs) {
    const dueNs = stream.previousDueNs + (presentNs - stream.newestArrivalNs);
    return stream.simAt(Math.min(dueNs, stream.newestDueNs));
  }
}

/** Mode `buffered`: a fixed delay. The playback speed has one of three values, unless the user sets the delay. */
export class BufferedMode {
  name = "buffered";
  reason = "starting";
  #preferences;
  #drawDueNs = null;
  #arrivals = new ArrivalJitter();
  #newestArrivalNs = null;
  #driftNs = null;
  #gapsLeft = FIRST_GAPS;

  constructor(preferences) { this.#preferences = preferences; }

  advanceTo(stream, presentNs, passedNs, drawTimeNs) {
    this.#drawDueNs = this.#played(stream, presentNs, passedNs, drawTimeNs);
    if (this.#drawDueNs >= stream.limitDueNs) {
      this.#drawDueNs = stream.limitDueNs;
      this.reason = "no newer snapshot: holding";
    }
    return stream.simAt(this.#drawDueNs);
  }

  /** Continues from the draw time, at its due time in the new plan. */
  replanned(stream, drawTimeNs, stretch) {
    this.#driftNs = null;
    if (stretch !== 1) this.#arrivals = new ArrivalJitter();
    if (drawTimeNs !== null) this.#drawDueNs = stream.dueOf(drawTimeNs);
  }

  beginAnew() {}

  #played(stream, presentNs, passedNs, drawTimeNs) {
    const {bufferMs} = this.#preferences, {intervalNs} = stream.rhythm, arrivalNs = stream.newestArrivalNs;
    if (bufferMs !== null) return this.#atDelay(stream, presentNs, passedNs, drawTimeNs, roundEven(bufferMs * 1e6));
    const isNew = arrivalNs !== this.#newestArrivalNs;
    if (isNew) {
      this.#newestArrivalNs = arrivalNs;
      this.#arrivals.add(arrivalNs, intervalNs);
    }
    const lagNs = intervalNs ? roundEven(bufferNs(intervalNs, this.#arrivals.deviationNs)) : 0;
    const targetNs = stream.newestDueNs - lagNs;
    const limited = (dueNs) => Math.max(targetNs - lagNs, Math.min(targetNs + lagNs, dueNs));
    if (this.#drawDueNs === null) return drawTimeNs === null ? targetNs : limited(stream.dueOf(drawTimeNs));
    const playingNs = this.#drawDueNs + roundEven(passedNs * this.#speed(intervalNs, lagNs));
    if (!isNew) return playingNs;
    if (intervalNs) {
      const driftNs = targetNs - playingNs;
      this.#driftNs ??= driftNs;
      this.#driftNs += (driftNs - this.#driftNs) * Math.min(1, intervalNs / DRIFT_OVER_NS);
    }
    let insideNs = limited(playingNs);
    if (this.#gapsLeft && intervalNs) {
      this.#gapsLeft--;
      insideNs = Math.min(insideNs, targetNs);
    }
    if (insideNs !== playingNs) this.#driftNs = targetNs - insideNs;
    return insideNs;
  }

  #speed(intervalNs, lagNs) {
    const drift = intervalNs ? (this.#driftNs ?? 0) / (THRESHOLD * intervalNs) : 0;
    const behind = `${msText(lagNs)} ms behind the newest snapshot`;
    this.reason = behind;
    if (drift > 1) this.reason = `catching up: more than ${behind}`;
    if (drift < -1) this.reason = `slowing down: less than ${behind}`;
    return drift > 1 ? 1 + CATCH_UP : drift < -1 ? 1 - SLOW_DOWN : 1;
  }

  #atDelay(stream, presentNs, passedNs, drawTimeNs, delayNs) {
    this.reason = `${msText(delayNs)} ms behind the time that is due now`;
    if (this.#drawDueNs === null) return drawTimeNs === null ? presentNs - delayNs : stream.dueOf(drawTimeNs);
    const excessNs = presentNs - delayNs - (this.#drawDueNs + passedNs);
    const isFar = Math.abs(excessNs) > Math.max(SET_FAR_NS, SET_FAR_INTERVALS * stream.rhythm.intervalNs);
    const fast = isFar ? SET_SPEED : CATCH_UP, slow = isFar ? SET_SPEED : SLOW_DOWN;
    if (excessNs) this.reason = (excessNs > 0 ? "catching up to " : "slowing down to ") + this.reason;
    const wantedNs = excessNs * Math.min(1, passedNs / SET_TAU_NS);
    return this.#drawDueNs + passedNs + roundEven(Math.max(-slow * passedNs, Math.min(fast * passedNs, wantedNs)));
  }
}

/** Delay behind the newest snapshot, in ns. deviationNs: standard deviation of the time between arrivals. */
function bufferNs(intervalNs, deviationNs) {
  return intervalNs * ((intervalNs + deviationNs) / intervalNs + TOLERANCE);
}

/** Moving standard deviation of the time between arrivals of snapshots. */
class ArrivalJitter {
  #arrivalNs = null;
  #meanNs = null;
  #variance = 0;

  get deviationNs() { return Math.sqrt(this.#variance); }

  /** Records an arrival. intervalNs: usual interval between snapshots; 0 if it is not known yet. */
  add(arrivalNs, intervalNs) {
    const gapNs = this.#arrivalNs === null ? 0 : arrivalNs - this.#arrivalNs;
    if (gapNs > 0 && intervalNs && gapNs < Math.max(STOP_NS, STOP_INTERVALS * intervalNs)) {
      this.#meanNs ??= gapNs;
      const share = Math.min(1, intervalNs / DEVIATION_OVER_NS);
      const offNs = gapNs - this.#meanNs;
      this.#meanNs += share * offNs;
      this.#variance = (1 - share) * (this.#variance + share * offNs * offNs); // West 1979
    }
    this.#arrivalNs = arrivalNs;
  }
}
