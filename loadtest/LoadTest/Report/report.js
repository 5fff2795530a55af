// SPDX-License-Identifier: Apache-2.0

// Draws the result below the header: a run, also of a scenario; a comparison of two runs; or a bench.

const result = JSON.parse(document.getElementById("result").textContent);

// MARK: - Parts of pages

const section = (id, heading, ...content) => html("section", { id, "aria-labelledby": `${id}-heading` },
  html("h2", { id: `${id}-heading` }, heading), content);
const note = (...text) => html("p", { class: "note" }, text);
const code = (text) => html("span", { class: "code" }, text);
const facts = (facts) => html("dl", { class: "facts" },
  facts.map(([name, ...text]) => [html("dt", {}, name), html("dd", {}, text)]));
const verdict = (isMet, met, missed) =>
  html("span", { class: isMet ? "good" : "bad" }, isMet ? `✓ ${met}` : `✕ ${missed}`);

// Returns the number of the result at a path, `response.p50_ms`, as readers see it, with its unrounded value.
function figure(path, text = significant) {
  const names = Array.isArray(path) ? path : path.split(".");
  const number = names.reduce((value, name) => value?.[name], result);
  return number == null ? html("span", { class: "none" }, "–")
    : html("data", { "data-path": names.join("."), value: number }, text(number));
}

// Returns rows of cells, the first of each its heading, with words or numbers in the columns.
function table({ caption, columns, words = [0], rows, isSnug }) {
  const row = (cells, isHead) => html("tr", {}, cells.map((cell, index) => html(isHead || !index ? "th" : "td",
    { scope: isHead ? "col" : index ? null : "row", class: words.includes(index) ? "word" : "number" }, cell)));
  return html("div", { class: "wide-table", tabindex: 0, role: "region", "aria-label": caption || columns.join(", ") },
    html("table", { class: isSnug && "snug" }, caption && html("caption", {}, caption),
      html("thead", {}, row(columns, true)), html("tbody", {}, rows.map((cells) => row(cells, false)))));
}

const bar = (share, hue) => svg("svg",
  { class: "share", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": true },
  svg("rect", { fill: `var(--${hue})`, width: Math.max(0.6, share * 100), height: 10 }));

const byCount = (counts) => Object.entries(counts).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
const shellWord = (word) => /^[\w./+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

const environment = (more) => section("environment", "Environment", facts([
  ...more, ["program", `receipt-loadtest ${result.environment.version}`],
  ["command", code(result.environment.arguments.map(shellWord).join(" "))],
  ["processor", result.environment.cpu],
  ["cores", figure("environment.cores", whole), ", allowed: ",
    result.environment.allowed_cores.join(", ") || "unknown"],
  ["memory", bytes(result.environment.memory_bytes)], ["kernel", result.environment.kernel]]));

// MARK: - Outcomes and hues

const hues =
  ["near", "service", "local", "collapsed", "upstream", "refused", "shared", "stale", "undecided", "rejected"];
const knownOutcomes = [
  ["hit_near", "near-cache hit", "near"], ["hit_shared", "shared-cache hit", "shared"],
  ["local", "verified locally", "local"], ["upstream", "asked Apple", "upstream"],
  ["collapsed", "coalesced", "collapsed"], ["stale", "stale", "stale"], ["answered", "answered", "near"],
  ["rejected", "rejected", "rejected"], ["undecided", "undecided", "undecided"], ["refused", "refused", "refused"],
  ["shed", "shed (429)", "shed"], ["failed", "failed", "failure"], ["error", "error", "failure"],
];

// Returns names, words and hues: known outcomes in their order, then unknown outcomes with the hues that are left.
function outcomesOf(names) {
  const known = knownOutcomes.filter(([name]) => names.includes(name));
  const free = hues.filter((hue) => !known.some((outcome) => outcome[2] === hue));
  const others = [...new Set(names)].filter((name) => !known.some((outcome) => outcome[0] === name)).sort();
  return [...known, ...others.map((name, index) => [name, name, free[index % free.length] ?? "near"])];
}

// MARK: - A run

const figureNames = [
  ["fastest", "min_ms"], ["mean", "mean_ms"], ["p50", "p50_ms"], ["p75", "p75_ms"], ["p90", "p90_ms"],
  ["p95", "p95_ms"], ["p99", "p99_ms"], ["p99.9", "p99_9_ms"], ["p99.99", "p99_99_ms"], ["slowest", "max_ms"],
];

function tiles() {
  const { totals, response, service } = result;
  const rate = (number) => Math.abs(number) >= 100 ? whole(number) : significant(number);
  const tile = (name, figure, unit, ...aside) => html("div", { class: "tile" }, html("dt", {}, name), html("dd", {},
    html("div", { class: "figure" }, figure, html("span", { class: "unit" }, unit)),
    html("div", { class: "aside" }, aside)));
  const latency = (name, key) => tile(name, figure(`response.${key}`), response[key] != null && " ms",
    service[key] == null ? "nothing was answered" : `service ${significant(service[key])} ms`);
  const share = (name, key, unanswered) => tile(name,
    totals.sent ? percent((totals[key] + unanswered) / totals.sent) : "–", "", figure(`totals.${key}`, whole),
    unanswered > 0 && [" and ", figure("totals.unanswered", whole), " unanswered"],
    " of ", figure("totals.sent", whole));
  return html("section", { class: "tiles", "aria-label": "Key figures" }, html("dl", {},
    tile("Answered", figure("totals.achieved_per_second", rate), " /s", totals.target_per_second == null
      ? "in a closed loop" : `of ${rate(totals.target_per_second)} wanted`),
    latency("Median response", "p50_ms"), latency("p99 response", "p99_ms"), latency("Slowest response", "max_ms"),
    share("Failed", "failed", totals.unanswered), share("Shed", "shed", 0)));
}

function thresholds() {
  const measured = (unit) => (number) => significant(number) + (/^(\/|$)/.test(unit) ? "" : " ") + unit;
  return result.thresholds.length > 0 && section("thresholds", "Thresholds", table({
    columns: ["threshold", "measured", "verdict"], words: [0, 2], isSnug: true,
    rows: result.thresholds.map(({ expression, unit, met }, index) => [code(expression),
      figure(`thresholds.${index}.measured`, measured(unit)), verdict(met, "met", "missed")]),
  }));
}

const inColumn = ({ p50_ms }) => (number) => fixed(number, usefulDecimals(p50_ms ?? 0));

function latency() {
  const rows = figureNames.map(([name, key]) => [name,
    ...["response", "service"].map((side) => figure(`${side}.${key}`, inColumn(result[side])))]);
  rows.push(["answers", figure("response.count", whole), figure("service.count", whole)]);
  const lines = ["response", "service"].map((name) => ({ name, hue: name, distribution: result[name] }));
  return section("latency-section", "Latency",
    note("Response time counts from the moment a request was due, so the wait for a stalled server is included. ",
      "Service time counts from the moment the request was sent."),
    html("div", { class: "beside" }, table({ columns: ["ms", "response", "service"], rows }),
      percentilePlot("Latency by percentile", lines, { frame: frames.high, caption:
        "Each step to the right is a tenth of the requests before it: at 99.9, one of a thousand waits longer." })));
}

// The time of the run, for its plots.
function runTime() {
  const { plan, timeline, marks, metrics, duration_seconds } = result;
  const planned = sum(plan.stages.map(({ seconds }) => seconds)) || Infinity;
  const end = Math.max(...marks.map((mark) => mark.at_seconds), ...metrics.map(({ points }) => points.at(-1)?.[0] ?? 0),
    plan.warmup_seconds + duration_seconds, (timeline.at(-1)?.second ?? 0) + 1);
  return { timelines: [timeline], x: timeAxis(end), marks, warmup: plan.warmup_seconds,
    end: plan.warmup_seconds + Math.min(duration_seconds, planned) };
}

const counted = (name, key, more) => ({ name, figure: average((second) => second[key]), ...more });
const highest = (name, key, more) => ({ name, figure: worst(key), ...more });

function overTime(time) {
  const target = { name: "target", hue: "target", style: "target", figure: ({ start, end, seconds }) =>
    seconds.every(({ target }) => target == null) ? null : sum(seconds.map(({ target }) => target)) / (end - start) };
  const answered = (choose) => ({ seconds }) => choose(...seconds.map((second) => second.answered));
  // Requests by outcome; if the server sent none, by whether it answered.
  const ends = ({ outcomes, answered, failed, shed }) =>
    Object.keys(outcomes).length ? outcomes : { answered, failed, shed };
  const names = new Set(result.timeline.flatMap((second) => Object.entries(ends(second)))
    .filter(([, count]) => count > 0).map(([name]) => name));
  const areas = outcomesOf([...names]).map(([outcome, name, hue]) =>
    ({ name, hue, style: "area", figure: average((second) => ends(second)[outcome] ?? 0) }));
  return section("time", "Over time",
    timePlot(time, "rate", "Target and achieved rate", true, [
      { hue: "response", style: "band", figure: answered(Math.max), floor: answered(Math.min) },
      target, counted("sent", "sent", { hue: "shed", style: "thin" }),
      counted("answered", "answered", { hue: "response" }), counted("failed", "failed"), counted("shed", "shed")]),
    timePlot(time, "latency", "Response time", false, [
      highest("p50", "p50_ms", { hue: "p50" }), highest("p90", "p90_ms", { hue: "p90" }),
      highest("p99", "p99_ms", { hue: "p99" }), highest("max", "max_ms", { hue: "maximum", style: "thin" })]),
    timePlot(time, "outcomes-over-time", "Outcomes", true, [...areas, target]), marks());
}

// All marks, also marks without room for their names in the plots.
const marks = () => result.marks.length > 0 && html("figure", { id: "marks" }, html("h3", {}, "Marks"), table({
  columns: ["second", "event"], words: [1], isSnug: true,
  rows: result.marks.map(({ text }, index) =>
    [figure(`marks.${index}.at_seconds`, (number) => fixed(number, 1)), text]),
}));

function outcomes() {
  const { totals } = result, all = sum(result.outcomes.map(({ count }) => count));
  const looks = outcomesOf(result.outcomes.map(({ outcome }) => outcome));
  const rows = result.outcomes.map(({ outcome, count }, index) => {
    const [, name, hue] = looks.find(([name]) => name === outcome), share = all ? count / all : 0;
    return [name, figure(`outcomes.${index}.count`, whole), percent(share), bar(share, hue),
      ...["p50_ms", "p90_ms", "p99_ms", "max_ms"].map((key) =>
        figure(`outcomes.${index}.response.${key}`, inColumn(result.response)))];
  });
  const counts = (path, name, none) => html("div", {}, Object.keys(result[path]).length ? table({
    columns: [name, "requests"], rows: byCount(result[path]).map(([key]) => [key, figure([path, key], whole)]),
  }) : note(none));
  return section("outcomes", "Outcomes", !rows.length ? note("Nothing was answered.") : table({
    columns: ["outcome", "requests", "share", "", "p50 ms", "p90 ms", "p99 ms", "max ms"], rows,
  }), html("div", { class: "pair" }, counts("statuses", "HTTP status", "No answer had an HTTP status."),
    counts("errors", "error", "No request went without an answer.")),
  note(figure("totals.intended", whole), " requests were due, ", figure("totals.sent", whole), " were sent, ",
    figure("totals.answered", whole), " answered; ", bytes(totals.sent_bytes), " sent, ",
    bytes(totals.received_bytes), " received."));
}

function generator(time) {
  const kept = result.generator.kept_schedule;
  const lag = (key) => [figure(`generator.send_lag.${key}`), result.generator.send_lag[key] != null && " ms"];
  return section("generator", "Load generator",
    html("p", {}, !kept && ["passed", "threshold_missed"].includes(result.verdict)
      ? "It was late, by little beside the response."
      : verdict(kept, "It kept its schedule.", "It did not keep its schedule.")),
    html("div", { class: "beside" }, facts([
      ["late sends", figure("generator.late_sends", whole), ` of ${whole(result.totals.sent)}`],
      ["send lag p50", lag("p50_ms")], ["send lag p99", lag("p99_ms")], ["send lag max", lag("max_ms")],
      ["CPU time", figure("generator.cpu_seconds"), " s"],
      ["CPU share", figure("generator.cpu_share", (share) => whole(share * 100)), " % of ",
        figure("plan.workers", whole), result.plan.workers === 1 ? " worker" : " workers"],
    ]), result.timeline.length > 0 && timePlot(time, "send-lag", "Send lag", false,
      [highest("p99", "send_lag_p99_ms", { hue: "lag" })], { frame: frames.low })));
}

// The metrics that were scraped from the server, series of one name and kind in one plot.
function server(time) {
  const key = ({ name, kind }) => `${kind} ${name}`, keys = new Set(result.metrics.map(key));
  const groups = [...keys].map((group) => result.metrics.filter((series) => key(series) === group));
  return groups.length > 0 && section("server", "Server metrics",
    note("Scraped from the server, on the time axis of the other plots; counters as rates."),
    html("div", { class: "pair" }, groups.map((group, index) => metric(time, group, index))));
}

function metric(time, group, index) {
  const labels = [...new Set(group.flatMap((series) => Object.keys(series.labels)))].sort();
  const distinct = labels.filter((label) => new Set(group.map((series) => series.labels[label])).size > 1);
  const common = labels.filter((label) => !distinct.includes(label))
    .map((label) => `${label} ${group[0].labels[label]}`);
  const nameOf = (series) => distinct.filter((label) => label in series.labels).map((label) =>
    distinct.length === 1 ? series.labels[label] : `${label} ${series.labels[label]}`).join(", ");
  const series = group.slice(0, hues.length).map((series, index) =>
    ({ name: nameOf(series), hue: hues[index], pieces: [metricPoints(series)] }));
  const { name, kind, unit } = group[0], omitted = group.length - series.length;
  const units = [unit, kind === "counter" && "per second"].filter(Boolean).join(" ");
  const heading = name.split("_").filter((word) => word).join(" ").replace(/(.) total$/, "$1");
  return plotFigure({
    ...time, name: `metric-${index}`, heading, y: amounts(valuesOf(series), units), series, frame: frames.half,
    caption: [common.length > 0 && `${common.join(", ")}.`,
      omitted > 0 && `${whole(omitted)} more of these are in the JSON only.`].filter(Boolean).join(" "),
    table: {
      caption: units, columns: ["labels", "lowest", "average", "highest", "last"], rows: series.map((line) => {
        const values = valuesOf([line]);
        return [line.name || "all", ...(values.length ? [Math.min(...values), sum(values) / values.length,
          Math.max(...values), values.at(-1)].map(significant) : ["–", "–", "–", "–"])];
      }),
    },
  });
}

// Counters as rates, in as many steps as can be distinguished: 300; a step of several points is their average.
function metricPoints({ kind, points }) {
  const shown = kind === "counter" ? counterRates(points) : points;
  const size = Math.ceil(shown.length / 300) || 1;
  return Array.from({ length: Math.ceil(shown.length / size) }, (_, index) => {
    const part = shown.slice(index * size, (index + 1) * size);
    return [0, 1].map((side) => sum(part.map((point) => point[side])) / part.length);
  });
}

// Returns the rate per second between two scrapes. A lower count starts from 0: the server was restarted.
function counterRates(points) {
  return points.slice(1).map(([time, count], index) => {
    const [timeBefore, before] = points[index];
    return [(timeBefore + time) / 2, (count >= before ? count - before : count) / (time - timeBefore)];
  }).filter(([, rate]) => Number.isFinite(rate));
}

function plan() {
  const { plan } = result;
  const stages = plan.stages.map((_, index) => [index + 1,
    ...["from_per_second", "to_per_second", "seconds"].map((key) => figure(`plan.stages.${index}.${key}`, plain))]);
  return section("plan", "Plan", facts([
    ["address", code(plan.url)],
    ["loop", plan.loop === "open" ? "open: requests are sent when they are due"
      : "closed: each request waits for the answer before it"],
    ["arrivals", plan.arrival === "constant" ? "evenly spaced" : "random (Poisson)"],
    ["warm-up", figure("plan.warmup_seconds", plain), " s"], ["connections", figure("plan.connections", whole)],
    ["workers", figure("plan.workers", whole)],
    ["distinct receipts", figure("plan.keys", whole), ", ", plan.zipf ? `Zipf ${plain(plan.zipf)}` : "equally popular"],
    ["mix", byCount(plan.mix).map(([name, share]) => `${name} ${percent(share)}`).join(", ") || "–"],
    ["seed", seed()], ["timeout", figure("plan.timeout_ms", plain), " ms"],
  ]), stages.length > 0 && table({ columns: ["stage", "from /s", "to /s", "seconds"], rows: stages, isSnug: true }));
}

// A seed has more digits than a number of JavaScript keeps.
const seed = () => document.getElementById("result").textContent.match(/"seed":(\d+)/)?.[1] ?? result.plan.seed;

function runPage() {
  const time = runTime();
  return [tiles(), thresholds(), latency(), result.timeline.length > 0 && overTime(time), outcomes(), generator(time),
    server(time), plan(), environment([["started", result.started_at],
      ["measured", figure("duration_seconds", (number) => fixed(number, 3, 0)), " s"]])];
}

// MARK: - A comparison

function comparePage() {
  const { comparison, runs, rows, draws } = result;
  const looks = { worse: "bad", better: "good", within_noise: "", in_few_seconds: "caution" };
  const signs = { worse: "✕ ", better: "✓ ", in_few_seconds: "! " };
  const figures = comparison.figures.map(({ judgement }, index) => [rows[index][0],
    html("span", { class: looks[judgement] ?? "none" }, signs[judgement], rows[index].at(-1).toLowerCase()),
    ...["a", "b", "ratio"].map((key) => figure(`comparison.figures.${index}.${key}`,
      key === "ratio" ? (number) => fixed(number, 2) : significant)), rows[index].at(-2).replace(/^-$/, "–")]);
  const differences = (name, list, none) => list.length ? table({
    columns: [name, "A", "B"], words: [0, 1, 2], isSnug: true,
    rows: list.map(({ name, a, b }) => [name, a || "–", b || "–"]),
  }) : note(none);
  // B is dashed, for readers who see no colours.
  const lines = (part) => [{ name: "A", hue: "response", run: 0, ...part(runs[0]) },
    { name: "B", hue: "service", style: "dashed", run: 1, ...part(runs[1]) }];
  const timelines = runs.map(({ timeline }) => timeline);
  const ends = timelines.map((timeline) => (timeline.at(-1)?.second ?? 0) + 1);
  const time = { timelines, x: timeAxis(Math.max(...ends)), marks: comparedMarks(runs) };
  const plot = (name, heading, isRate, figure) => timePlot(time, name, heading, isRate, lines(() => ({ figure })));
  return [
    section("figures", "Differences",
      table({ columns: ["figure", "verdict", "A", "B", "B / A", "typical second"], words: [0, 1], rows: figures }),
      note("“Typical second” is the range of the difference between B's typical second and A's: the median for ",
        `latencies, the mean for rates and shares, in ${whole(draws)} draws of blocks of seconds, without a `,
        "thousandth of the draws at each end. A difference counts if its range lies on one side of 0, and if it is at ",
        "least 5 % (for shares of requests: 0.1 points). “In few seconds” means that the runs differ, and most of ",
        "their seconds do not. The warm-up does not count. No pair of runs shows what changes from run to run: repeat ",
        "both before you rely on a difference.")),
    section("latency-section", "Latency", percentilePlot("Response time by percentile",
      lines(({ response }) => ({ distribution: response })))),
    section("time", "Over time, from the end of the warm-up",
      plot("answered", "Answered", true, average(({ answered }) => answered)),
      plot("p50", "Response time, p50", false, worst("p50_ms")),
      plot("p99", "Response time, p99", false, worst("p99_ms")),
      plot("max", "Response time, max", false, worst("max_ms")),
      plot("failed", "Failed and shed", true, average(({ failed, shed }) => failed + shed))),
    section("plans", "Plan and environment",
      differences("plan", comparison.plan_differences, "Both runs had the same plan."),
      differences("environment", comparison.environment_differences, "Both ran in the same environment.")),
  ];
}

// Marks of both runs; a mark of one run alone has the run's name.
function comparedMarks([a, b]) {
  const isIn = ({ at_seconds, text }, { marks }) =>
    marks.some((mark) => mark.at_seconds === at_seconds && mark.text === text);
  const named = (mark, name) => ({ ...mark, text: `${name}: ${mark.text}` });
  return [...a.marks.map((mark) => isIn(mark, b) ? mark : named(mark, "A")),
    ...b.marks.filter((mark) => !isIn(mark, a)).map((mark) => named(mark, "B"))];
}

// MARK: - A bench, or another long run

function benchPage() {
  const { figures, servers, measurements } = result;
  const most = Math.max(...servers.map((server) => server.requests_per_busy_second));
  const withUnit = (list, index) => figure(`${list}.${index}.value`,
    (value) => `${significant(value)} ${result[list][index].unit}`);
  return [
    figures.length > 0 && section("figures", "Targets", table({
      columns: ["figure", "verdict", "value", "target"], words: [0, 1],
      rows: figures.map(({ name, target, met, note }, index) => [[name, note && html("div", { class: "aside" }, note)],
        verdict(met, "met", "missed"), withUnit("figures", index), target]),
    })),
    servers.length > 0 && section("servers", "Servers", table({
      columns: ["server", "per busy second", "", "requests/s", "connections", "generator busy"],
      rows: servers.map(({ name, requests_per_busy_second }, index) => [name,
        figure(`servers.${index}.requests_per_busy_second`, whole),
        bar(requests_per_busy_second / most, name.startsWith("receipt-gateway") ? "near" : "rejected"),
        figure(`servers.${index}.requests_per_second`, whole), figure(`servers.${index}.connections`, whole),
        figure(`servers.${index}.generator_cpu_share`, (share) => `${whole(share * 100)} %`)]),
    }), note("Per busy second: requests for each second of the server's own processor time, of which ratios are made, ",
      "because a neighbour on the machine changes it less than the rate. A generator that is busy all the time ",
      "limited the requests per second.")),
    measurements.length > 0 && section("measurements", "Measured", table({ columns: ["measured", "value"],
      rows: measurements.map(({ name }, index) => [name, withUnit("measurements", index)]) })),
    environment(result.runs ? [["runs", figure("runs", whole), " of ", figure("seconds_per_run"), " s"]] : []),
  ];
}

// MARK: - The page

const page = result.comparison ? comparePage() : result.figures ? benchPage() : runPage();
document.getElementById("page").append(...page.filter(Boolean), section("raw", "Result as JSON",
  note("The element script#result holds the whole result as JSON",
    result.schema && `; loadtest/schema.json describes it (schema ${result.schema})`,
    ". The attribute “value” of a number is its unrounded value, “data-path” its path in the result.")));
