/**
 * What lies over the picture: the state of the view, messages, and the controls.
 *
 * Always: a message says what is wrong and what to do. Texts come from elsewhere (names, reasons), so they are set as
 * text, never as HTML. The document is written only where a text has changed.
 */

const NOTE_MS = 3000;
const CONTROL = ["pause", "step", "slower", "faster", "reset"];
const TIME_SCALES = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 50, 100];
// Elements of the page by their ids.
const IDS = [
  "dot", "name", "link", "strip", "remark", "program", "note", "message", "reload", "control", "scale", "method",
  "clock", "picked", "halves", "help", "lead",
];
const PHASES = {
  connecting: "connecting", waiting: "waiting", live: "live", lost: "link lost", refused: "refused", ended: "ended",
};
// Message by the reason of the link's state: title, text, and whether the button to reload is offered.
const MESSAGES = {
  "no-token": [
    "The link has no token", "Open the whole link that twixt has printed. The token is its end, after the #.",
  ],
  "wrong-token": [
    "The token is wrong",
    "This link belongs to another server, or to an earlier one. Open the link that twixt prints now.",
  ],
  version: [
    "The page is of another version",
    "Server and page have different versions. Reload the page; if that does not help, empty the browser's cache.",
    true,
  ],
  "too-many": [
    "Too many viewers",
    "The server accepts no more pages. Close another page; this one tries again by itself.",
  ],
  forbidden: [
    "The server refuses this address",
    "It sends the page, but refuses the WebSocket. Open the link as it was printed, or start twixt serve with --allow-host or "
    + "--allow-origin for this address. A proxy in front must pass WebSockets on.",
  ],
  invalid: ["The server did not understand the page", "Reload the page.", true],
  ended: ["The simulation has ended", "The page continues by itself when the simulation runs again."],
  waiting: ["Waiting for the simulation", "The picture appears as soon as it runs."],
  connecting: ["Connecting", "The server does not answer yet."],
  damaged: ["A message was damaged", "The page connects again by itself."],
  lost: [
    "The link is lost",
    "The page connects again by itself. Check that twixt serve, and the tunnel to it, still run.",
  ],
};
// For these reasons the server's own text says more than the advice.
const SAYS_MORE = ["ended", "invalid", "damaged"];
// Evenness: an animation error above this is marked.
const UNEVEN_MS = 5;
// Before this time, a page that connects shows no message.
const PATIENCE_MS = 800;

// A slider that the user drags sends at most this often. For a while after that, the status may have the old value.
const SEND_MS = 100, ANSWER_MS = 600;

/** The panels of one page. actions: functions by the names of the buttons. */
export class Panel {
  #document;
  #element;
  #actions;
  #noteTimer = null;
  #patienceTimer = null;
  #failure = null;
  #state = {phase: "connecting", reason: "", text: ""};
  #remarks = [];
  #controls;
  #mayControl = true;
  #hasPicture = false;
  #colors = null;

  constructor(document, actions) {
    this.#document = document;
    this.#element = Object.fromEntries(IDS.map((id) => [id, document.getElementById(id)]));
    this.#actions = {...actions, overlay: () => this.#toggleOverlay(), full: () => this.#toggleFull()};
    this.#actions.help = () => this.#toggleHelp();
    for (const button of document.querySelectorAll("[data-action]")) {
      button.addEventListener("click", () => this.act(button.dataset.action));
    }
    this.#controls = new ProgramControls(this.#element.program, actions.turn);
    this.#element.reload.addEventListener("click", () => document.location.reload());
    this.#button("full").hidden = !document.fullscreenEnabled;
    const theme = document.defaultView.matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", () => (this.#colors = null));
    this.linked(this.#state);
    const isSmall = document.defaultView.matchMedia("(max-width: 640px), (max-height: 430px)").matches;
    for (const id of ["card", "side"]) {
      const panel = document.getElementById(id), key = `twixt ${id}`;
      panel.open = (stored(key) ?? String(!isSmall)) === "true";
      panel.firstElementChild.addEventListener("click", () => stored(key, String(!panel.open)));
    }
  }

  /** Hides what lies over the picture, or shows it. */
  setBare(isBare) {
    this.#document.body.classList.toggle("is-bare", isBare);
    this.#button("overlay").setAttribute("aria-pressed", String(!isBare));
  }

  /** Shows a short note about what the user did. */
  note(text) {
    const {note} = this.#element;
    note.textContent = text;
    note.classList.add("is-shown");
    clearTimeout(this.#noteTimer);
    this.#noteTimer = setTimeout(() => note.classList.remove("is-shown"), NOTE_MS);
  }

  /** Shows an error that no new attempt can remove. */
  fail(text) {
    this.#failure = text;
    this.#showMessage();
  }

  /** Shows what the server said about the simulation and about this page's rights. */
  welcome({name, may_control: mayControl}) {
    set(this.#element.name, name);
    this.#mayControl = mayControl;
  }

  /** Shows the state of the link. */
  linked(state) {
    this.#state = state;
    this.#element.dot.dataset.phase = state.phase;
    set(this.#element.link, PHASES[state.phase]);
    clearTimeout(this.#patienceTimer);
    const isBrief = state.phase === "connecting" || (state.phase === "waiting" && !state.reason);
    if (isBrief) this.#patienceTimer = setTimeout(() => this.#showMessage(), PATIENCE_MS);
    if (!isBrief || state.phase === "live") this.#showMessage();
  }

  /** Remarks about the scene, shown below the figures with the simulation's warning. */
  remark(texts) {
    this.#remarks = texts;
  }

  /** Shows the figures of the last seconds. */
  show({
    figures, state, status, isPaused, timeScale, modes, timestampsMs, bodies, rate, bytesPerS, picked, captions,
    isPresenting, follows,
  }) {
    if (this.#hasPicture !== (bodies !== null)) {
      this.#hasPicture = bodies !== null;
      this.#showMessage();
    }
    const errorMs = figures.animationErrorMs.p99, ageMs = figures.sampleAgeMs.p50;
    const remarks = [...this.#remarks, status.warning].filter(Boolean);
    set(this.#element.remark, remarks.join("\n"));
    this.#element.remark.hidden = !remarks.length;
    // The status of a user's own loop has no field `paused`, because that loop decides itself when to step.
    this.#controls.show(this.#mayControl ? status.controls ?? [] : []);
    this.#element.control.hidden = !(this.#mayControl && "paused" in status);
    this.#figure("fps", figures.meanFps === null ? "–" : `${figures.meanFps.toFixed(1)} fps`);
    this.#figure("error", errorMs === null ? "–" : `${number(errorMs)} ms`, errorMs > UNEVEN_MS);
    this.#figure("age", ageMs === null ? "–" : `${number(ageMs)} ± ${number(state.boundMs)} ms`);
    this.#figure("rate", isPaused ? "paused" : rate === null ? "–" : `${number(rate)} × real time`);
    this.#figure("stream", bytesPerS === null ? "–" : amount(bytesPerS));
    this.#figure("trip", Number.isFinite(state.roundTripMs) ? `${number(state.roundTripMs)} ms` : "–");
    this.#figure("bodies", bodies === null ? "–" : bodies.toLocaleString("en"));
    this.#figure("clock", state.clock.mode);
    this.#figure("quality", state.quality).parentNode.hidden = state.quality === "full";
    this.#element.picked.hidden = picked === null;
    if (picked !== null) {
      this.#figure("picked", picked.label ? `${picked.body} · ${picked.label}` : String(picked.body));
      this.#figure("place", picked.position.map(number).join(", "));
      this.#figure("speed", picked.speed === null ? "–" : `${number(picked.speed)} m/s`);
    }
    const {halves, lead} = this.#element, [present, follow] = lead.children;
    present.hidden = !this.#mayControl;
    follow.hidden = follows === null;
    lead.hidden = present.hidden && follow.hidden;
    present.setAttribute("aria-pressed", String(isPresenting));
    follow.setAttribute("aria-pressed", String(follows));
    halves.hidden = !captions;
    captions?.forEach((text, half) => set(halves.children[half], text));
    set(this.#element.method, state.method);
    set(this.#element.clock, state.clockMode);
    set(this.#element.scale, `${timeScale}×`);
    const pause = this.#button("pause");
    pause.setAttribute("aria-pressed", String(isPaused));
    pause.setAttribute("aria-label", isPaused ? "Continue" : "Pause");
    if (!this.#document.body.classList.contains("is-bare")) this.#drawStrip(modes, timestampsMs, state.refreshMs);
  }

  /** Gives the user a picture as a file. */
  save(picture) {
    const link = this.#document.createElement("a");
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(/[T:]/g, "-");
    link.href = URL.createObjectURL(picture);
    link.download = `twixt-${stamp}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    this.note(`${link.download} saved`);
  }

  /** Performs the action of a button or a key. */
  act(name) {
    if (CONTROL.includes(name) && this.#element.control.hidden) {
      return this.note(this.#mayControl ? "your own program runs the loop" : "this link only watches");
    }
    this.#actions[name]();
  }

  #button(name) {
    return this.#document.querySelector(`[data-action="${name}"]`);
  }

  #figure(name, text, isBad = false) {
    const element = this.#document.querySelector(`[data-figure="${name}"]`);
    set(element, text);
    element.classList.toggle("is-bad", isBad);
    return element;
  }

  #toggleOverlay() {
    const isBare = !this.#document.body.classList.contains("is-bare");
    this.setBare(isBare);
    this.note(isBare ? "overlay hidden: H shows it" : "overlay shown");
  }

  /** Shows the keys that have an effect, or hides them. */
  #toggleHelp() {
    const {help} = this.#element, make = (tag, ...inside) => {
      const element = this.#document.createElement(tag);
      element.append(...inside);
      return element;
    };
    help.hidden = !help.hidden;
    help.parentElement.open = true;
    const keys = this.#actions.keys().filter(({action}) => !CONTROL.includes(action) || !this.#element.control.hidden);
    help.replaceChildren(...keys.map(({key, text}) => make("div", make("dt", key), make("dd", text))));
  }

  async #toggleFull() {
    try {
      if (this.#document.fullscreenElement) await this.#document.exitFullscreen();
      else await this.#document.documentElement.requestFullscreen();
    } catch {
      this.note("the browser refuses full screen");
    }
  }

  #showMessage() {
    const {message} = this.#element, {phase, reason, text} = this.#state;
    message.dataset.over = this.#hasPicture && this.#failure === null ? "picture" : "nothing";
    let [title, advice, canReload] = MESSAGES[reason] ?? MESSAGES[phase] ?? [];
    if (this.#failure !== null) [title, advice, canReload] = ["No picture", this.#failure, true];
    message.hidden = title === undefined;
    if (message.hidden) return;
    set(message.querySelector("h2"), title);
    const says = text && SAYS_MORE.includes(reason) && this.#failure === null ? `${text}\n` : "";
    set(message.querySelector("p"), says + advice);
    this.#element.reload.hidden = !canReload;
  }

  /** Draws one bar for each of the last frames: its height is the frame interval, its colour the mode. */
  #drawStrip(modes, timestampsMs, refreshMs) {
    const {strip} = this.#element, {width, height} = strip, context = strip.getContext("2d");
    this.#colors ??= this.#themeColors();
    context.clearRect(0, 0, width, height);
    const bars = Math.min(width / 2, modes.length - 1);
    for (let bar = 0; bar < bars; bar++) {
      const at = modes.length - 1 - bar;
      const refreshes = (timestampsMs[at] - timestampsMs[at - 1]) / refreshMs;
      const tall = Math.min(height, Math.max(2, (refreshes * height) / 4));
      context.fillStyle = this.#colors[refreshes > 1.5 ? "late" : modes[at]] ?? this.#colors.none;
      context.fillRect(width - 2 * (bar + 1), height - tall, 1.5, tall);
    }
  }

  #themeColors() {
    const style = this.#document.defaultView.getComputedStyle(this.#document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return {interpolated: of("--accent"), held: of("--warn"), none: of("--line"), late: of("--bad")};
  }
}

/**
 * Sliders, switches and buttons that the program offers. send: gets the index of a control and its new value.
 *
 * A control shows the value of the status, but while the user drags it, and shortly after, the user's own.
 */
class ProgramControls {
  #list;
  #send;
  #key = "";
  #inputs = [];
  #touchedMs = [];

  constructor(list, send) {
    this.#list = list;
    this.#send = send;
  }

  /** controls: rows of kind, name, value, low, high and section, as in the status. */
  show(controls) {
    const key = JSON.stringify(controls.map(([kind, name, , low, high, section]) => [kind, name, low, high, section]));
    if (key !== this.#key) {
      this.#key = key;
      this.#touchedMs = controls.map(() => -Infinity);
      this.#make(controls);
    }
    controls.forEach(([kind, , value], index) => {
      const input = this.#inputs[index], isOwn = performance.now() - this.#touchedMs[index] < ANSWER_MS;
      if (kind === "button" || isOwn || input.matches(":active")) return;
      input.checked = value !== 0;
      input.value = value;
      this.#say(input, value);
    });
  }

  #make(controls) {
    const document = this.#list.ownerDocument, make = (tag, more) => Object.assign(document.createElement(tag), more);
    const sections = new Map();
    this.#inputs = controls.map(([kind, name, value, low, high, section], index) => {
      if (!sections.has(section)) {
        const group = make("fieldset", {});
        group.append(make("legend", {textContent: section}));
        sections.set(section, group);
      }
      const label = make(kind === "button" ? "div" : "label", {className: kind});
      const input = kind === "button" ? make("button", {type: "button", textContent: name}) : make("input", {
        type: kind === "slider" ? "range" : "checkbox", min: low, max: high, step: "any",
      });
      if (kind !== "button") label.append(make("span", {textContent: name}));
      label.append(input);
      if (kind === "slider") label.append(make("output", {}));
      sections.get(section).append(label);
      const read = () => (kind === "button" ? 1 : kind === "toggle" ? Number(input.checked) : Number(input.value));
      const turn = (isLast) => {
        const isDue = performance.now() - this.#touchedMs[index] >= SEND_MS;
        this.#say(input, read());
        if (!isLast && !isDue) return;
        this.#touchedMs[index] = performance.now();
        this.#send(index, read());
      };
      if (kind === "button") input.addEventListener("click", () => turn(true));
      else input.addEventListener("change", () => turn(true));
      if (kind === "slider") input.addEventListener("input", () => turn(false));
      return input;
    });
    this.#list.replaceChildren(...sections.values());
    this.#list.hidden = !controls.length;
  }

  #say(input, value) {
    if (input.type === "range") set(input.nextElementSibling, String(Number(value.toPrecision(3))));
  }
}

/**
 * Texts about what only the window draws as the program asks: functions and methods that run in Python.
 * @param {object} head tables of the scene
 * @param {string[]} methods interpolation methods of the page
 */
export function onlyInWindow({columns, groups, color_by: colorBy}, methods) {
  const drawn = ["scale3", "color", "visible", colorBy?.column];
  const rules = Object.entries(columns).filter(([name, rule]) => drawn.includes(name) && rule.includes(":"));
  const others = groups.filter(({interpolation}) => interpolation && !methods.includes(interpolation));
  return [
    ...rules.map(([name, rule]) => `column ${name} is blended linearly: ${rule} runs only in the window`),
    ...others.map((group) => `group ${group.name} moves as the others: ${group.interpolation} runs only in the window`),
  ];
}

/** The time scale that follows `scale`, upwards if `isFaster`, as the keys of the window change it. */
export function nextScale(scale, isFaster) {
  if (isFaster) return TIME_SCALES.find((step) => step > scale * 1.001) ?? TIME_SCALES.at(-1);
  return TIME_SCALES.findLast((step) => step < scale * 0.999) ?? TIME_SCALES[0];
}

/** Text of a number with three significant digits, or two decimals below 10. */
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value), digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}

/** What this browser has kept under a key; null if it keeps nothing, such as in a frame of another site. */
function stored(key, value) {
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function amount(bytesPerS) {
  if (bytesPerS < 1e3) return `${number(bytesPerS)} B/s`;
  return bytesPerS < 1e6 ? `${number(bytesPerS / 1e3)} kB/s` : `${number(bytesPerS / 1e6)} MB/s`;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
