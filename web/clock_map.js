/**
 * Map from the page's clock (`performance.now()`, ms) to the server's clock (ns since its origin).
 *
 * A round trip bounds the offset between both clocks: the server answered after the page asked, and before the page got
 * the answer. The map intersects the bounds of all trips. Bounds widen with their age, because clocks differ in speed.
 * The offset is in the middle of the bounds. So its error is half the difference between the shortest ways there and
 * back, which no measurement can tell. The shortest single trip of 30 s has 2.5 times the error (p99, clocks that
 * differ by 200 ppm, ways of 80 +- 20 ms), because it is old, and seldom short both ways.
 *
 * Always: while `isReady`, the offset changes by at most SLEW, so `toServerNs` never runs back and the picture never
 * jumps. Reads no clock.
 */

// Largest difference in speed between two clocks: crystals differ by up to 200 ppm, and NTP corrects clocks by more.
const DRIFT = 500e-6;
// Largest change of the offset, as a share of the time: 1 ms a second.
const SLEW = 1e-3;
// Steps of `performance.now()` in a page that is not isolated.
const RESOLUTION_NS = 100_000;
// During this many first trips, each better offset is adopted at once.
const FIRST_TRIPS = 8;
// After so long without a trip, the first trips begin again: the clocks have drifted apart.
const SILENCE_MS = 30_000;
// If the offset is outside the bounds of a trip by more than this, one of the clocks has jumped (a computer slept).
// Then the first trips begin again, too.
const JUMP_NS = 20_000_000;

export class ClockMap {
  #atMs = 0; // page's instant of the last trip; the next four are those of this instant
  #lowNs = -Infinity; // bounds of the offset (server's clock minus page's clock)
  #highNs = Infinity;
  #offsetNs = 0;
  #targetNs = 0;
  #trips = 0; // since the beginning, a silence or a jump

  /**
   * Records a round trip. Trips with a value that is not finite, and trips of negative length, are ignored.
   * @param {number} sentMs page's instant of the ping
   * @param {number} serverNs server's instant of its answer
   * @param {number} receivedMs page's instant at which the answer arrived
   */
  addTrip(sentMs, serverNs, receivedMs) {
    if (![sentMs, serverNs, receivedMs].every(Number.isFinite) || receivedMs < sentMs) return;
    const beforeNs = this.#offsetAtNs(receivedMs);
    const tripLowNs = serverNs - receivedMs * 1e6 - RESOLUTION_NS;
    const tripHighNs = serverNs - sentMs * 1e6 + RESOLUTION_NS;
    const passedMs = Math.max(0, receivedMs - this.#atMs), widerNs = DRIFT * passedMs * 1e6;
    if (passedMs > SILENCE_MS) this.#trips = 0;
    let lowNs = Math.max(this.#lowNs - widerNs, tripLowNs), highNs = Math.min(this.#highNs + widerNs, tripHighNs);
    if (lowNs > highNs) {
      [lowNs, highNs] = [tripLowNs, tripHighNs];
      if (beforeNs < lowNs - JUMP_NS || beforeNs > highNs + JUMP_NS) this.#trips = 0;
    }
    [this.#atMs, this.#lowNs, this.#highNs] = [receivedMs, lowNs, highNs];
    this.#targetNs = (lowNs + highNs) / 2;
    this.#offsetNs = ++this.#trips <= FIRST_TRIPS ? this.#targetNs : beforeNs;
  }

  /** Server's instant, in whole ns, at an instant of the page in ms. */
  toServerNs(pageMs) { return Math.round(pageMs * 1e6 + this.#offsetAtNs(pageMs)); }

  /**
   * True if FIRST_TRIPS are known, since the beginning, since a silence and since a jump. Until then the server's time
   * may run back: send pings quickly, and draw with a new `PlaybackClock` afterwards, because the old one would wait.
   */
  get isReady() { return this.#trips >= FIRST_TRIPS; }

  /** Largest error of `toServerNs` at the last trip, in ms. */
  get boundMs() { return Math.max(this.#highNs - this.#offsetNs, this.#offsetNs - this.#lowNs) / 1e6; }

  #offsetAtNs(pageMs) {
    const mostNs = SLEW * Math.max(0, pageMs - this.#atMs) * 1e6;
    return this.#offsetNs + Math.max(-mostNs, Math.min(mostNs, this.#targetNs - this.#offsetNs));
  }
}
