/**
 * What a program draws over the picture: texts, images, figures, plots, diagnostics, and labels of bodies and marks.
 *
 * Places are those of the window (render/scene/labels.py, render/overlay/program_pictures.py), in CSS pixels. Always: a
 * canvas is drawn only after its content or its size has changed, and only the newest content. The functions are pure,
 * except those that draw into a canvas.
 */

import {blendedMarks, placedMarks} from "./marks.js";
import {chosenPair} from "./pose_pass.js";

// Free space above and below the points, as a share of their range, and width of bars.
const PLOT_MARGIN = 0.06, FIGURE_MARGIN = 0.05, BAR_WIDTH = 0.67;
// Figures and plots are dark in both themes, because the colours of their lines are made for that.
const PAPER = "rgb(24 28 33 / 88%)", INK = "#e7eaed", MUTED = "#9aa5b0", GRID = "rgb(230 240 250 / 14%)";
// As in render/overlay/plot_panel.py.
const COLORS = [
  [0.35, 0.70, 0.90], [0.90, 0.62, 0.0], [0.0, 0.75, 0.55], [0.95, 0.90, 0.25], [0.80, 0.47, 0.65],
  [0.90, 0.40, 0.20], [0.75, 0.75, 0.80], [0.45, 0.55, 0.95],
];

/** @typedef {{name: string, color: ?number[], points: Float64Array}} Line points: x and y of each point. */

/** Range of finite numbers, a little wider if they are all equal. */
function rangeOf(values, more = 0) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  low -= more;
  high += more;
  const least = 1e-6 * Math.max(Math.abs(low), Math.abs(high), 1e-6);
  return high - low > least ? [low, high] : [low - Math.max(least, 0.5), high + Math.max(least, 0.5)];
}

function widened([low, high], share) {
  return [low - share * (high - low), high + share * (high - low)];
}

/** Ranges [x, y] of the axes of a figure or a plot. @returns {[number[], number[]]} */
export function rangesOf({lines, xRange = null, yRange = null, kind = null}) {
  const every = (axis) => lines.flatMap(({points}) => Array.from(points.filter((_, at) => at % 2 === axis)));
  const isBars = kind === "bars";
  return [
    xRange ?? rangeOf(every(0), isBars ? BAR_WIDTH : 0),
    yRange ?? widened(rangeOf(isBars ? [...every(1), 0] : every(1)), kind === null ? PLOT_MARGIN : FIGURE_MARGIN),
  ];
}

/** Round numbers within a range, about `most` of them, and their text. @returns {{value: number, text: string}[]} */
export function ticksOf([low, high], most) {
  const least = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= least * 0.999) ?? 10);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let count = Math.ceil(low / step - 1e-9); count <= high / step + 1e-9; count++) {
    const value = count * step, size = Math.abs(value);
    const isLong = size >= 1e5 || digits > 4;
    found.push({value, text: value === 0 ? "0" : isLong ? value.toExponential(1) : value.toFixed(digits)});
  }
  return found;
}

/** Text of a number with four significant digits. */
function shortNumber(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

/** Colour of a line as in CSS. color: red, green and blue from 0 to 1, or null */
function colorOf(number, color) {
  return (color ?? COLORS[number % COLORS.length]).map((share) => Math.round(255 * share)).join(" ");
}

/** Draws a figure or a plot over its whole canvas, whose size is given by its style. */
function drawFigure(canvas, figure) {
  const density = Math.min(2, devicePixelRatio), width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  const context = canvas.getContext("2d"), {title = "", xLabel = "", lines} = figure;
  context.scale(density, density);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = PAPER;
  context.fillRect(0, 0, width, height);
  const [xRange, yRange] = rangesOf(figure), hasNumbers = width >= 110 && height >= 60;
  const xs = ticksOf(xRange, width / 60), ys = ticksOf(yRange, height / 30);
  const wide = hasNumbers ? Math.max(0, ...ys.map(({text}) => context.measureText(text).width)) + 8 : 4;
  const bottom = height - (hasNumbers ? 18 : 4) - (xLabel ? 14 : 0);
  const box = {left: wide, top: title ? 20 : 6, right: width - 6, bottom};
  const toX = (x) => box.left + (x - xRange[0]) / (xRange[1] - xRange[0]) * (box.right - box.left);
  const toY = (y) => box.bottom - (y - yRange[0]) / (yRange[1] - yRange[0]) * (box.bottom - box.top);
  const say = (text, x, y, align, color = MUTED) => {
    Object.assign(context, {fillStyle: color, textAlign: align});
    context.fillText(text, x, y);
  };
  context.fillStyle = GRID;
  for (const {value} of xs) context.fillRect(toX(value), box.top, 1, box.bottom - box.top);
  for (const {value} of ys) context.fillRect(box.left, toY(value), box.right - box.left, 1);
  if (hasNumbers) {
    xs.forEach(({value, text}) => say(text, toX(value), box.bottom + 13, "center"));
    ys.forEach(({value, text}) => say(text, box.left - 4, toY(value) + 4, "right"));
  }
  if (title) say(title, width / 2, 14, "center", INK);
  if (xLabel) say(xLabel, (box.left + box.right) / 2, height - 5, "center");
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  context.clip();
  lines.forEach(({points, color}, number) => {
    context.strokeStyle = context.fillStyle = `rgb(${colorOf(number, color)})`;
    context.lineWidth = 1.5;
    context.beginPath();
    for (let at = 0, isApart = true; at < points.length; at += 2) {
      const x = points[at], y = points[at + 1];
      if (figure.kind === "bars") {
        context.fillRect(toX(x - BAR_WIDTH / 2), toY(y), toX(BAR_WIDTH) - toX(0), toY(0) - toY(y));
      } else if (Number.isNaN(y)) isApart = true;
      else {
        context[isApart ? "moveTo" : "lineTo"](toX(x), toY(y));
        isApart = false;
      }
    }
    context.stroke();
  });
  context.restore();
  if (!figure.hasLegend) return;
  lines.map((line, number) => ({...line, number})).filter(({name}) => name).forEach(({name, color, number}, at) => {
    const y = box.top + 14 + 14 * at;
    if (y < box.bottom) say(name, box.left + 8, y, "left", `rgb(${colorOf(number, color)})`);
  });
}

const SORTS = ["images", "figures", "plots"];
// A larger overlay is damaged: see MOST_IMAGE_BYTES in ipc/interaction/overlay.py.
const MOST_BYTES = 9 << 20;
const CHANNELS = 3;
const TEXT_RECORD = 255, TEXT_LABEL = 0x80000000, TEXT_BYTES = 52;
const MOST_LABELS = 500, MOST_BESIDE = 0.25;
const TEXT_SIZES = [0.1, 8];
/** @typedef {{left: number, top: number, right: number, bottom: number}} Rectangle in px, from the upper left corner */

/** Joins the pieces of one sort of overlays. */
export class OverlayPieces {
  #bytes = new Uint8Array(0);
  #shown = this.#bytes;  // its bytes are in use
  #filled = 0;

  /**
   * @param {{offset: number, size: number, bytes: Uint8Array}} piece
   * @returns {?{sort: string, shown: object[]}} The overlay that is complete now; null if none is.
   */
  add({offset, size, bytes}) {
    if (offset === 0) {
      if (size > MOST_BYTES) throw new Error(`an overlay has ${size} bytes`);
      if (this.#bytes.length !== size) this.#bytes = new Uint8Array(size);
      this.#filled = 0;
    }
    if (offset !== this.#filled || size !== this.#bytes.length || offset + bytes.length > size) {
      throw new Error(`an overlay of ${size} bytes has a piece at ${offset}`);
    }
    this.#bytes.set(bytes, offset);
    this.#filled += bytes.length;
    if (this.#filled < size) return null;
    [this.#shown, this.#bytes] = [this.#bytes, this.#shown];
    return overlayOf(this.#shown);
  }
}

/** @param {Uint8Array} bytes an overlay @returns {{sort: string, shown: object[]}} */
export function overlayOf(bytes) {
  const end = bytes.indexOf(10);
  const fields = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
  let at = end + 1;
  const take = (count) => {
    if (!(count >= 0 && at + count <= bytes.length)) throw new Error("an overlay has too few bytes");
    at += count;
    return bytes.subarray(at - count, at);
  };
  const line = ([name, color, count]) => (
    {name, color, points: new Float64Array(take(16 * count).slice().buffer)});
  const sort = SORTS.find((one) => one in fields);
  const shown = fields[sort].map((row) => {
    if (sort === "images") {
      const [rows, columns] = row.slice(4);
      return {rect: row.slice(0, 4), rows, columns, pixels: take(CHANNELS * rows * columns)};
    }
    if (sort === "plots") return {name: row[0], lines: row[1].map(([name, count]) => line([name, null, count]))};
    const [rect, title, xLabel, xRange, yRange, kind, hasLegend, lines] = row;
    return {rect, title, xLabel, xRange, yRange, kind, hasLegend, lines: lines.map(line)};
  });
  return {sort, shown};
}

/**
 * Fits rectangles into the window and moves them off the reserved ones, as `clear_places` in program_pictures.py.
 * @param {number[][]} rects left, bottom, width and height; from the window's lower left corner
 * @param {Rectangle[]} reserved
 * @returns {Rectangle[]}
 */
export function clearPlaces(rects, reserved, widthPx, heightPx) {
  const wanted = rects.map(([left, bottom, width, height]) => (
    {left, top: heightPx - bottom - height, right: left + width, bottom: heightPx - bottom})), placed = [];
  rects.forEach((rect, at) => {
    const others = placed.filter((_, number) => !areOver(wanted[number], wanted[at]));
    placed.push(nearest(fitted(rect, widthPx, heightPx), [...reserved, ...others], widthPx, heightPx));
  });
  return placed;
}

// A phone's window is smaller than the one for which a program made its pictures.
function fitted([left, bottom, width, height], widthPx, heightPx) {
  const share = Math.min(1, widthPx / width, heightPx / height), wide = width * share, tall = height * share;
  const x = Math.max(0, Math.min(left, widthPx - wide)), y = Math.max(0, Math.min(bottom, heightPx - tall));
  return {left: x, top: heightPx - y - tall, right: x + wide, bottom: heightPx - y};
}

function nearest(wanted, taken, widthPx, heightPx) {
  const wide = wanted.right - wanted.left, tall = wanted.bottom - wanted.top;
  const tried = (from, length, starts, ends, most) => (
    [from, ...[...starts.map((start) => start - length), ...ends].filter((at) => at >= 0 && at <= most - length)]);
  let best = wanted, least = Infinity;
  for (const left of tried(wanted.left, wide, taken.map((one) => one.left), taken.map((one) => one.right), widthPx)) {
    for (const top of tried(wanted.top, tall, taken.map((one) => one.top), taken.map((one) => one.bottom), heightPx)) {
      const one = {left, top, right: left + wide, bottom: top + tall};
      const distance = Math.abs(left - wanted.left) + Math.abs(top - wanted.top);
      if (distance < least && !taken.some((other) => areOver(one, other))) [best, least] = [one, distance];
    }
  }
  return best;
}

function areOver(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

/** The text of a mark's label, as `text_of_label` in ipc/scene/mark_texts.py. */
export function textOfLabel(label, {markWords, vertices = 0}, ofScene) {
  if (label < TEXT_LABEL) return ofScene[label - 1] ?? "";
  const records = markWords.length / 16 - Math.ceil(12 * vertices / 64), last = 16 * (records - 1);
  if (records < 1 || (markWords[last + 13] & 255) !== TEXT_RECORD) return "";
  const first = Math.max(0, records - markWords[last + 14]);
  const all = new Uint8Array(markWords.buffer, markWords.byteOffset, markWords.byteLength);
  const byte = (at) => all[64 * (first + Math.floor(at / TEXT_BYTES)) + at % TEXT_BYTES];
  const start = label - TEXT_LABEL, most = (records - first) * TEXT_BYTES;
  if (start + 2 > most) return "";
  const length = Math.min(byte(start) | (byte(start + 1) << 8), most - start - 2);
  return new TextDecoder().decode(Uint8Array.from({length}, (_, at) => byte(start + 2 + at)));
}

/**
 * Labels of visible bodies, and texts of marks, between two snapshots.
 * @returns {{position: number[], text: string, color: number[], size: number, reachM: number}[]}
 */
function labelsOf(scene, poses, asked) {
  const white = [255, 255, 255, 255], found = [];
  for (const {body, text, reachM} of scene.labels(poses.count)) {
    const pose = poses.of(body);
    if (pose.isVisible) found.push({position: pose.position, text, color: white, size: 1, reachM: reachM * pose.scale});
  }
  const pair = chosenPair(asked), marks = blendedMarks(pair).filter(({label}) => label > 0);
  for (const {kind, position, size: [a], color, label} of marks.length ? placedMarks(marks, poses) : []) {
    const text = textOfLabel(label, pair.older, scene.head.labels ?? []), isText = kind === "text";
    const size = isText ? Math.min(Math.max(a, TEXT_SIZES[0]), TEXT_SIZES[1]) : 1;
    if (text) found.push({position, text, color: isText ? color : white, size, reachM: 0});
  }
  return found;
}

/**
 * Places the labels that are in the view, the farthest first; at most MOST_LABELS, the nearest ones.
 * @param {ReturnType<typeof labelsOf>} labels
 * @param {{view: ArrayLike<number>, projection: ArrayLike<number>, eye: number[]}} camera
 * @param {number} leftPx left edge of the picture
 * @returns {{xPx: number, yPx: number, text: string, color: number[], size: number}[]}
 */
export function placedLabels(labels, {view, projection, eye}, widthPx, heightPx, leftPx = 0) {
  const found = [];
  for (const {position, reachM, ...label} of labels) {
    const [x, y, z] = position.map((value, axis) => value - eye[axis]);
    const point = [0, 4, 8].map((row) => view[row] * x + view[row + 1] * y + view[row + 2] * z).concat(1);
    const clip = [0, 4, 8, 12].map((row) => point.reduce((sum, value, at) => sum + value * projection[row + at], 0));
    const w = clip[3];
    if (!(w > 0 && clip.slice(0, 3).every((value) => Math.abs(value) <= w))) continue;
    const besidePx = Math.min(reachM * projection[0] / w * widthPx / 2, MOST_BESIDE * heightPx);
    found.push({
      ...label, depthM: point[2],
      xPx: leftPx + (clip[0] / w + 1) / 2 * widthPx + besidePx, yPx: (1 - clip[1] / w) / 2 * heightPx,
    });
  }
  return found.sort((one, other) => one.depthM - other.depthM).slice(-MOST_LABELS);
}

/** Draws everything into the elements `over`, `plots` and `diagnostics` of the page. */
export class Overlay {
  #document;
  #over;
  #pieces = SORTS.map(() => new OverlayPieces());
  #shown = {images: [], figures: [], plots: []};
  #changed = new Set();
  #canvases = {images: [], figures: []};
  #layers;
  #labels = [];
  #keys = new Map();
  #opened = new Map();

  constructor(document) {
    this.#document = document;
    this.#over = document.getElementById("over");
    this.#layers = Object.fromEntries(["images", "figures", "labels", "texts"].map((name) => (
      [name, this.#over.appendChild(this.#make("div", {className: name}))])));
    // Panels that change their size push pictures and texts aside.
    const observer = new ResizeObserver(() => this.#changed.add("places"));
    for (const id of ["over", "card", "side", "bar"]) observer.observe(document.getElementById(id));
  }

  /** Forgets images, figures and plots. Call this when a new connection begins, because the server sends all again. */
  begin() {
    for (const sort of SORTS) this.#set(sort, []);
  }

  /** Takes a piece of images, figures or plots. */
  take(message) {
    const overlay = this.#pieces[message.codec]?.add(message) ?? null;
    if (overlay !== null) this.#set(overlay.sort, overlay.shown);
  }

  #set(sort, shown) {
    this.#shown[sort] = shown;
    this.#changed.add(sort);
    if (this.#isNew(sort, shown.map(({rect}) => rect))) this.#changed.add("places");
  }

  /** Shows the texts and diagnostics of the status. */
  setStatus({texts = [], diagnostics = {}}) {
    if (this.#isNew("texts", texts)) {
      const of = (place) => texts.filter((text) => text.place === place);
      this.#layers.texts.replaceChildren(...[...new Set(texts.map(({place}) => place))].map((place) => {
        const stack = this.#make("div", {className: "stack"});
        stack.dataset.place = place;
        stack.append(...of(place).map(({text, value, size}) => {
          const box = this.#make("div", {className: "text"});
          box.style.fontSize = `${size}em`;
          box.append(...[text, value].filter(Boolean).map((textContent) => this.#make("span", {textContent})));
          return box;
        }));
        return stack;
      }));
      this.#changed.add("places");
    }
    if (this.#isNew("diagnostics", diagnostics)) {
      const list = this.#document.getElementById("diagnostics");
      list.replaceChildren(...Object.entries(diagnostics).map(([name, value]) => {
        const row = this.#make("div", {});
        row.append(this.#make("dt", {textContent: name}), this.#make("dd", {textContent: shortNumber(value)}));
        return row;
      }));
      list.hidden = !list.childElementCount;
    }
  }

  /** Draws what has changed since the last call. Call it once a frame. */
  draw() {
    if (!this.#changed.size) return;
    const changed = this.#changed;
    this.#changed = new Set();
    if (changed.has("places")) this.#place();
    for (const [sort, drawOne] of [["images", drawImage], ["figures", drawFigure]]) {
      if (!changed.has(sort) && !changed.has("places")) continue;
      this.#shown[sort].forEach((one, at) => drawOne(this.#canvases[sort][at], one));
    }
    if (changed.has("plots")) this.#drawPlots();
  }

  /** Shows the labels of the pictures that were drawn. */
  label(scene, pictures) {
    const {clientWidth, clientHeight} = this.#over;
    const placed = pictures.flatMap((asked) => {
      const labels = labelsOf(scene, asked.poses, asked), perPx = clientWidth / asked.canvasPx;
      if (!labels.length) return labels;
      return placedLabels(labels, asked.camera, asked.widthPx * perPx, clientHeight, asked.leftPx * perPx);
    });
    while (this.#labels.length < placed.length) {
      this.#labels.push(this.#layers.labels.appendChild(this.#make("span", {})));
    }
    this.#labels.forEach((span, at) => {
      const label = placed[at];
      span.hidden = label === undefined;
      if (span.hidden) return;
      if (span.textContent !== label.text) span.textContent = label.text;
      span.style.transform = `translate(${label.xPx.toFixed(1)}px, ${label.yPx.toFixed(1)}px)`;
      span.style.fontSize = `${label.size}em`;
      span.style.color = `rgb(${label.color.slice(0, 3).join(" ")} / ${label.color[3] / 255})`;
    });
  }

  /** Puts canvases and texts where the panels leave room. */
  #place() {
    const {clientWidth, clientHeight} = this.#over;
    const panels = ["card", "side", "bar"].map((id) => this.#document.getElementById(id).getBoundingClientRect());
    const names = ["figures", "images"], wanted = names.flatMap((name) => this.#shown[name].map(({rect}) => rect));
    const places = clearPlaces(wanted, panels.filter(({width}) => width > 0), clientWidth, clientHeight);
    for (const name of names) {
      const canvases = this.#canvases[name];
      while (canvases.length < this.#shown[name].length) {
        canvases.push(this.#layers[name].appendChild(this.#make("canvas", {})));
      }
      for (const canvas of canvases.splice(this.#shown[name].length)) canvas.remove();
      canvases.forEach((canvas) => {
        const {left, top, right, bottom} = places.shift();
        Object.assign(canvas.style, {left: px(left), top: px(top), width: px(right - left), height: px(bottom - top)});
      });
    }
    const [card, side, bar] = panels, isNarrow = card.width + side.width > clientWidth / 2;
    const middle = isNarrow ? Math.max(card.bottom, side.bottom) : 0;
    const tops = {"top left": card.bottom, "top right": side.bottom, top: middle};
    for (const stack of this.#layers.texts.children) {
      const {place} = stack.dataset;
      if (place in tops) stack.style.top = px(tops[place]);
      else if (place.startsWith("bottom")) {
        const isBeside = place !== "bottom" && stack.offsetWidth < bar.left;
        stack.style.bottom = px(bar.width && !isBeside ? clientHeight - bar.top : 0);
      }
    }
  }

  #drawPlots() {
    const {plots} = this.#shown, list = this.#document.getElementById("plots");
    if (this.#isNew("lines", plots.map(({name, lines}) => [name, ...lines.map((line) => line.name)]))) {
      this.#opened.clear();
      list.replaceChildren(...plots.map(({name, lines}) => {
        const section = this.#make("details", {open: true}), summary = this.#make("summary", {textContent: name});
        const newest = lines.map((line, at) => {
          const output = this.#make("output", {});
          output.style.color = `rgb(${colorOf(at, null)})`;
          return output;
        });
        const legend = this.#make("p", {}), canvas = this.#make("canvas", {});
        legend.append(...newest);
        section.append(summary, legend, canvas);
        section.addEventListener("toggle", () => this.#changed.add("plots"));
        this.#opened.set(name, {section, newest, canvas});
        return section;
      }));
      list.hidden = !plots.length;
    }
    for (const plot of plots) {
      const {section, newest, canvas} = this.#opened.get(plot.name);
      plot.lines.forEach(({name, points}, at) => {
        newest[at].textContent = [name, points.length ? shortNumber(points.at(-1)) : ""].filter(Boolean).join(" ");
      });
      if (section.open && canvas.clientWidth) drawFigure(canvas, plot);
    }
  }

  #isNew(name, value) {
    const key = JSON.stringify(value), isNew = key !== (this.#keys.get(name) ?? "");
    this.#keys.set(name, key);
    return isNew;
  }

  #make(tag, fields) {
    return Object.assign(this.#document.createElement(tag), fields);
  }
}

/**
 * A PNG file of what a canvas shows, with what lies over it. Call it in the task in which the canvas was drawn, because
 * later it has no pixels. Sliders, switches and signs are left out.
 * @param {HTMLCanvasElement} canvas the picture
 * @param {boolean} hasPanels whether the panels are in it
 * @returns {Promise<?Blob>} null if it is too large for the browser
 */
export function pictureOf(canvas, hasPanels) {
  const {width, height, ownerDocument} = canvas, scale = width / canvas.clientWidth;
  const picture = Object.assign(ownerDocument.createElement("canvas"), {width, height});
  const context = picture.getContext("2d");
  context.drawImage(canvas, 0, 0);
  context.scale(scale, scale);
  context.textBaseline = "middle";
  const ids = ["over", "halves", ...(hasPanels ? ["card", "side"] : [])];
  for (const id of ids) paint(context, ownerDocument.getElementById(id));
  return new Promise((resolve) => picture.toBlob(resolve));
}

/** Draws an element and all in it: background, border, texts, canvases. */
function paint(context, element) {
  const style = getComputedStyle(element), {left, top, width, height} = element.getBoundingClientRect();
  if (element.checkVisibility?.() === false) return;
  context.save();
  context.beginPath();
  context.roundRect(left, top, width, height, parseFloat(style.borderRadius) || 0);
  context.fillStyle = style.backgroundColor;
  context.fill();
  context.strokeStyle = style.borderColor;
  if (parseFloat(style.borderWidth)) context.stroke();
  if (style.overflow !== "visible") context.clip();
  if (element.tagName === "CANVAS" && width * height) context.drawImage(element, left, top, width, height);
  Object.assign(context, {font: style.font, fillStyle: style.color});
  Object.assign(context, {shadowColor: style.textShadow === "none" ? "transparent" : "#000", shadowBlur: 4});
  const range = element.ownerDocument.createRange();
  for (const node of element.childNodes) {
    if (node.nodeType === 1) paint(context, node);
    else {
      for (const {0: word, index} of node.data.matchAll(/\S+/g)) {
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const box = range.getBoundingClientRect();
        if (box.width) context.fillText(word, box.left, box.top + box.height / 2);
      }
    }
  }
  context.restore();
}

function px(length) {
  return `${length}px`;
}

// Of an image that is much finer than the screen, only each nth pixel is drawn: millions of pixels cost frames.
function drawImage(canvas, {rows, columns, pixels}) {
  const finest = Math.min(columns / canvas.clientWidth, rows / canvas.clientHeight) / devicePixelRatio;
  const step = Number.isFinite(finest) ? Math.max(1, Math.floor(finest)) : 1;
  const width = Math.ceil(columns / step), height = Math.ceil(rows / step);
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d"), data = context.createImageData(width, height);
  const words = new Uint32Array(data.data.buffer);
  for (let at = 0, row = 0; row < rows; row += step) {
    const end = CHANNELS * columns * (row + 1);
    for (let from = CHANNELS * columns * row; from < end; from += CHANNELS * step) {
      words[at++] = 0xff000000 | (pixels[from + 2] << 16) | (pixels[from + 1] << 8) | pixels[from];
    }
  }
  context.putImageData(data, 0, 0);
}
