/**
 * Modes of the playback clock: the user's preferences, and the modes `ahead`, `newest-two`, `buffered` and `auto`; port
 * of `render/playback/modes.py` and `render/playback/auto.py`, which give the reasons.
 *
 * A mode has `name`, `reason` and three methods. `advanceTo(stream, presentNs, passedNs, drawTimeNs)` proposes the
 * draw time of a frame; drawTimeNs is that of the previous frame, or null. `replanned(stream, drawTimeNs, stretch)`
 * adapts to a new map, whose intervals of wall time are `stretch` times as long. `beginAnew()` clears the statistics of
 * frames.
 */

import {LeastDrawDelay, OffsetEstimator} from "./estimator.js";
import {NEVER_NS, roundEven} from "./stream.js";

export const PREFERENCES = ["latency", "balanced", "smooth"];
const MAX_BUFFER_MS = 60_000;
const TOLERANCE = 1;  // number of snapshots in reserve, in addition to the one that is expected next
const CATCH_UP = 0.02, SLOW_DOWN = 0.04;
const THRESHOLD = 1;  // number of intervals of drift up to which the playback speed stays 1
const DRIFT_OVER_NS = 1_000_000_000, DEVIATION_OVER_NS = 2_000_000_000;  // averaging times
const STOP_NS = 1_000_000_000, STOP_INTERVALS = 4;  // a longer gap between snapshots is a stop, not jitter
const FIRST_GAPS = 3;  // number of first gaps in which the clock is never ahead of the wanted delay
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
function msText(ns) {
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
      this.#variance = (1 - share) * (this.#variance + share * offNs * offNs);  // West 1979
    }
    this.#arrivalNs = arrivalNs;
  }
}

const SLEW = 0.03, SLEW_TAU_NS = 500_000_000;  // the playback speed is within 1 +- SLEW while the excess is small
const DEBT_NS = 60_000_000, DEBT_INTERVALS = 1.2, DEBT_SPEED = 0.5;  // a larger excess is a debt
const SLOW_FRAME_NS = 100_000_000;  // a longer frame is not seen as motion
const ROOM_NS = 33_000_000, ROOM_INTERVALS = 0.5;  // time behind the newest snapshot of the preference `balanced`
const ESTIMATE_EVERY = 4;  // arrivals
const DEBT_MEMORY_NS = 1_000_000_000;  // offsets of this time before a dropped debt are discarded
// Brake
const GAIN_PER_NS = 24e-9;  // largest acceleration after a stop
const STOPPED = 0.1, STOOD_NS = 30_000_000, STARTED = 1.3;
const FULL_BRAKING = 0.75, LEAST_SPEED = 0.4, KEPT_SHARE = 0.4, REMAINDER_NS = 200_000;
// SteadyRate
const EVEN = 0.03, UNEVEN = 0.08;  // limits of the relative change of the interval
const UNSEEN_NS = 1_000_000, SEEN_NS = 4_000_000;  // limits of this change in wall time
const RELEASE_TAU_NS = 1_500_000_000, RATE_TAU_NS = 30_000_000;
const MEANS_OVER_NS = [500_000_000, 2_000_000_000];
const PULL_TAU_NS = 1_000_000_000, PULL_MAX = 0.5;
const RESERVE_INTERVALS = 0.9, LEAST_LASTING_NS = 10_000_000;

/** Mode `auto`: plays at an offset behind the present time. */
export class AutoMode {
  reason = "starting";
  #preferences;
  #estimator = new OffsetEstimator();
  #drawDelay = new LeastDrawDelay();
  #drawDueNs = null;  // due time of the last draw time
  #newestSimNs = null;
  #newestDueNs = 0;
  #shortfallNs = 0;  // at the last frame: present time minus due time of the newest snapshot
  #wantedNs = 0;
  #unestimated = 0;
  #slips = 0;
  #inDebt = false;
  #debtSpeed = DEBT_SPEED;
  #steady = new SteadyRate();
  #brake = new Brake();

  constructor(preferences) { this.#preferences = preferences; }

  get name() { return this.#wantedNs <= 0 ? "ahead" : "late"; }

  advanceTo(stream, presentNs, passedNs, drawTimeNs) {
    this.#learn(stream, presentNs, passedNs);
    const limitNs = stream.limitDueNs, wantedNs = roundEven(this.#wantedNs);
    let beforeNs = this.#drawDueNs, playingNs;
    if (beforeNs === null) {
      playingNs = drawTimeNs === null ? presentNs - wantedNs : stream.dueOf(drawTimeNs);
    } else {
      // After a gap, snapshots fall due later than was expected.
      if (drawTimeNs !== null && stream.simAt(beforeNs) < drawTimeNs) beforeNs = stream.dueOf(drawTimeNs);
      const advance = passedNs * this.#speed(stream, beforeNs, presentNs, passedNs);
      playingNs = beforeNs + roundEven(this.#brake.softStart(advance, passedNs));
      if (this.#inDebt && drawTimeNs !== null) {
        // While the world rests nothing moves, so playback skips its debt at once.
        playingNs = Math.max(playingNs, Math.min(stream.dueOf(drawTimeNs), presentNs - wantedNs));
      }
      playingNs = this.#steadied(stream, drawTimeNs, playingNs, passedNs, presentNs);
      playingNs = beforeNs
        + this.#brake.beforeEnd(playingNs - beforeNs, limitNs - beforeNs, passedNs, this.#roomNs(stream));
    }
    if (playingNs >= limitNs) {
      playingNs = limitNs;
      this.reason = stream.stands ? "simulated time is stopped" : "no newer snapshot: holding";
    } else if (playingNs > stream.newestDueNs) {
      this.reason = "no newer snapshot: extrapolating";
    }
    if (beforeNs !== null) this.#brake.played(playingNs - beforeNs, passedNs);
    this.#drawDueNs = playingNs;
    return stream.simAt(playingNs);
  }

  /** Continues from the draw time, at its due time in the new plan. */
  replanned(stream, drawTimeNs, stretch) {
    if (stretch !== 1) {
      this.#estimator = this.#estimator.rescaled();
      const roomNs = Math.min(this.#roomNs(stream), this.#wantedNs);
      this.#wantedNs = roomNs + (this.#wantedNs - roomNs) * stretch;
      this.#unestimated = ESTIMATE_EVERY;
      this.#debtSpeed = Math.max(DEBT_SPEED, stretch - 1);
    }
    this.#newestSimNs = null;
    [this.#brake, this.#steady] = [new Brake(), new SteadyRate()];
    if (drawTimeNs === null) return;
    this.#drawDueNs = stream.dueOf(drawTimeNs);
    if (stretch !== 1 && stream.plan !== null) {
      this.#wantedNs = Math.min(this.#wantedNs, Math.max(0, stream.plan.wallNs - this.#drawDueNs));
    }
  }

  /** Clears the statistics of the start-up frames. */
  beginAnew() { [this.#estimator, this.#unestimated] = [new OffsetEstimator(), 0]; }

  /** Wall time in ns by which playback should still be behind the newest snapshot when the next one arrives. */
  #roomNs(stream) {
    if (this.#preferences.prefer !== "balanced") return 0;
    return Math.max(ROOM_NS, roundEven(ROOM_INTERVALS * stream.rhythm.intervalNs));
  }

  #learn(stream, presentNs, passedNs) {
    const {newestSimNs, newestDueNs, newestArrivalNs, rhythm} = stream;
    if (newestSimNs !== this.#newestSimNs) {
      const gapNs = newestDueNs - this.#newestDueNs;
      if (this.#newestSimNs !== null && gapNs >= 0) {
        const shortfallNs = this.#shortfallNs;
        const requiredNs = Math.max(shortfallNs, Math.min(stream.longestWaitNs, shortfallNs + passedNs));
        if (rhythm.slips === this.#slips) {
          const drawDelayNs = this.#drawDelay.leastNs(presentNs, presentNs - newestArrivalNs);
          const latenessNs = drawDelayNs + (newestArrivalNs - newestDueNs);
          const intervals = rhythm.intervals(gapNs, newestSimNs - this.#newestSimNs);
          const required = {offsetNs: requiredNs, gapNs, intervals, latenessNs, widestGap: stream.widestGap};
          this.#estimator.add(presentNs, required, rhythm.intervalNs);
        } else {
          // The physics process dropped its debt. Discard the offsets that the debt caused.
          this.#slips = rhythm.slips;
          this.#estimator.forgetSince(presentNs - DEBT_MEMORY_NS);
        }
        this.#unestimated++;
        if (requiredNs > this.#wantedNs || this.#unestimated >= ESTIMATE_EVERY) {
          this.#unestimated = 0;
          this.#wantedNs = this.#wanted(stream);
        }
      }
      [this.#newestSimNs, this.#newestDueNs] = [newestSimNs, newestDueNs];
      [stream.longestWaitNs, stream.widestGap] = [NEVER_NS, 1];
    } else if (stream.stands) {
      this.#newestDueNs = newestDueNs;
    }
    this.#shortfallNs = presentNs - newestDueNs;
  }

  #wanted(stream) {
    const {intervalNs, scatterNs} = stream.rhythm;
    const wantedNs = this.#estimator.offsetNs(intervalNs, scatterNs, this.#roomNs(stream));
    return this.#preferences.prefer === "smooth" ? Math.max(wantedNs, this.#estimator.stallOffsetNs()) : wantedNs;
  }

  /** If steps are uneven, the due time that playback at their mean rate reaches, or a time between both. */
  #steadied(stream, drawTimeNs, playingNs, passedNs, presentNs) {
    const share = this.#steady.share(stream, passedNs);
    if (share <= 0 || drawTimeNs === null) return playingNs;
    let roomNs = this.#roomNs(stream);
    if (this.#preferences.prefer === "smooth") {
      roomNs = Math.max(0, roundEven(this.#estimator.stallOffsetNs()) - stream.rhythm.longestGapNs);
    }
    const stepNs = this.#steady.advance(stream, drawTimeNs, passedNs, presentNs, roomNs);
    const alongMapNs = Math.max(0, stream.simAt(playingNs) - drawTimeNs);
    this.reason = "steps of uneven length: playing at their mean rate";
    return stream.dueOf(drawTimeNs + roundEven(share * stepNs + (1 - share) * alongMapNs));
  }

  /** Playback speed relative to the wall clock (1: simulated time passes as planned). */
  #speed(stream, playingNs, presentNs, passedNs) {
    const excessNs = presentNs - passedNs - playingNs - this.#wantedNs;
    const debtNs = Math.max(DEBT_NS, DEBT_INTERVALS * stream.rhythm.intervalNs);
    this.#inDebt = excessNs > debtNs;
    let limit = SLEW;
    if (Math.abs(excessNs) > debtNs) {
      limit = excessNs > 0 ? this.#debtSpeed : DEBT_SPEED;
      this.reason = excessNs > 0 ? "catching up" : "slowing down";
    } else {
      this.#debtSpeed = DEBT_SPEED;
      this.reason = this.#wantedNs <= 0
        ? "snapshots arrive before they are due"
        : `snapshots arrive late: playing ${msText(this.#wantedNs)} ms behind`;
    }
    const speed = Math.max(-limit, Math.min(limit * Math.max(1, passedNs / SLOW_FRAME_NS), excessNs / SLEW_TAU_NS));
    // A single frame must not overshoot the wanted offset, however long the frame was.
    const overshoots = passedNs > 0 && Math.abs(speed * passedNs) > Math.abs(excessNs);
    return 1 + (overshoots ? excessNs / passedNs : speed);
  }
}

/** Limits a frame's advance by the speed of the previous frame, and by the time left before the newest snapshot. */
export class Brake {
  #speed = 1;
  #starting = false;
  #stoppedNs = 0;

  /** Returns `advance` (the time that the frame plays), or less while playback accelerates after a stop. */
  softStart(advance, passedNs) {
    return this.#starting ? Math.min(advance, passedNs * (this.#speed + GAIN_PER_NS * passedNs)) : advance;
  }

  /** Returns `advance`, or less if only `leftNs` is left: at most sqrt(left / room), then a constant deceleration. */
  beforeEnd(advance, leftNs, passedNs, roomNs) {
    if (0 < leftNs && leftNs < roomNs) {
      advance = Math.min(advance, roundEven(passedNs * Math.sqrt(leftNs / roomNs)));
      if (leftNs < FULL_BRAKING * roomNs) {
        let speed = Math.max(LEAST_SPEED, Math.min(1, this.#speed));
        speed -= (speed * speed) / ((2 * leftNs) / Math.max(passedNs, 1) + speed);
        advance = Math.min(advance, roundEven(passedNs * speed));
      }
    } else if (advance >= leftNs && leftNs > REMAINDER_NS) {
      advance = roundEven(leftNs - KEPT_SHARE * Math.min(leftNs, advance - leftNs));
    }
    return advance;
  }

  /** Records the advance (the time that the frame played). */
  played(advance, passedNs) {
    if (passedNs <= 0) return;
    this.#speed = advance / passedNs;
    this.#stoppedNs = this.#speed < STOPPED ? this.#stoppedNs + passedNs : 0;
    this.#starting = this.#stoppedNs > STOOD_NS || (this.#starting && this.#speed < STARTED);
  }
}

/** Mean rate of uneven steps, and its weight. The rest of the weight is that of the map. */
class SteadyRate {
  #rate = null;
  #share = 0;

  /** Weight of the mean rate, from 0 to 1; it is 0 if steps are even. */
  share(stream, passedNs) {
    const relative = stream.rhythm.slopeChange;
    if (relative <= EVEN && this.#share === 0) return 0;
    const changeNs = relative * stream.rhythm.intervalNs;
    const now = Math.min(1, (relative - EVEN) / (UNEVEN - EVEN), (changeNs - UNSEEN_NS) / (SEEN_NS - UNSEEN_NS));
    const released = this.#share * Math.exp(-passedNs / RELEASE_TAU_NS);
    this.#share = Math.max(now, released > 0.01 ? released : 0);
    return this.#share;
  }

  /** Simulated time in ns, >= 0, to play in the `passedNs` of wall time before `presentNs`. roomNs: reserve. */
  advance(stream, drawTimeNs, passedNs, presentNs, roomNs) {
    const {longestGapNs, meanGapNs, simIntervalNs} = stream.rhythm;
    const mean = MEANS_OVER_NS.reduce((sum, overNs) => sum + stream.meanRate(overNs), 0) / MEANS_OVER_NS.length;
    this.#rate ??= mean;
    this.#rate += (mean - this.#rate) * -Math.expm1(-passedNs / RATE_TAU_NS);
    const rate = Math.max(this.#rate, 1e-9);
    const leftNs = stream.newestSimNs - drawTimeNs;
    const sinceNs = Math.max(0, presentNs - stream.newestDueNs);
    // The step that the physics process is computing counts by the share of it that is probably completed.
    const underWayNs = Math.min(sinceNs / Math.max(1, meanGapNs), 1) * simIntervalNs;
    const goalNs = rate * (longestGapNs + RESERVE_INTERVALS * meanGapNs + roomNs);
    const pull = Math.max(-PULL_MAX, Math.min(PULL_MAX, (leftNs + underWayNs - goalNs) / (rate * PULL_TAU_NS)));
    const lastsNs = Math.max(LEAST_LASTING_NS, longestGapNs - sinceNs);
    return Math.min(passedNs * rate * (1 + pull), leftNs * -Math.expm1(-passedNs / lastsNs));
  }
}
