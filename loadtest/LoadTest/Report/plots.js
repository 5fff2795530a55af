// SPDX-License-Identifier: Apache-2.0

// MARK: - Elements

// Returns an element. Texts among its children stay text, whatever they contain: they may come from a third party.
function build(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, clean(value));
  const present = children.flat(Infinity).filter((child) => child != null && child !== false && child !== "");
  made.append(...present.map((child) => child instanceof Node ? child : clean(child)));
  return made;
}

const html = (name, attributes, ...children) => build(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Control characters, and characters that change the direction of text, become U+FFFD.
const clean = (text) => String(text).replace(/[^\t\n\P{Cc}]|\p{Bidi_Control}/gu, "\u{FFFD}");

// MARK: - Numbers as readers see them

const sum = (values) => values.reduce((total, value) => total + value, 0);

// Returns a number with so many decimals, and commas between thousands.
const fixed = (number, decimals, least = decimals) => number.toLocaleString("en-US",
  { minimumFractionDigits: least, maximumFractionDigits: decimals, signDisplay: "negative" });
const whole = (number) => fixed(number, 0);

// Three significant digits, none after thousands.
const significant = (number) => number === 0 ? "0" : number.toLocaleString("en-US", { maximumFractionDigits: 0,
  minimumSignificantDigits: 3, maximumSignificantDigits: 3, roundingPriority: "morePrecision" });
// As a person writes it: without superfluous digits.
const plain = (number) => fixed(number, 8, 0);

// Returns a number in the largest unit that it reaches.
function scaled(number, text, units) {
  const [size, unit] = units.find(([size]) => Math.abs(number) >= size) ?? [1, ""];
  return text(number / size) + unit;
}

const compact = (number) => Math.abs(number) < 1e4 ? plain(number)
  : scaled(number, plain, [[1e9, "G"], [1e6, "M"], [1e3, "k"]]);
const bytes = (count) => count < 1e3 ? `${count} bytes`
  : scaled(count, significant, [[1e12, " TB"], [1e9, " GB"], [1e6, " MB"], [1e3, " kB"]]);

const percent = (share) => share > 0 && share < 0.0001 ? "< 0.01 %"
  : `${fixed(share * 100, share === 0 || share >= 0.1 ? 1 : 2)} %`;

// The decimals that tell latencies of this size apart, at least one.
const usefulDecimals = (number) => Math.abs(number) < 0.1 ? 3 : Math.abs(number) < 10 ? 2 : 1;

// MARK: - Axes

// One side of a plot: the positions of values, from 0 to 1, and the values that are labelled.
function axis(unit, lower, upper, ticks, measure = (value) => value) {
  const start = measure(lower), length = measure(upper) - start;
  const fraction = (value) => Math.min(1, Math.max(0, (measure(value) - start) / length));
  return { unit, lower, upper, fraction, ticks: (most) => ticks(lower, upper, most) };
}

// Returns the nearest of 1, 2 and 5 times a power of ten. The tolerance covers 0.3 / 3, which is more than 0.1.
function rounded(value, isUp) {
  const power = 10 ** Math.floor(Math.log10(value)), share = value / power;
  return power * (isUp ? [1, 2, 5, 10].find((factor) => factor >= share * (1 - 1e-9))
    : [10, 5, 2, 1].find((factor) => factor <= share * (1 + 1e-9)));
}

function multiples(step, lower, upper) {
  const first = Math.ceil(lower / step - 1e-9), last = Math.floor(upper / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first) + 1 }, (_, index) => (first + index) * step);
}

function linearTicks(lower, upper, most) {
  const step = rounded((upper - lower) / most, true);
  const decimals = upper < 10000 && step < 1 && step >= 1e-6 ? Math.ceil(-Math.log10(step) - 1e-9) : undefined;
  return multiples(step, lower, upper).map((value) =>
    [value, decimals && value ? fixed(value, decimals) : compact(value)]);
}

// Powers of ten; also 2 and 5 times them where there is room.
function logarithmicTicks(lower, upper, most) {
  const first = Math.floor(Math.log10(lower)), last = Math.ceil(Math.log10(upper));
  const decades = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
  const isWithin = (value) => value >= lower * (1 - 1e-9) && value <= upper * (1 + 1e-9);
  const fine = decades.flatMap((decade) => [decade, 2 * decade, 5 * decade]).filter(isWithin);
  const coarse = decades.filter(isWithin), every = Math.max(1, Math.ceil(coarse.length / most));
  const values = fine.length <= most ? fine : coarse.filter((_, index) => index % every === 0);
  return values.map((value) => [value, compact(value)]);
}

// `45 s` in short runs, `12:30` in minutes, `3:00` in hours from two hours on.
function timeTicks(_, upper, most) {
  const steps = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 21600, 43200];
  const step = steps.find((step) => upper / step <= most) ?? Math.ceil(upper / 86400 / most) * 86400;
  const unit = upper < 7200 ? 1 : 60;
  return multiples(step, 0, upper).map((second) => [second, upper < 120 ? `${second} s`
    : `${Math.floor(second / unit / 60)}:${String(Math.floor(second / unit) % 60).padStart(2, "0")}`]);
}

const timeAxis = (end) =>
  axis(end < 120 ? "" : end < 7200 ? "minutes:seconds" : "hours:minutes", 0, Math.max(1, end), timeTicks);

// From zero to a round number above all values; below zero only if a value is.
function amounts(values, unit) {
  const highest = Math.max(0, ...values), lowest = Math.min(0, ...values);
  const step = highest > lowest ? rounded((highest - lowest) / 4, true) : 1;
  const lower = Math.floor(lowest / step + 1e-9) * step, upper = Math.ceil(highest / step - 1e-9) * step;
  return axis(unit, lower, Math.max(lower + step, upper), linearTicks);
}

const rates = (values) => amounts(values, "per second");

// Logarithmic if latencies differ by more than a factor of 8, linear otherwise.
function latencies(values) {
  const positive = values.filter((value) => value > 0);
  if (!(Math.max(...positive) / Math.min(...positive) > 8)) return amounts(positive, "ms");
  const upper = rounded(Math.max(...positive), true);
  return axis("ms", Math.max(rounded(Math.min(...positive), false), upper / 1e6), upper, logarithmicTicks, Math.log10);
}

// Percentiles, each nine as wide as the nine before, as far into the tail as this many requests can show.
function percentiles(count) {
  const nines = Math.min(7, Math.max(2, Math.ceil(Math.log10(Math.max(1, count))))), upper = 100 - 10 ** (2 - nines);
  const labelled = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999].filter((value) => value < upper);
  return axis("percentile", 0, upper, () => labelled.map((value) => [value, compact(value)]),
    (value) => -Math.log10(1 - Math.min(value, upper) / 100));
}

// MARK: - Steps of time

// Returns the length of steps of a timeline, few enough to be distinguished.
function stepWidth(timeline, most) {
  const end = (timeline.at(-1)?.second ?? -1) + 1;
  return [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600].find((width) => end / width <= most)
    ?? Math.ceil(end / most);
}

// Returns a timeline in steps of one or more seconds; the last step of a run may be shorter.
function timeSteps(timeline, width) {
  const end = (timeline.at(-1)?.second ?? -1) + 1, steps = [];
  for (const second of timeline) {
    const start = Math.floor(second.second / width) * width;
    if (steps.at(-1)?.start !== start) steps.push({ start, end: Math.min(start + width, end), seconds: [] });
    steps.at(-1).seconds.push(second);
  }
  return steps;
}

const average = (count) => (step) => sum(step.seconds.map(count)) / (step.end - step.start);

// The highest figure, so that no peak is lost; null if nothing was measured.
const worst = (name) => ({ seconds }) => seconds.reduce((most, { [name]: value }) =>
  value == null ? most : Math.max(most ?? value, value), null);

// Returns a level for each step, or a point in its middle, with a gap where nothing was measured.
function pieces(steps, isLevel, figure) {
  const pieces = [];
  let end;
  for (const step of steps) {
    const value = figure(step);
    if (value != null) {
      if (end !== step.start) pieces.push([]);
      const moments = isLevel ? [step.start, step.end] : [(step.start + step.end) / 2];
      pieces.at(-1).push(...moments.map((moment) => [moment, value]));
    }
    end = value == null ? undefined : step.end;
  }
  return pieces;
}

// Returns the outline of the area between two heights of each step; where a step is missing, it falls to 0.
function outline(steps, tops, floors) {
  const edge = (heights) => steps.flatMap(({ start, end }, index) => {
    const before = steps[index - 1]?.end ?? start;
    return [...(before < start ? [[before, 0], [start, 0]] : []), [start, heights[index]], [end, heights[index]]];
  });
  return [...edge(tops), ...edge(floors).reverse()];
}

// Returns the series of lines with a hue. Areas stand upon each other; a band reaches from its own floor.
function seriesOf(lines, runs, isLevel) {
  let floors = [];
  return lines.filter(({ hue }) => hue).map((line) => {
    const steps = runs[line.run ?? 0];
    if (!isArea(line)) return { ...line, pieces: pieces(steps, isLevel, line.figure) };
    const lower = steps.map((step, index) => line.floor?.(step) ?? floors[index] ?? 0);
    const upper = steps.map((step, index) => line.figure(step) + (line.floor ? 0 : lower[index]));
    if (!line.floor) floors = upper;
    return { ...line, pieces: [outline(steps, upper, lower)] };
  });
}

// MARK: - Plots

// The sizes of drawings, in units of about a pixel, and the number of ticks and of letters in a mark's name.
const frames = {
  wide: { name: "wide", width: 1000, height: 270, left: 52, right: 14, ticks: [12, 5], letters: 40 },
  narrow: { name: "narrow", width: 348, height: 230, left: 42, right: 10, ticks: [5, 5], letters: 18 },
  half: { name: "wide", width: 470, height: 190, left: 46, right: 12, ticks: [6, 4], letters: 20 },
  low: { name: "wide", width: 590, height: 210, left: 48, right: 14, ticks: [8, 4], letters: 20 },
  high: { name: "wide", width: 590, height: 390, left: 48, right: 14, ticks: [8, 7], letters: 20 },
};

// A series has a name, a hue, a style and pieces: points [x, y] without a gap, or the outline of an area.
const isArea = ({ style }) => style === "area" || style === "band";
const valuesOf = (series) => series.flatMap(({ pieces }) => pieces.flat().map(([, value]) => value));

// Returns a plot with its heading, legend, caption, and numbers as a table; for wide screens and paper, and for phones.
function plotFigure(plot) {
  return html("figure", { id: plot.name }, html("h3", {}, plot.heading), legend(plot.series),
    [plot.frame ?? frames.wide, frames.narrow].map((frame) => drawing(plot, frame)),
    plot.caption && html("figcaption", {}, plot.caption),
    plot.table && html("details", {}, html("summary", {}, "Numbers as a table"), table(plot.table)));
}

// Draws lines over the time of one or more runs: rates as averages, on levels; latencies at the worst of a step. Lines
// without a hue stand in the table only. Steps of all runs have one length: a peak of the longer run would look wider.
function timePlot({ timelines, ...time }, name, heading, isRate, lines, more) {
  const widths = [600, 60].map((most) => Math.max(...timelines.map((timeline) => stepWidth(timeline, most))));
  const [drawn, listed] = widths.map((width) => timelines.map((timeline) => timeSteps(timeline, width)));
  const series = seriesOf(lines, drawn, isRate), columns = lines.filter((line) => line.name);
  const starts = [...new Set(listed.flat().map(({ start }) => start))].sort((a, b) => a - b);
  const cell = ({ run, figure }, start) => {
    const step = listed[run ?? 0].find((step) => step.start === start), number = step && figure(step);
    return number == null ? "–" : isRate ? significant(number) : fixed(number, usefulDecimals(number));
  };
  return plotFigure({
    name, heading, series, y: (isRate ? rates : latencies)(valuesOf(series)), ...time, ...more,
    caption: widths[0] > 1 && [`Each ${isRate ? "step is the average" : "point is the worst"} of ${widths[0]} seconds.`,
      series.some(({ style }) => style === "band") && " The shade reaches from the slowest second to the fastest."],
    table: {
      caption: widths[1] === 1 ? "Each second"
        : `Each ${widths[1]} seconds: counts on average, latencies at their worst`,
      columns: ["second", ...columns.map((line) => line.name + (isRate ? " /s" : " ms"))], words: [],
      rows: starts.map((start) => [whole(start), ...columns.map((line) => cell(line, start))]),
    },
  });
}

// Draws distributions over percentiles, as HdrHistogram does.
function percentilePlot(heading, lines, more) {
  const series = lines.map((line) => ({ ...line, pieces: [line.distribution.percentiles] }));
  const x = percentiles(Math.max(...lines.map(({ distribution }) => distribution.count)));
  return plotFigure({ name: "percentiles", heading, x, y: latencies(valuesOf(series)), series, ...more });
}

// Areas from the top of their stack downwards, then lines.
function legend(series) {
  const named = series.filter(({ name, pieces }) => name && pieces.length), areas = named.filter(isArea).reverse();
  const entries = [...areas, ...named.filter((series) => !isArea(series))];
  return entries.length > 0 && html("ul", { class: "legend" }, entries.map((series) => html("li", {},
    svg("svg", { viewBox: "0 0 22 12", "aria-hidden": true }, isArea(series)
      ? svg("rect", { fill: `var(--${series.hue})`, x: 5, width: 12, height: 12, rx: 2 })
      : svg("path", { class: `line ${series.style ?? ""}`, stroke: `var(--${series.hue})`, d: "M1 6H21" })),
    series.name)));
}

// The description for readers who do not see the drawing: `p99 1.2 to 31 ms; p50 was not measured.`
function description({ heading, series, y }) {
  const ranges = series.filter((series) => series.name && !isArea(series)).map((series) => {
    const values = valuesOf([series]), range = [Math.min(...values), Math.max(...values)].map(significant).join(" to ");
    return `${series.name} ${values.length ? `${range} ${y.unit}` : "was not measured"}`;
  });
  return `${heading}: ${ranges.join("; ")}.`;
}

const pixels = (coordinate) => Math.round(coordinate * 10) / 10;
const labelHeight = 16;

function drawing(plot, frame) {
  const left = frame.left, right = frame.width - frame.right, marks = plot.marks ?? [];
  const x = (value) => pixels(left + plot.x.fraction(value) * (right - left));
  const places = marks.map((mark) => [x(mark.at_seconds), mark.text]);
  const labels = markLabels(places, left, right, frame.letters, plot.y.unit);
  const room = Math.max(0, labels.rows - 1) * labelHeight, top = 30 + room, height = frame.height + room;
  const floor = height - (plot.x.unit ? 40 : 24);
  const y = (value) => pixels(floor - plot.y.fraction(value) * (floor - top));
  // The target is drawn over all other series.
  const series = [...plot.series].sort((a, b) => (a.style === "target") - (b.style === "target"));
  const line = (name, x1, x2, y1, y2, ...content) => svg("line", { class: name, x1, x2, y1, y2 }, ...content);
  const text = (x, y, anchor, ...content) => svg("text", { x, y, "text-anchor": anchor }, ...content);

  // Time that does not count, named where there is room.
  const shade = (start, end, name) => end - start >= 0.5 && [
    svg("rect", { class: "aside-time", x: start, y: top, width: pixels(end - start), height: floor - top },
      svg("title", {}, name)),
    end - start > name.length * 8 && text(start + 6, top + 14, "start", name)];

  return svg("svg", { class: frame.name, role: "img", "aria-label": description(plot),
    viewBox: `0 0 ${frame.width} ${height}` },
  shade(left, x(plot.warmup ?? 0), "warm-up"), shade(x(plot.end ?? Infinity), right, "afterwards"),
  plot.y.ticks(frame.ticks[1]).map(([value, label]) =>
    [line("gridline", left, right, y(value), y(value)), text(left - 8, y(value) + 4, "end", label)]),
  series.map((series) => shapes(series, x, y)),
  line("baseline", left, right, floor, floor), text(0, top - 14, "start", plot.y.unit),
  plot.x.unit && text(right, height - 4, "end", plot.x.unit),
  // At the right end there is no room for half a label.
  plot.x.ticks(frame.ticks[0]).map(([value, label]) => [line("baseline", x(value), x(value), floor, floor + 4),
    text(x(value), floor + 18, x(value) > right - 12 ? "end" : "middle", label)]),
  marks.map((mark) => line("mark", x(mark.at_seconds), x(mark.at_seconds), top, floor, svg("title", {}, mark.text))),
  labels.placed.map(({ text, x, row, isBefore }) => svg("text", { class: "mark-label", x,
    y: top - 8 - row * labelHeight, "text-anchor": isBefore ? "end" : "start" }, text)));
}

// A line needs two points; one alone is a dot. Areas of more than 480 corners have no seam: only seams would be seen.
function shapes(series, x, y) {
  const colour = `var(--${series.hue})`;
  return series.pieces.filter((points) => points.length).map((points) => {
    if (isArea(series)) {
      const seam = series.style === "area" && points.length <= 480 ? " seam" : "";
      return svg("path", { class: series.style + seam, fill: colour, d: `${path(points, x, y)}Z` });
    }
    return points.length === 1 ? svg("circle", { fill: colour, cx: x(points[0][0]), cy: y(points[0][1]), r: 3 })
      : svg("path", { class: `line ${series.style ?? ""}`, stroke: colour, d: path(points, x, y) });
  });
}

// Path data of SVG 2 §9.3; points equal to the point before are left out.
function path(points, x, y) {
  const corners = points.map((point) => `${x(point[0])} ${y(point[1])}`);
  return `M${corners.filter((corner, index) => corner !== corners[index - 1]).join("L")}`;
}

// Places the names of marks above a plot, the earlier first, in at most three rows, so that none covers another. Names
// without room are left out; their lines are drawn. The unit of the plot takes the left end of the lowest row.
function markLabels(marks, left, right, letters, unit) {
  const letterWidth = 6.7, placed = [], taken = marks.length ? [[[0, unit.length * letterWidth]]] : [];
  for (const [x, name] of marks) {
    const text = name.length <= letters ? name : `${name.slice(0, letters - 1)}…`, width = text.length * letterWidth;
    const isBefore = x + 4 + width > right;
    const [start, end] = isBefore ? [x - 8 - width, x - 2] : [x + 2, x + 8 + width];
    const free = taken.findIndex((row) => !row.some(([from, to]) => from <= end && to >= start));
    const row = free < 0 ? taken.length : free;
    if (!text || (isBefore && start < left) || row >= 3) continue;
    (taken[row] ??= []).push([start, end]);
    placed.push({ text, row, isBefore, x: pixels(isBefore ? x - 4 : x + 4) });
  }
  return { placed, rows: taken.length };
}
