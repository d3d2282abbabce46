/**
 * Connects the page to the server: two WebSockets, their hello, acknowledgements, pings, and new attempts after a loss;
 * and maps the page's clock to the server's.
 *
 * Always: a snapshot is acknowledged only after a frame was drawn since it was applied, so a page that is not drawn
 * costs nothing. Two attempts are at least `LEAST_WAIT_MS` apart, and none begins while the page is hidden. What is
 * kept does not grow with the number of messages. Reads no clock and touches no document: `platform` gives them.
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
const FORGET_MS = 30_000;
// If the offset is outside the bounds of a trip by more than this, one of the clocks has jumped (a computer slept).
// Then the first trips begin again, too.
const JUMP_NS = 20_000_000;

export class ClockMap {
  #atMs = 0;  // page's instant of the last trip; the next four are those of this instant
  #lowNs = -Infinity;  // bounds of the offset (server's clock minus page's clock)
  #highNs = Infinity;
  #offsetNs = 0;
  #targetNs = 0;
  #trips = 0;  // since the beginning, a silence or a jump

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
    if (passedMs > FORGET_MS) this.#trips = 0;
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

const PROTOCOL = 1;
const NONCE_BYTES = 16;
// Digests that a hello has room for: it has at most 4 KiB.
const MOST_DIGESTS = 100;
const ROLES = ["stream", "control"];
// The first pings, close together, give the clock map its start. Later ones follow drift and a change of the route.
const FIRST_PINGS = 8, FIRST_PING_MS = 25, PING_MS = 250;
// A visible page whose ping has no answer for this long has lost its link.
const SILENCE_MS = 10_000;
// Time between two attempts: doubled from the least to the most. A connection that lasted for `LASTING_MS` resets it.
const LEAST_WAIT_MS = 250, MOST_WAIT_MS = 5_000, LASTING_MS = 5_000;
// After one connection of the pair has closed, the other one's reason is awaited for at most this long.
const OTHER_REASON_MS = 500;
const OTHER_CLOSED = 4411;
// Pieces of overlays are confirmed at once by a page that has drawn a frame so shortly ago, else with the next frame.
const DRAWN_MS = 500;
// With more unsent bytes than this, the link is full.
const MOST_UNSENT_BYTES = 4096;
// Reasons by the close codes of `docs/wire.md`.
const REASONS = {
  4400: "invalid", 4401: "wrong-token", 4408: "timeout", 4409: "version", 4410: "ended", 4413: "nonce",
  4429: "too-many",
};
const REFUSALS = ["no-token", "wrong-token", "version", "too-many", "invalid", "forbidden"];
// After these, another attempt cannot succeed until the user changes something.
const FINAL = ["no-token", "wrong-token", "version"];

/**
 * State of the link. phase: "connecting", "waiting" (for the simulation), "live", "lost", "refused" or "ended".
 * reason: why, in a word. text: what the other side said about it.
 * @typedef {{phase: string, reason: string, text: string}} LinkState
 */

/** The link of one page to its server. */
export class Connection {
  /** @type {LinkState} */
  state = {phase: "connecting", reason: "", text: ""};
  /** The welcome of the present or the last connection. */
  welcome = null;
  /** Number and bytes of the messages of the stream, and the last measured round trip. */
  messages = 0;
  bytes = 0;
  roundTripMs = NaN;
  #options;
  #platform;
  #sockets = new Map();
  #isVisible = true;
  #attempts = 0;
  #attemptMs = -Infinity;
  #timers = {retry: null, closing: null, ping: null};
  #reason = null;
  #pings = new Map();
  #pingId = 0;
  #isWelcome = false;
  #received = 0;
  #applied = 0;
  #acknowledged = 0;
  #awaitsFrame = false;
  #piece = 0;  // number of the last piece of an overlay, if it is not confirmed
  #frameMs = -Infinity;
  #worldEpoch = -Infinity;
  #endedEpoch = null;

  /**
   * @param {object} options
   * @param {string} options.address  address of both WebSockets
   * @param {?Map<string, WebSocket>} options.early  WebSockets that are open or open now, by their roles
   * @param {() => string} options.token  secret of the link
   * @param {(buffer: ArrayBuffer, after: number) => ?object} options.decode  decodes a message of the stream; null if
   *     its number is not above `after`
   * @param {() => string[]} options.digests  digests of the contents that the page has
   * @param {() => number} [options.leadNs]  lead that the page needs, for each ping; 0 if it tells none
   * @param {(welcome: object) => void} options.onWelcome  before any other message of a connection
   * @param {(message: object, arrivalMs: number) => void} options.onStream
   * @param {(message: object) => void} options.onControl  plan, camera, status and end
   * @param {(sentMs: number, serverNs: number, receivedMs: number) => void} options.onTrip
   * @param {(state: LinkState) => void} options.onState
   * @param {() => Promise<boolean>} options.isServed  whether the server still gives the page
   * @param {object} platform  `WebSocket`, `setTimeout`, `clearTimeout`, `nowMs`, `random`, `randomBytes`
   */
  constructor(options, platform) {
    this.#options = options;
    this.#platform = platform;
  }

  /** Begins to connect, or connects again with another token. */
  connect() {
    this.#attempts = 0;
    this.#become("connecting");
    this.#attempt();
  }

  /** Closes the link for good. */
  stop() {
    this.#drop();
    this.#schedule(null);
  }

  /** Connects again after a while: the page has dropped what the server sends only once on a connection. */
  renew() {
    this.#reason ??= {reason: "renewed", text: ""};
    this.#lose();
  }

  /** Tells whether the page is visible. A page that becomes visible acknowledges and asks for the time at once. */
  setVisible(isVisible) {
    if (isVisible === this.#isVisible) return;
    this.#isVisible = isVisible;
    this.#cancel("ping");
    this.#pings.clear();
    if (!isVisible) return this.#schedule(null);
    if (this.#isWelcome) {
      this.#awaitsFrame = false;
      this.#acknowledge();
      this.#sendPings(FIRST_PINGS);
    } else if (!this.#sockets.size && !FINAL.includes(this.state.reason)) {
      this.#attempts = 0;
      this.#schedule(Math.max(0, this.#attemptMs + LEAST_WAIT_MS - this.#platform.nowMs()));
    }
  }

  /** Tells that a message of the stream was applied. */
  applied(message) {
    if (message.kind === "overlay") {
      this.#piece = message.number;
      if (this.#platform.nowMs() - this.#frameMs < DRAWN_MS) this.#confirm();
      return;
    }
    this.#applied = Math.max(this.#applied, message.number);
    if (message.kind === "snapshot") {
      this.#awaitsFrame = true;
      this.#worldEpoch = Math.max(this.#worldEpoch, message.snapshot.worldEpoch);
      const isNew = this.#endedEpoch === null || this.#worldEpoch > this.#endedEpoch;
      if (isNew && this.state.phase !== "live") this.#become("live");
    }
    if (!this.#awaitsFrame) this.#acknowledge();
  }

  /** Tells that a frame was drawn with all that was applied. */
  frameDrawn() {
    this.#awaitsFrame = false;
    this.#frameMs = this.#platform.nowMs();
    this.#confirm();
    this.#acknowledge();
  }

  /** Sends the first pings again, because the clock map knows nothing any more. */
  askTime() {
    if (this.#isVisible) this.#sendPings(FIRST_PINGS);
  }

  /** Sends a command of `ipc/commands.py`. Returns false if there is no link, or no right to send commands. */
  command(name, value = null) {
    return this.mayControl && this.#send({kind: "command", name, value});
  }

  /**
   * Sends an action of `ipc/interaction/events.py`. Returns false if there is no link, or no right to control. Of
   * pulls and views only the newest counts, so while the link is full, they are not sent: then also false.
   * @param {string} kind  "event", "pull" or "look"
   * @param {object} fields
   */
  action(kind, fields) {
    const isFull = kind !== "event" && this.#sockets.get("control")?.bufferedAmount > MOST_UNSENT_BYTES;
    return this.mayControl && !isFull && this.#send({kind: "action", action: kind, fields});
  }

  /** Sends an answer about a picture, or bytes of it. @param {object | Uint8Array} answer */
  answer(answer) {
    this.#send(answer);
  }

  /** True if there is a link, and the user may control the simulation. */
  get mayControl() {
    return this.#isWelcome && this.welcome.may_control === true;
  }

  #attempt() {
    this.#drop();
    this.#schedule(null);
    const {nowMs, WebSocket, randomBytes} = this.#platform, token = this.#options.token();
    if (!token) return this.#become("refused", "no-token");
    this.#attemptMs = nowMs();
    this.#reason = null;
    this.#received = this.#applied = this.#acknowledged = this.#piece = 0;
    this.#awaitsFrame = false;
    const hello = {kind: "hello", protocol: PROTOCOL, token, nonce: hexOf(randomBytes(NONCE_BYTES))};
    for (const role of ROLES) {
      const {early, address} = this.#options, opened = early?.get(role);
      early?.delete(role);
      const socket = opened?.readyState <= WebSocket.OPEN ? opened : new WebSocket(address);
      socket.binaryType = "arraybuffer";
      this.#sockets.set(role, socket);
      const isMine = () => this.#sockets.get(role) === socket;
      const have = role === "stream" ? {have: this.#options.digests().slice(-MOST_DIGESTS), lean: true} : {};
      const sayHello = () => isMine() && socket.send(JSON.stringify({...hello, role, ...have}));
      socket.onopen = sayHello;
      if (socket.readyState === WebSocket.OPEN) sayHello();
      socket.onmessage = ({data}) => isMine() && this.#receive(data);
      socket.onclose = ({code, reason}) => isMine() && this.#closed(role, code, reason);
    }
  }

  #receive(data) {
    const arrivalMs = this.#platform.nowMs();
    try {
      if (typeof data === "string") return this.#receiveText(JSON.parse(data), arrivalMs);
      this.messages += 1;
      this.bytes += data.byteLength;
      // On a link that loses packets, a message comes on both connections, and counts when it comes first.
      const message = this.#options.decode(data, this.#received);
      if (message === null) return;
      this.#received = message.number;
      this.#options.onStream(message, arrivalMs);
    } catch (error) {
      this.#reason ??= {reason: "damaged", text: error.message};
      this.#lose();
    }
  }

  #receiveText(message, arrivalMs) {
    if (message.kind === "welcome") {
      // Both connections say it. Their messages are in no order to each other: the first one counts.
      if (!this.#isWelcome) {
        this.welcome = message;
        this.#isWelcome = true;
        this.#endedEpoch = null;
        this.#become("waiting");
        this.#options.onWelcome(message);
      }
      if (this.#isVisible) this.#sendPings(FIRST_PINGS);
    } else if (message.kind === "pong") {
      const sentMs = this.#pings.get(message.id);
      if (sentMs === undefined) return;
      this.#pings.delete(message.id);
      this.roundTripMs = arrivalMs - sentMs;
      this.#options.onTrip(sentMs, message.at_ns, arrivalMs);
    } else {
      if (message.kind === "end") {
        this.#endedEpoch = this.#worldEpoch;
        this.#become("waiting", message.end === "waiting" ? "" : "ended", message.message ?? "");
      }
      this.#options.onControl(message);
    }
  }

  #sendPings(left) {
    this.#cancel("ping");
    const {nowMs, setTimeout} = this.#platform, now = nowMs();
    const [oldestMs] = this.#pings.values();
    if (oldestMs < now - SILENCE_MS) {
      this.#reason ??= {reason: "silence", text: ""};
      return this.#lose();
    }
    if (this.#pings.size < 4 * SILENCE_MS / PING_MS && this.#send(this.#ping())) {
      this.#pings.set(this.#pingId, now);
    }
    this.#timers.ping = setTimeout(() => this.#sendPings(Math.max(0, left - 1)), left > 1 ? FIRST_PING_MS : PING_MS);
  }

  #ping() {
    const ping = {kind: "ping", id: ++this.#pingId}, leadNs = this.#options.leadNs?.() ?? 0;
    return leadNs > 0 ? {...ping, lead_ns: leadNs} : ping;
  }

  #acknowledge() {
    if (this.#applied > this.#acknowledged && this.#send({kind: "ack", number: this.#applied})) {
      this.#acknowledged = this.#applied;
    }
  }

  #confirm() {
    if (this.#piece) this.#send({kind: "took", number: this.#piece});
    this.#piece = 0;
  }

  #send(message) {
    const socket = this.#sockets.get("control");
    if (!this.#isWelcome || socket === undefined || socket.readyState !== this.#platform.WebSocket.OPEN) return false;
    socket.send(ArrayBuffer.isView(message) ? message : JSON.stringify(message));
    return true;
  }

  #closed(role, code, text) {
    this.#sockets.delete(role);
    if (code !== OTHER_CLOSED) this.#reason ??= {reason: REASONS[code] ?? "closed", text};
    this.#isWelcome = false;
    if (!this.#sockets.size) return this.#lose();
    for (const socket of this.#sockets.values()) socket.close();
    this.#timers.closing ??= this.#platform.setTimeout(() => this.#lose(), OTHER_REASON_MS);
  }

  /** Drops what is left of a connection and decides about the next attempt. */
  async #lose() {
    const {nowMs, random} = this.#platform;
    const wasWelcome = this.state.phase === "live" || this.state.phase === "waiting";
    const attemptMs = this.#attemptMs;
    let {reason, text} = this.#reason ?? {reason: "closed", text: ""};
    this.#drop();
    if (wasWelcome && nowMs() - attemptMs >= LASTING_MS) this.#attempts = 0;
    const phase = () => (REFUSALS.includes(reason) ? "refused" : reason === "ended" ? "ended" : "lost");
    this.#become(phase(), reason, text);
    if (FINAL.includes(reason)) return;
    const wait = Math.min(MOST_WAIT_MS, LEAST_WAIT_MS * 2 ** this.#attempts) * (0.75 + 0.5 * random());
    this.#attempts += 1;
    if (this.#isVisible) this.#schedule(Math.min(MOST_WAIT_MS, Math.max(LEAST_WAIT_MS, wait)));
    if (reason === "closed" && !wasWelcome && await this.#options.isServed() && this.#attemptMs === attemptMs) {
      reason = "forbidden";  // the server gives the page, but no WebSocket
      this.#become(phase(), reason, text);
    }
  }

  #drop() {
    for (const socket of this.#sockets.values()) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
    this.#sockets.clear();
    this.#isWelcome = false;
    this.#pings.clear();
    this.#cancel("ping");
    this.#cancel("closing");
  }

  #schedule(waitMs) {
    this.#cancel("retry");
    if (waitMs !== null) this.#timers.retry = this.#platform.setTimeout(() => this.#attempt(), waitMs);
  }

  #cancel(name) {
    this.#platform.clearTimeout(this.#timers[name]);
    this.#timers[name] = null;
  }

  #become(phase, reason = "", text = "") {
    const before = this.state;
    if (before.phase === phase && before.reason === reason && before.text === text) return;
    this.state = {phase, reason, text};
    this.#options.onState(this.state);
  }
}

function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Address of the WebSockets, whatever path prefix a proxy has added to the page's. */
export function socketAddress() {
  const url = new URL("ws", location);
  return Object.assign(url, {protocol: url.protocol.replace("http", "ws"), hash: "", search: ""}).href;
}

/**
 * The page's first WebSockets, by their roles. index.html runs this module as soon as it is there: the WebSockets open,
 * one after the other, in four round trips, while the other modules come. They say hello later.
 */
export const earlySockets = new Map();
if (globalThis.document?.querySelector('script[src="connection.js"]') && location.hash.length > 1) {
  for (const role of ROLES) earlySockets.set(role, new WebSocket(socketAddress()));
}
