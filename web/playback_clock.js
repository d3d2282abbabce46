/**
 * Playback clock: computes a draw time (the simulated time to draw) for the present time of each frame; port of
 * `render/playback/clock.py`, which gives the reasons.
 *
 * Always: the draw time never decreases, except once when a new world epoch begins. It exceeds the newest snapshot by
 * at most `reachNs`. In a pause, the draw time is constant from the next frame on. Pure: reads no wall clock.
 */

import {AutoMode, BufferedMode, NewestTwoMode, Preferences, PresentMode} from "./clock_modes.js";
import {roundEven, Stream} from "./stream.js";

export const MODES = {auto: AutoMode, ahead: PresentMode, "newest-two": NewestTwoMode, buffered: BufferedMode};

/**
 * State of the clock after a frame. mode: "ahead", "late", "newest-two", "buffered" or "paused". offsetNs: present time
 * of the frame minus due time of its draw time. roomNs: wall time from the draw time to the newest snapshot. rate:
 * simulated time that passed since the previous frame, per wall time. held: true if this frame draws the same simulated
 * time as the previous frame, because no newer snapshot exists. reason: reason for the draw time, as text.
 * @typedef {{mode: string, offsetNs: number, roomNs: number, rate: number, held: boolean, reason: string}} ClockState
 */

/** Computes the draw time of each frame of one world. All instants are passed by the caller, in ns. */
export class PlaybackClock {
  #preferences;
  #stream = new Stream();
  #worldEpoch = null;
  #pendingPlan = null;
  #drawTimeNs = null;
  #presentNs = null;
  #pauseTargetNs = null;
  #glideRate = 1;
  #modes = {};
  #mode;

  /**
   * @param {string} mode "auto", "ahead", "newest-two" or "buffered"
   * @param {string} prefer response of "auto" to stalls: "latency", "balanced" or "smooth"
   * @param {?number} bufferMs delay of "buffered"; null to compute it from the measured jitter
   */
  constructor(mode = "auto", prefer = "latency", bufferMs = null) {
    this.#preferences = new Preferences(prefer, bufferMs);
    /** @type {ClockState} */
    this.state = {mode, offsetNs: 0, roomNs: 0, rate: 0, held: false, reason: "no snapshot yet"};
    this.select(mode);
  }

  /** Changes the mode. The draw time continues from its current value. */
  select(mode) {
    if (!Object.hasOwn(MODES, mode)) {
      throw new RangeError(`clock must be one of ${Object.keys(MODES).join(", ")}, got '${mode}'`);
    }
    this.mode = mode;
    this.#modes[mode] ??= new MODES[mode](this.#preferences);
    this.#mode = this.#modes[mode];  // a mode that was used before has kept its statistics
    this.#mode.replanned(this.#stream, this.#drawTimeNs, 1);
  }

  get prefer() { return this.#preferences.prefer; }

  set prefer(prefer) { this.#preferences.prefer = prefer; }

  get bufferMs() { return this.#preferences.bufferMs; }

  set bufferMs(bufferMs) { this.#preferences.bufferMs = bufferMs; }

  /** Longest extrapolation beyond the newest snapshot, in ns of simulated time. */
  get reachNs() { return this.#stream.reachNs; }

  set reachNs(reachNs) {
    if (!Number.isSafeInteger(reachNs) || reachNs < 0) {
      throw new RangeError(`reachNs must be a whole number of ns >= 0, with 0 for no extrapolation, got ${reachNs}`);
    }
    this.#stream.reachNs = reachNs;
  }

  /**
   * Records a snapshot. Duplicates and snapshots in the wrong order are accepted.
   * @param {number} simNs
   * @param {number} dueNs
   * @param {number} arrivalNs
   * @param {number} worldEpoch snapshots of older epochs are ignored
   * @param {?number} planNumber of the plan under which it was published; null for the plan that is valid now
   */
  observe(simNs, dueNs, arrivalNs, worldEpoch = 0, planNumber = null) {
    if (this.#worldEpoch === null || worldEpoch > this.#worldEpoch) this.#begin(worldEpoch);
    else if (worldEpoch < this.#worldEpoch) return;
    this.#stream.observe(simNs, dueNs, Math.round(arrivalNs), planNumber, this.#drawTimeNs);
  }

  /**
   * Applies a new plan at once. A plan that is already known changes nothing.
   * @param {import("./stream.js").Plan} plan
   */
  replan(plan) {
    if (this.#worldEpoch === null || plan.worldEpoch > this.#worldEpoch) {
      this.#pendingPlan = plan;  // the plan waits for the first snapshot of its world
      return;
    }
    const known = this.#stream.plan;
    if (plan.worldEpoch < this.#worldEpoch || (known !== null && plan.number <= known.number)) return;
    this.#adopt(plan);
  }

  /** Advances the clock to the frame that is shown at `presentNs`, and returns the draw time of that frame, in ns. */
  advanceTo(presentNs) {
    const stream = this.#stream, beforeNs = this.#drawTimeNs;
    if (!stream.length) return beforeNs ?? 0;
    presentNs = Math.round(presentNs);
    const passedNs = this.#presentNs === null ? 0 : Math.max(0, presentNs - this.#presentNs);
    this.#presentNs = this.#presentNs === null ? presentNs : Math.max(presentNs, this.#presentNs);
    const isPaused = this.#pauseTargetNs !== null;
    let drawTimeNs = isPaused
      ? this.#glide(passedNs)
      : this.#mode.advanceTo(stream, this.#presentNs, passedNs, beforeNs);
    const pauseReason = drawTimeNs === beforeNs ? "physics is paused" : "playing to the next snapshot";
    const [mode, reason] = isPaused ? ["paused", pauseReason] : [this.#mode.name, this.#mode.reason];
    // The clock does not extrapolate during a pause or a single step.
    drawTimeNs = Math.min(drawTimeNs, isPaused ? stream.newestSimNs : stream.limitSimNs);
    if (beforeNs !== null) drawTimeNs = Math.max(drawTimeNs, beforeNs);
    this.#drawTimeNs = drawTimeNs;
    const rate = beforeNs !== null && passedNs ? (drawTimeNs - beforeNs) / passedNs : 0;
    if (isPaused) {
      // No snapshot falls due during a pause, so offset and room stay the same.
      this.state = {...this.state, mode, rate, held: false, reason};
    } else {
      const dueNs = stream.dueOf(drawTimeNs), roomNs = stream.newestDueNs - dueNs;
      this.state = {mode, offsetNs: presentNs - dueNs, roomNs, rate, held: drawTimeNs === beforeNs, reason};
    }
    return drawTimeNs;
  }

  /** The same as `advanceTo`. */
  drawTimeNs(presentNs) { return this.advanceTo(presentNs); }

  /** Clears the statistics of the start-up frames. The draw time continues. */
  beginAnew() { this.#mode.beginAnew(); }

  /** Best known instant at which a simulated time is due, in ns. 0 if there is no snapshot yet. */
  dueNs(simNs) {
    if (!this.#stream.length) return 0;
    return Math.min(this.#stream.dueOf(simNs), this.#stream.heldSinceNs ?? Infinity);
  }

  /** Begins a new world. The draw time may decrease only here. */
  #begin(worldEpoch) {
    this.#worldEpoch = worldEpoch;
    this.#stream = new Stream(this.#stream.reachNs);
    this.#drawTimeNs = this.#pauseTargetNs = null;
    this.#modes = {};
    this.select(this.mode);
    const plan = this.#pendingPlan;
    this.#pendingPlan = plan !== null && plan.worldEpoch > worldEpoch ? plan : null;
    if (plan !== null && plan.worldEpoch === worldEpoch) this.#adopt(plan);
  }

  #adopt(plan) {
    const stream = this.#stream, known = stream.plan;
    // If the user presses the step key during playback, only the second of two plans of rate 0 may arrive.
    const isStep = stream.paused || (known !== null && plan.number > known.number + 1);
    if (known !== null && known.rate > 0) this.#glideRate = known.rate;
    const stretch = stream.replan(plan, this.#drawTimeNs);
    if (plan.rate > 0) {
      this.#pauseTargetNs = null;
      this.#mode.replanned(stream, this.#drawTimeNs, stretch);
    } else {
      this.#pauseTargetNs = isStep || this.#drawTimeNs === null ? plan.simNs : this.#drawTimeNs;
    }
  }

  /** Draw time during a pause: constant, or it advances to the end of a single step at the rate before the pause. */
  #glide(passedNs) {
    const targetNs = this.#pauseTargetNs;
    if (this.#drawTimeNs === null) return Math.max(targetNs, this.#stream.oldestSimNs);
    return Math.min(targetNs, this.#drawTimeNs + roundEven(passedNs * this.#glideRate));
  }
}
