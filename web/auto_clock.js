/**
 * Mode `auto` of the playback clock: no latency while the physics process is ahead, else the smallest delay that avoids
 * underruns; port of `render/playback/auto.py`, which gives the reasons.
 */

import {msText} from "./clock_modes.js";
import {LeastDrawDelay, OffsetEstimator} from "./estimator.js";
import {NEVER_NS, roundEven} from "./stream.js";

const SLEW = 0.03, SLEW_TAU_NS = 500_000_000; // the playback speed is within 1 +- SLEW while the excess is small
const DEBT_NS = 60_000_000, DEBT_INTERVALS = 1.2, DEBT_SPEED = 0.5; // a larger excess is a debt
const SLOW_FRAME_NS = 100_000_000; // a longer frame is not seen as motion
const ROOM_NS = 33_000_000, ROOM_INTERVALS = 0.5; // time behind the newest snapshot of the preference `balanced`
const ESTIMATE_EVERY = 4; // arrivals
const DEBT_MEMORY_NS = 1_000_000_000; // offsets of this time before a dropped debt are discarded
// Brake
const GAIN_PER_NS = 24e-9; // largest acceleration after a stop
const STOPPED = 0.1, STOP_NS = 30_000_000, STARTED = 1.3;
const FULL_BRAKING = 0.75, LEAST_SPEED = 0.4, KEPT_SHARE = 0.4, REMAINDER_NS = 200_000;
// SteadyRate
const EVEN = 0.03, UNEVEN = 0.08; // limits of the relative change of the interval
const UNSEEN_NS = 1_000_000, SEEN_NS = 4_000_000; // limits of this change in wall time
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
  #drawDueNs = null; // due time of the last draw time
  #newestSimNs = null;
  #newestDueNs = 0;
  #shortfallNs = 0; // at the last frame: present time minus due time of the newest snapshot
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
    this.#starting = this.#stoppedNs > STOP_NS || (this.#starting && this.#speed < STARTED);
  }
}

/** Mean rate of uneven steps, and its weight. The rest of the weight is that of the map. */
export class SteadyRate {
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
