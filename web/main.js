/**
 * Joins the page's parts: takes messages in, and draws one frame at each refresh of the display.
 *
 * The instant at which a frame will be seen is its timestamp plus one refresh interval, by the server's clock. The
 * playback clock gives the simulated time for it, the store the two snapshots around that time. Always: frames are
 * drawn by their timestamp, never by the time at which the callback runs. Snapshots that wait (for the clock map, or
 * for their scene) are not acknowledged, so at most the credit of them waits.
 */

import {PresentedCameras, View} from "./camera.js";
import {ClockMap, Connection, earlySockets, socketAddress} from "./connection.js";
import {Contents} from "./contents.js";
import {clockColumns, FrameLog, pairColumns, RefreshInterval} from "./frame_log.js";
import {TrailDots, Trails} from "./marks.js";
import {Overlay, pictureOf} from "./overlay.js";
import {nextScale, onlyInWindow, Panel} from "./panel.js";
import {MODES, PlaybackClock} from "./playback_clock.js";
import {DrawnPoses, ParentLog, publishedPlaces} from "./pose.js";
import {LEVELS, QualityLadder, Renderer} from "./renderer.js";
import {Scene} from "./scene.js";
import {SnapshotStore, Standstill} from "./snapshots.js";
import {UserInput} from "./user_input.js";
import {Decoder} from "./wire.js";

const METHODS = ["auto", "hermite", "linear", "none", "latest"];
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
// Width of the black line between the halves of a split view.
const LINE_PX = 2;
// Bytes of a picture in one message.
const PIECE_BYTES = 4096;

/** The page. For drivers and tests it is `window.twixt`. */
class Page {
  frameLog = new FrameLog();
  store = new SnapshotStore();
  clock = new PlaybackClock();
  leftClock = this.clock;  // of the left half of a split view
  clockMap = new ClockMap();
  contents = new Contents();
  connection;
  renderer = null;
  scene = null;
  view = new View();
  overlay = new Overlay(document);
  method = METHODS[0];
  isSplit = false;
  // Method of the left half: what a viewer draws that does not interpolate. "": that of the right half.
  #leftMethod = "latest";
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
  #pair = null;  // of the last frame, in the right half
  #timesNs = null;  // draw times of the left and of the right half
  shown = null;  // scene, poses and draw time of the last frame, in the right half
  #drawNs = null;
  presented = new PresentedCameras();
  follows = true;  // the camera of the page that presents, if there is one
  isPresenting = false;
  trails = null;  // of the left and of the right half; null: off
  #trailSeconds = 1;
  #dots = null;
  #drawn = [];  // the pictures of the last frame that was drawn
  #timestampMs = null;
  #panelMs = -Infinity;
  #taken = {messages: 0, bytes: 0};
  #wantsScreenshot = false;
  #request = null;  // a picture for the program
  #picture = {};  // number, bytes and place of the next bytes of the last one
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
      address: socketAddress(),
      early: earlySockets,
      token: () => location.hash.slice(1),
      decode: (...given) => this.decoder.decode(...given),
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
    this.#canvas.addEventListener("webglcontextrestored", () => (this.#drawn = {}));  // also while nothing moves
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
        this.#panel.fail(`Error in the page: ${error.message}`);
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
    this.presented = new PresentedCameras();
    this.isPresenting = false;
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
  #beginWith({interpolation, clock, prefer, buffer_ms: bufferMs = null, split, trails, overlay, keys, camera}) {
    const [[leftMethod, leftClock], [rightMethod, rightClock]] = split ?? [["latest"], []];
    const known = (method) => {
      if (METHODS.includes(method)) return method;
      if (method) this.#remarks.push(`${method} runs only in the window`);
      return "";
    };
    this.method = known(rightMethod || interpolation) || this.method;
    this.#leftMethod = known(leftMethod);
    this.isSplit = split !== undefined;
    const made = (mode) => new PlaybackClock(mode || CLOCKS[0], prefer, bufferMs);
    this.clock = this.leftClock = made(rightClock || clock);
    if (leftClock) this.leftClock = made(leftClock);
    if (trails) {
      this.#trailSeconds = trails === "all" ? Infinity : Number(trails);
      this.#switchTrails();
    }
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
      this.#drawn = [];
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
    this.#drawn = [];
    const remarks = [...this.#remarks, ...onlyInWindow(message.head, METHODS), this.contents.trouble];
    this.#panel.remark(remarks.filter(Boolean));
    if (isFirst || message.cameraVersion !== this.cameraVersion) {
      this.#setCamera(message.cameraVersion, this.scene.head.camera);
    }
    if (this.contents.isLost) this.connection.renew();
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
      this.trails?.forEach((trails) => trails.clear());
      this.input.forget();
    }
    const arrivalNs = snapshot.arrivalNs = this.clockMap.toServerNs(arrivalMs);
    const {simNs, dueNs, worldEpoch, planNumber} = snapshot;
    for (const clock of this.#clocks) clock.observe(simNs, dueNs, arrivalNs, worldEpoch, planNumber);
    if (this.store.add(snapshot)) this.renderer.upload(snapshot);
    this.connection.applied(message);
  }

  /** Forgets what was held before a gap, so that the picture cuts once to what is fresh. */
  #cut() {
    this.#isStale = false;
    this.store.clear();
    const anew = ({mode, prefer, bufferMs}) => new PlaybackClock(mode, prefer, bufferMs), {clock, leftClock} = this;
    this.clock = this.leftClock = anew(clock);
    if (leftClock !== clock) this.leftClock = anew(leftClock);
    if (this.plan !== null) for (const one of this.#clocks) one.replan(this.plan);
  }

  get #clocks() {
    return new Set([this.leftClock, this.clock]);
  }

  #control(message) {
    if (message.kind === "plan") {
      this.plan = {
        number: message.number, worldEpoch: message.world_epoch + this.#worldsBefore, wallNs: message.wall_ns,
        simNs: this.decoder.simNs(message.sim_time_ns), rate: message.rate,
      };
      for (const clock of this.#clocks) clock.replan(this.plan);
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
    } else if (message.kind === "presented") {
      this.#followPresenter(message);
    } else if (message.kind === "picture") {
      this.#request = message;
    } else if (message.kind === "more") {
      this.#sendPicture(message.count);
    } else if (message.kind === "refused") {
      this.#panel.note(`${message.name}: ${message.reason}`);
    }
  }

  #followPresenter(message) {
    const {presented} = this, isNew = !presented.isThere;
    // The former presenter's cameras still arrive until the server knows of this page's presentation.
    if (this.isPresenting && presented.isKnown(message)) return;
    presented.add(message, this.clockMap.toServerNs(performance.now()));
    if (this.isPresenting) {
      this.isPresenting = false;
      this.#panel.note("another page presents now");
    } else if (isNew && presented.isThere) this.#setFollows(true, "you follow the presenter");
  }

  #setFollows(follows, note = follows ? "the presenter's camera" : "your own camera") {
    this.follows = follows;
    if (follows) this.view.isMoved = false;
    this.#panel.note(note);
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

  async #answer(tick) {
    const {number, has_panels: hasPanels} = this.#request;
    this.#request = null;
    const picture = await pictureOf(this.#canvas, hasPanels), size = picture?.size ?? 0;
    this.#picture = {bytes: new Uint8Array(picture ? await picture.arrayBuffer() : 0), from: 0};
    this.connection.answer({kind: "picture", number, tick, size, error: size ? "" : "the picture is too large"});
  }

  #sendPicture(count) {
    const {bytes, from} = this.#picture, end = from + count;
    for (let at = from; at < end; at += PIECE_BYTES) {
      this.connection.answer(bytes.subarray(at, Math.min(at + PIECE_BYTES, end)));
    }
    this.#picture.from = end;
  }

  #draw(presentNs) {
    if (!this.#isStale || this.#timesNs === null) {
      const {clock, leftClock} = this, rightNs = clock.advanceTo(presentNs);
      this.#timesNs = [leftClock === clock ? rightNs : leftClock.advanceTo(presentNs), rightNs];
    }
    const {scene, store} = this, {newest} = store, {parentsOf} = this.#parents, [canvasPx, heightPx] = this.#size();
    const halves = this.isSplit ? [0, 1] : [1], methods = [this.#leftMethod || this.method, this.method];
    let oldestNs = Infinity;
    const pictures = halves.map((half) => {
      const layers = scene.layers.map((layer, at) => {
        const method = layer.method ?? methods[half], atNs = this.#timesNs[half] - layer.delayNs;
        const pair = store.at(atNs, half === halves[0] && at === 0);
        oldestNs = Math.min(oldestNs, atNs);
        if (method !== "latest") return {...pair, method};
        return {before: null, older: newest, newer: newest, share: 0, drawNs: newest.simNs, method};
      });
      const poses = new DrawnPoses(layers[0], layers[0].method, parentsOf, (body) => layers[scene.layerOf(body)]);
      return {...layers[0], layers, half, poses};
    });
    for (const snapshot of store.dropBefore(oldestNs)) this.renderer.release(snapshot);
    const {poses, drawNs} = this.#pair = pictures.at(-1);
    this.shown = {scene, poses, drawNs};
    const presentMs = this.#timestampMs + this.#refresh.ms, placesOf = () => publishedPlaces(newest, parentsOf);
    const widthPx = this.isSplit ? Math.max(1, (canvasPx - LINE_PX) >> 1) : canvasPx;
    if (this.follows && this.presented.isThere) {
      if (this.view.isMoved) this.#setFollows(false);
      else this.view.show(this.presented.at(presentNs));
    }
    this.view.advance(presentMs, {scene, newest, poses, placesOf}, widthPx, heightPx, this.input.isHeld);
    const camera = this.view.matrices(widthPx, heightPx);
    const {level} = this.quality;
    pictures.forEach((one, at) => (
      Object.assign(one, {level, camera, widthPx, heightPx, canvasPx, leftPx: at * (widthPx + LINE_PX)})));
    Object.assign(this.view.seen, {canvasPx, leftPx: pictures.at(-1).leftPx});
    this.input.frameDrawn(this.#timestampMs);  // before the drawing, so that no pull waits for it
    const isRequested = this.#request?.tick <= pictures[0].older.tick;
    const wantsPicture = this.#wantsScreenshot || isRequested;
    if (wantsPicture || pictures.length !== this.#drawn.length || !pictures.every(isSame, this.#drawn)) {
      for (const one of pictures) {
        this.renderer.draw(one);
        this.#drawTrails(presentMs, one);
      }
      this.#pictureMs = performance.now();
      this.overlay.label(scene, pictures);
      if (!this.#drawn.length) idle(() => this.renderer.prepare());
    }
    this.#drawn = pictures;
    if (this.#wantsScreenshot) pictureOf(this.#canvas, true).then((picture) => this.#panel.save(picture));
    this.#wantsScreenshot = false;
    if (isRequested) this.#answer(pictures[0].older.tick);
  }

  #switchTrails() {
    this.trails = this.trails === null ? [1, 2].map(() => new Trails(this.#trailSeconds)) : null;
    this.#drawn = [];
  }

  #drawTrails(presentMs, {poses, older, camera, canvasPx, half}) {
    if (this.trails === null) return;
    const trails = this.trails[half];
    this.#dots ??= new TrailDots(this.renderer);
    trails.add(presentMs, poses, older);
    this.#dots.draw(trails.dots(), this.scene, older, camera, canvasPx / this.#canvas.clientWidth);
  }

  #size() {
    const density = Math.min(devicePixelRatio, this.quality.level.density);
    const {clientWidth, clientHeight} = this.#canvas;
    return [Math.max(1, Math.round(clientWidth * density)), Math.max(1, Math.round(clientHeight * density))];
  }

  #record(timestampMs, beginMs, presentNs) {
    const {messages, bytes} = this.connection, {state} = this.clock, pair = this.#pair;
    const row = {
      timestampMs, presentNs, refreshMs: this.#refresh.ms, ageBoundMs: this.clockMap.boundMs,
      quality: this.quality.level.name,
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
      captions: this.#captions(), isPresenting: this.isPresenting,
      follows: this.presented.isThere ? this.follows : null, picked: this.input.picked(),
      bodies: this.store.newest?.count ?? null,
      rate: this.store.newest?.rate ?? null,
      bytesPerS: figures.seconds > 0 ? bytes.reduce((sum, value) => sum + value, 0) / figures.seconds : null,
    };
  }

  /** Captions of the two halves; null without a split view. */
  #captions() {
    if (!this.isSplit) return null;
    const halves = [[this.#leftMethod || this.method, this.leftClock], [this.method, this.clock]];
    return halves.map(([method, clock]) => `${method}, clock ${clock.mode}`);
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
      prefer: () => {
        const prefer = after(PREFERENCES, this.clock.prefer);
        for (const clock of this.#clocks) clock.prefer = prefer;
        this.#panel.note(`prefer: ${prefer}`);
      },
      split: () => this.#panel.note(`split view ${(this.isSplit = !this.isSplit) ? "on" : "off"}`),
      frame: () => {
        this.follows &&= !this.presented.isThere;
        this.#panel.note(this.view.frameAll() ? "all bodies framed" : "the program has locked the camera");
      },
      present: () => {
        this.isPresenting = !this.isPresenting;
        this.presented.clear();
        this.#panel.note(this.isPresenting ? "other pages follow your camera" : "you no longer present");
      },
      follow: () => this.#setFollows(!this.follows),
      trails: () => {
        this.#switchTrails();
        this.#panel.note(`trails ${this.trails === null ? "off" : "on"}`);
      },
      keys: () => this.input.keyboard.help,
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

/** True if a picture that is asked for is the one that was drawn last. this: the pictures that were drawn. */
function isSame({camera, poses, layers, ...asked}, at) {
  const drawn = this[at], isEqual = (one, other) => Object.keys(one).every((name) => one[name] === other[name]);
  return isEqual(asked, drawn) && layers.every((layer, index) => isEqual(layer, drawn.layers[index]))
    && isEqual(camera.view, drawn.camera.view) && isEqual(camera.projection, drawn.camera.projection);
}

function after(choices, chosen) {
  return choices[(choices.indexOf(chosen) + 1) % choices.length];
}

function isServed() {
  return fetch(location.pathname, {method: "HEAD", cache: "no-store"}).then(({ok}) => ok, () => false);
}

window.twixt = new Page();
