/**
 * Joins the page's parts: takes messages in, and draws one frame at each refresh of the display.
 *
 * The instant at which a frame will be seen is its timestamp plus one refresh interval, by the server's clock. The
 * playback clock gives the simulated time for it, the store the two snapshots around that time. Always: frames are
 * drawn by their timestamp, never by the time at which the callback runs. Snapshots that wait (for the clock map, or
 * for their scene) are not acknowledged, so at most the credit of them waits.
 */

import {View} from "./camera.js";
import {ClockMap, Connection} from "./connection.js";
import {Contents} from "./contents.js";
import {clockColumns, FrameLog, pairColumns, RefreshInterval} from "./frame_log.js";
import {TrailDots, Trails} from "./marks.js";
import {Overlay} from "./overlay.js";
import {nextScale, onlyInWindow, Panel} from "./panel.js";
import {MODES, PlaybackClock} from "./playback_clock.js";
import {DrawnPoses, ParentLog, publishedPlaces} from "./pose.js";
import {LEVELS, QualityLadder, Renderer} from "./renderer.js";
import {Scene} from "./scene.js";
import {SnapshotStore, Standstill} from "./snapshots.js";
import {UserInput} from "./user_input.js";
import {Decoder} from "./wire.js";

const METHODS = ["auto", "hermite", "linear", "none"];
const CLOCKS = Object.keys(MODES);
const PREFERENCES = ["latency", "balanced", "smooth"];
// Snapshots that wait for their scene: with more, they are drawn with the present scene.
const MOST_WAITING = 16;
// After a gap of frames longer than this (a hidden page, a sleeping machine), or after a lost link, the picture stands
// until the first fresh snapshot, and then cuts to it once. After a standstill of the server or the link it cuts too:
// else the clock would keep room for a step as long as the standstill.
const STALE_MS = 1000;
const PANEL_MS = 250;
// The clocks' offset is known to half of the least round trip. On the loopback this is about 0.3 ms.
const LOOPBACK_MS = 1;
// Figures on the panel are of the last seconds.
const SHOWN_S = 5;
const idle = window.requestIdleCallback ?? setTimeout;
// With the quality "full" in the page's address, the quality level never changes.
const IS_HELD = new URLSearchParams(location.search).get("quality") === LEVELS[0].name;
// A picture that takes longer than this is not waited for: perhaps the driver does not tell when it is drawn.
const MOST_BUSY_MS = 5000;

/** The page. For drivers and tests it is `window.twixt`. */
class Page {
  frameLog = new FrameLog();
  store = new SnapshotStore();
  clock = new PlaybackClock();
  clockMap = new ClockMap();
  contents = new Contents();
  connection;
  renderer = null;
  scene = null;
  view = new View();
  overlay = new Overlay(document);
  method = METHODS[0];
  status = {};
  plan = null;
  isPaused = false;
  timeScale = 1;
  decoder = new Decoder();
  quality = new QualityLadder();
  #refresh = new RefreshInterval();
  #pictureMs = null;  // instant at which the last picture was handed to the GPU; null if the last frame drew none
  #panel;
  #parents = new ParentLog();
  #canvas = document.getElementById("view");
  #waiting = [];
  #originNs = null;
  #worldsBefore = 0;
  #newestEpoch = -1;
  cameraVersion = -1;
  #isStale = false;
  #standstill = new Standstill();
  #isResting = false;  // no frames were made, and nothing fresh was drawn since
  #pair = null;
  shown = null;  // scene, poses and draw time of the last frame
  #drawNs = null;
  trails = null;  // null: off
  #dots = null;
  #drawn = {};
  #timestampMs = null;
  #panelMs = -Infinity;
  #taken = {messages: 0, bytes: 0};
  #wantsScreenshot = false;
  #isBegun = false;
  #remarks = [];  // about options that only the window has

  constructor() {
    this.#panel = new Panel(document, this.#actions());
    try {
      this.renderer = new Renderer(this.#canvas);
    } catch (error) {
      this.#panel.fail(error.message);
    }
    this.connection = new Connection({
      address: address(),
      token: () => location.hash.slice(1),
      decode: (buffer) => this.decoder.decode(buffer),
      digests: () => this.contents.begin(),
      // A page far away, behind a tunnel too, tells none: physics would run ahead by the delay of its link.
      leadNs: () => (this.clockMap.boundMs < LOOPBACK_MS ? this.frameLog.leadNs() : 0),
      onWelcome: (welcome) => this.#begin(welcome),
      onStream: (message, arrivalMs) => this.#take(message, arrivalMs),
      onControl: (message) => this.#control(message),
      onTrip: (...trip) => this.#time(...trip),
      onState: (state) => this.#linked(state),
      isServed,
    }, {
      WebSocket, nowMs: () => performance.now(), random: Math.random,
      randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
      setTimeout: (...given) => setTimeout(...given), clearTimeout: (timer) => clearTimeout(timer),
    });
    this.input = new UserInput(this, this.#canvas, this.#panel);
    addEventListener("hashchange", () => this.connection.connect());
    const see = () => {
      if (document.visibilityState === "visible") this.input.begin();
      else this.input.letGo();
      this.quality.forget();
      this.connection.setVisible(document.visibilityState === "visible");
    };
    document.addEventListener("visibilitychange", see);
    see();
    if (this.renderer !== null) this.connection.connect();
    const frame = (timestampMs) => {
      try {
        this.#frame(timestampMs);
      } catch (error) {
        this.#panel.fail(`The page has a fault: ${error.message}`);
        throw error;  // no further frame: each would fail again
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  get state() {
    return {
      ...this.connection.state, welcome: this.connection.welcome, clock: this.clock.state, clockMode: this.clock.mode,
      method: this.method, roundTripMs: this.connection.roundTripMs, boundMs: this.clockMap.boundMs,
      refreshMs: this.#refresh.ms, held: this.store.count, heldBytes: this.store.bytes, thinned: this.store.thinned,
      quality: this.quality.level.name,
      waiting: this.#waiting.length, sceneVersion: this.scene?.version ?? null,
    };
  }

  // -- messages

  #begin(welcome) {
    this.decoder.begin();
    this.overlay.begin();
    this.#waiting = [];
    this.status = {};
    document.title = `${welcome.name} · twixt`;
    if (this.#originNs !== welcome.origin_ns) {
      // Another server, with another clock and with world epochs that begin again.
      if (this.#originNs !== null) {
        this.#worldsBefore = this.#newestEpoch + 1;
        this.clockMap = new ClockMap();
        this.#parents = new ParentLog();
        this.cameraVersion = -1;
      }
      this.#originNs = welcome.origin_ns;
    }
    this.#isStale = this.store.count > 0;
    this.#panel.welcome(welcome);
    if (!this.#isBegun) this.#beginWith(welcome.options ?? {});
    this.#isBegun = true;
    this.input.begin();
  }

  /** Applies the options of the run. The user may have changed them when another connection begins. */
  #beginWith({interpolation, clock, prefer, buffer_ms: bufferMs = null, overlay, keys, camera}) {
    if (METHODS.includes(interpolation)) this.method = interpolation;
    else if (interpolation) this.#remarks.push(`${interpolation} runs only in the window`);
    if (CLOCKS.includes(clock)) this.clock.select(clock);
    if (PREFERENCES.includes(prefer)) this.clock.prefer = prefer;
    this.clock.bufferMs = bufferMs;
    if (overlay === false) this.#panel.setBare(true);
    this.input.keyboard.hasKeys = keys !== false;
    this.view.mayFollow = camera !== "still";
  }

  #linked(state) {
    if (state.phase === "lost") this.#isStale = true;
    this.#panel.linked(state);
  }

  #time(...trip) {
    const wasReady = this.clockMap.isReady;
    this.clockMap.addTrip(...trip);
    if (wasReady && !this.clockMap.isReady) this.connection.askTime();  // one of the clocks has jumped
  }

  #take(message, arrivalMs) {
    if (message.kind !== "snapshot") return this.#apply(message);
    message.snapshot.worldEpoch += this.#worldsBefore;
    this.#waiting.push({message, arrivalMs});
    this.#enterWaiting();
  }

  #apply(message) {
    if (message.kind === "scene") {
      this.#setScene(message);
      this.#enterWaiting();
    } else if (message.kind === "content" && this.contents.add(message) && this.scene !== null) {
      this.scene.refresh();
      this.renderer.setScene(this.scene);
      this.#drawn = {};
    } else if (message.kind === "overlay") {
      this.overlay.take(message);
    }
    this.connection.applied(message);
  }

  #setScene(message) {
    const isFirst = this.scene === null;
    this.contents.announce(message.head);
    this.scene = new Scene(message, this.contents);
    this.#parents.add(this.scene);
    this.renderer.setScene(this.scene);
    this.quality.forget();
    this.#drawn = {};
    const remarks = [...this.#remarks, ...onlyInWindow(message.head, METHODS), this.contents.trouble];
    this.#panel.remark(remarks.filter(Boolean));
    if (isFirst || message.cameraVersion !== this.cameraVersion) {
      this.#setCamera(message.cameraVersion, this.scene.head.camera);
    }
  }

  #setCamera(version, camera) {
    this.cameraVersion = version;
    this.view.setCamera(camera);
  }

  #enterWaiting() {
    if (!this.clockMap.isReady || this.scene === null) return;
    while (this.#waiting.length) {
      const {snapshot} = this.#waiting[0].message;
      if (snapshot.sceneVersion > this.scene.version && this.#waiting.length < MOST_WAITING) return;
      this.#enter(this.#waiting.shift());
    }
  }

  #enter({message, arrivalMs}) {
    const {snapshot} = message;
    if (this.#standstill.endsWith(snapshot) || this.#isStale) this.#cut();
    if (snapshot.worldEpoch > this.#newestEpoch) {
      this.#newestEpoch = snapshot.worldEpoch;
      this.trails?.clear();
      this.input.forget();
    }
    const arrivalNs = snapshot.arrivalNs = this.clockMap.toServerNs(arrivalMs);
    this.clock.observe(snapshot.simNs, snapshot.dueNs, arrivalNs, snapshot.worldEpoch, snapshot.planNumber);
    if (this.store.add(snapshot)) this.renderer.upload(snapshot);
    this.connection.applied(message);
  }

  /** Forgets what was held before a gap, so that the picture cuts once to what is fresh. */
  #cut() {
    this.#isStale = false;
    this.store.clear();
    const {mode, prefer, bufferMs} = this.clock;
    this.clock = new PlaybackClock(mode, prefer, bufferMs);
    if (this.plan !== null) this.clock.replan(this.plan);
  }

  #control(message) {
    if (message.kind === "plan") {
      this.plan = {
        number: message.number, worldEpoch: message.world_epoch + this.#worldsBefore, wallNs: message.wall_ns,
        simNs: this.decoder.simNs(message.sim_time_ns), rate: message.rate,
      };
      this.clock.replan(this.plan);
      // A plan without an instant is no pause: the simulation waits for its first viewer.
      this.isPaused = message.rate === 0 && message.wall_ns !== -Number(this.#originNs);
      this.timeScale = message.rate || this.timeScale;
    } else if (message.kind === "camera") {
      this.#setCamera(message.version, message.camera);
    } else if (message.kind === "status") {
      if (!("time_scale" in this.status)) this.timeScale = message.status.time_scale ?? this.timeScale;
      this.status = message.status;
      this.overlay.setStatus(this.status);
      this.input.reflect(message.status);
    } else if (message.kind === "end") {
      this.status = {};
    } else if (message.kind === "refused") {
      this.#panel.note(`${message.name}: ${message.reason}`);
    }
  }

  // -- frames

  #frame(timestampMs) {
    const beginMs = performance.now();
    const gapMs = this.#timestampMs === null ? Infinity : timestampMs - this.#timestampMs;
    this.#timestampMs = timestampMs;
    this.#refresh.observe(timestampMs);
    this.#isResting ||= gapMs > STALE_MS;
    this.#isStale ||= this.store.count > 0 && (gapMs > STALE_MS || !this.clockMap.isReady);
    this.#enterWaiting();
    if (this.#isFenced(timestampMs, beginMs)) return;
    const presentNs = this.clockMap.toServerNs(timestampMs + this.#refresh.ms);
    if (this.store.count && this.renderer !== null) this.#draw(presentNs);
    this.overlay.draw();
    this.connection.frameDrawn();
    this.#record(timestampMs, beginMs, presentNs);
    this.#isResting &&= this.#isStale;
    if (timestampMs - this.#panelMs >= PANEL_MS) {
      this.#panelMs = timestampMs;
      this.#panel.show(this.#facts());
    }
  }

  /** Chooses the quality level. True if this frame draws no picture, because the GPU still draws the last one. */
  #isFenced(timestampMs, beginMs) {
    const {quality, renderer} = this;
    if (renderer === null || IS_HELD) return false;
    const busyMs = this.#pictureMs === null ? null : renderer.isBusy ? beginMs - this.#pictureMs : 0;
    quality.frame(timestampMs, this.#refresh.ms, busyMs, {...renderer.has, density: devicePixelRatio > 1});
    const isFenced = quality.level.isFenced && busyMs > 0 && busyMs < MOST_BUSY_MS;
    if (!isFenced) this.#pictureMs = null;
    return isFenced;
  }

  #draw(presentNs) {
    if (!this.#isStale || this.#pair === null) {
      const drawNs = this.clock.advanceTo(presentNs);
      this.#pair = this.store.at(drawNs);
      for (const snapshot of this.store.dropBefore(drawNs)) this.renderer.release(snapshot);
    }
    const {before, older, newer, share, drawNs} = this.#pair, {scene, method} = this, {newest} = this.store;
    const {parentsOf} = this.#parents, [widthPx, heightPx] = this.#size();
    const poses = new DrawnPoses(this.#pair, method, parentsOf), placesOf = () => publishedPlaces(newest, parentsOf);
    this.shown = {scene, poses, drawNs};
    const presentMs = this.#timestampMs + this.#refresh.ms;
    this.view.advance(presentMs, {scene, newest, poses, placesOf}, widthPx, heightPx, this.input.isHeld);
    const camera = this.view.matrices(widthPx, heightPx);
    const asked = {
      before, older, newer, share, method, camera, widthPx, heightPx, poses: parentsOf && poses,
      level: this.quality.level,
    };
    if (this.#wantsScreenshot) {
      this.#wantsScreenshot = false;
      this.renderer.screenshot(asked).then((picture) => this.#panel.save(picture));
    } else if (!isSame(asked, this.#drawn)) {
      this.renderer.draw(asked);
      this.#pictureMs = performance.now();
      this.overlay.label(scene, poses, asked);
      this.#drawTrails(presentMs, poses, asked);
      if (this.#drawn.camera === undefined) idle(() => this.renderer.prepare());
    }
    this.#drawn = asked;
    this.input.frameDrawn(this.#timestampMs);
  }

  #drawTrails(presentMs, poses, {older, camera, widthPx}) {
    if (this.trails === null) return;
    this.#dots ??= new TrailDots(this.renderer);
    this.trails.add(presentMs, poses, older);
    this.#dots.draw(this.trails.dots(), this.scene, older, camera, widthPx / this.#canvas.clientWidth);
  }

  #size() {
    const density = Math.min(devicePixelRatio, this.quality.level.density);
    const {clientWidth, clientHeight} = this.#canvas;
    return [Math.max(1, Math.round(clientWidth * density)), Math.max(1, Math.round(clientHeight * density))];
  }

  #record(timestampMs, beginMs, presentNs) {
    const {messages, bytes} = this.connection, {state} = this.clock, pair = this.#pair;
    const row = {
      timestampMs, presentNs, refreshMs: this.#refresh.ms, ageBoundMs: this.clockMap.boundMs, quality: this.quality.level.name,
      messages: messages - this.#taken.messages, bytes: bytes - this.#taken.bytes, latenessMs: beginMs - timestampMs,
      ...clockColumns(state, this.plan),
      ...pairColumns(this.store.newest && pair, this.store.newest, this.method, this.#drawNs, this.#isStale),
      drawDueNs: pair === null ? 0 : this.clock.dueNs(pair.drawNs), workMs: performance.now() - beginMs,
    };
    this.#taken = {messages, bytes};
    this.#drawNs = pair?.drawNs ?? null;
    this.frameLog.add(row, this.#isResting);
  }

  #facts() {
    const figures = this.frameLog.figures(SHOWN_S);
    const bytes = this.frameLog.column("bytes", SHOWN_S);
    return {
      figures, state: this.state, status: this.status, isPaused: this.isPaused, timeScale: this.timeScale,
      modes: this.frameLog.column("mode", SHOWN_S), timestampsMs: this.frameLog.column("timestampMs", SHOWN_S),
      picked: this.input.picked(), bodies: this.store.newest?.count ?? null, rate: this.store.newest?.rate ?? null,
      bytesPerS: figures.seconds > 0 ? bytes.reduce((sum, value) => sum + value, 0) / figures.seconds : null,
    };
  }

  // -- the user

  #actions() {
    return {
      pause: () => this.#pause(!this.isPaused),
      step: () => this.#command("step", null, "one step"),
      slower: () => this.#scale(nextScale(this.timeScale, false)),
      faster: () => this.#scale(nextScale(this.timeScale, true)),
      reset: () => this.#command("reset", null, "reset"),
      method: () => this.#panel.note(`interpolation: ${(this.method = after(METHODS, this.method))}`),
      clock: () => {
        this.clock.select(after(CLOCKS, this.clock.mode));
        this.#panel.note(`clock: ${this.clock.mode}`);
      },
      prefer: () => this.#panel.note(`prefer: ${(this.clock.prefer = after(PREFERENCES, this.clock.prefer))}`),
      frame: () => this.#panel.note(this.view.frameAll() ? "all bodies framed" : "the program has locked the camera"),
      trails: () => {
        this.trails = this.trails === null ? new Trails() : null;
        this.#drawn = {};
        this.#panel.note(this.trails === null ? "no trails" : "trails of the last second");
      },
      turn: (index, value) => this.connection.command("control", [index, value]),
      screenshot: () => (this.#wantsScreenshot = true),
    };
  }

  // The next plan confirms both. A second press may come before it.
  #pause(isPaused) {
    if (isPaused) this.#command("pause", null, "paused");
    else this.#command("resume", null, "continues");
    this.isPaused = isPaused;
  }

  #scale(scale) {
    const end = scale === this.timeScale ? " (limit)" : "";
    this.#command("time_scale", scale, `time scale ${scale}${end}`);
    this.timeScale = scale;
  }

  #command(name, value, note) {
    this.#panel.note(this.connection.command(name, value) ? note : "no link to the simulation");
  }

}

/** True if a picture that is asked for is the one that was drawn last. */
function isSame({camera, ...asked}, drawn) {
  const isEqual = (name) => camera[name].every((value, i) => value === drawn.camera?.[name][i]);
  return Object.keys(asked).every((name) => asked[name] === drawn[name]) && isEqual("view") && isEqual("projection");
}

function after(choices, chosen) {
  return choices[(choices.indexOf(chosen) + 1) % choices.length];
}

/** Address of the WebSockets, whatever path prefix a proxy has added to the page's. */
function address() {
  const url = new URL("ws", location);
  return Object.assign(url, {protocol: url.protocol.replace("http", "ws"), hash: "", search: ""}).href;
}

function isServed() {
  return fetch(location.pathname, {method: "HEAD", cache: "no-store"}).then(({ok}) => ok, () => false);
}

window.twixt = new Page();
