/**
 * Draws figures and live plots: lines or bars with axes, as the window does (render/overlay).
 *
 * Ranges of axes, ticks and their texts are pure.
 */

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
export function shortNumber(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

/** Colour of a line as in CSS. color: red, green and blue from 0 to 1, or null */
export function colorOf(number, color) {
  return (color ?? COLORS[number % COLORS.length]).map((share) => Math.round(255 * share)).join(" ");
}

/** Draws a figure or a plot over its whole canvas, whose size is given by its style. */
export function drawFigure(canvas, figure) {
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
