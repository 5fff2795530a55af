"use strict";
// Keeps the status page up to date: texts come ready from the server and are set as text, never as HTML.
(() => {
  const minutes = 10, tick = 2000;
  const byID = (id) => document.getElementById(id);
  const plots = Array.from(document.querySelectorAll(".plot"));
  const lineCount = (plot) => plot.parentElement.querySelectorAll("tbody tr").length;
  let samples = JSON.parse(byID("samples").textContent);
  let isPaused = false, lastIssues = "";

  // Texts

  function setText(element, text) {
    if (element && element.textContent !== text) element.textContent = text;
  }

  function setTone(element, tone) {
    if (element && element.dataset.tone !== tone) element.dataset.tone = tone;
  }

  function append(parent, name, text, className) {
    const element = document.createElement(name);
    element.textContent = text;
    if (className) element.className = className;
    parent.append(element, " ");
    return element;
  }

  function issueItem({ severity, text, advice, runbook, address }) {
    const item = document.createElement("li");
    item.dataset.severity = severity;
    append(item, "span", severity, "severity");
    append(item, "strong", text);
    append(item, "span", advice);
    if (runbook && address.startsWith("https://")) {
      const link = append(item, "a", runbook);
      link.href = address;
      link.rel = "noreferrer";
    }
    return item;
  }

  function showIssues(issues) {
    const text = JSON.stringify(issues);
    if (text === lastIssues) return;
    lastIssues = text;
    byID("issues").replaceChildren(...issues.map(issueItem));
  }

  function show(state) {
    if (state.version !== document.body.dataset.version) return location.reload();
    document.title = `${state.title} – ${document.body.dataset.host} – receipt-gateway`;
    setText(byID("clock"), state.clock);
    setText(byID("word"), state.title);
    setText(byID("summary"), state.summary);
    setTone(byID("verdict"), state.tone);
    showIssues(state.issues);
    for (const [id, text] of Object.entries(state.texts)) {
      setText(byID(id), text);
      setTone(byID(id), state.tones[id] ?? "plain");
    }
    plots.forEach(draw);
  }

  function keep(more) {
    const last = samples.length ? samples[samples.length - 1][0] : 0;
    samples = samples.concat(more.filter((sample) => sample[0] > last)).slice(-(minutes * 60000) / tick);
  }

  // Plots

  function svg(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function firstColumn(plot) {
    return 1 + plots.slice(0, plots.indexOf(plot)).reduce((sum, other) => sum + lineCount(other), 0);
  }

  function unitText(plot, value) {
    if (value === null || value === undefined) return "–";
    if (plot.dataset.unit === "rate") return `${Number(value.toPrecision(3))}/s`;
    return value < 1 ? `${Number((value * 1000).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`;
  }

  // The next of 1, 2, 5 times a power of ten, so that the scale seldom changes.
  function niceTop(highest, least) {
    const value = Math.max(highest, least), power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map((step) => step * power).find((top) => top >= value * 0.999);
  }

  function frame(plot) {
    const { width, height } = plot.getBoundingClientRect();
    const count = lineCount(plot), first = firstColumn(plot);
    const end = samples.length ? samples[samples.length - 1][0] : 0, start = end - minutes * 60000;
    const highest = samples.reduce((top, sample) => Math.max(top, ...sample.slice(first, first + count)), 0);
    const top = niceTop(highest, plot.dataset.unit === "rate" ? 1 : 0.001);
    const left = 50, right = width - 6, upper = 8, lower = height - 18;
    return {
      width, height, left, right, upper, lower, top, start, end, first, count,
      x: (time) => left + ((time - start) / (end - start)) * (right - left),
      y: (value) => lower - (value / top) * (lower - upper),
    };
  }

  function path(at, column) {
    let text = "", before = null;
    for (const sample of samples) {
      const value = sample[column];
      if (value === null || sample[0] < at.start) { before = null; continue; }
      const joins = before !== null && sample[0] - before < 3 * tick;
      const point = `${at.x(sample[0]).toFixed(1)} ${at.y(value).toFixed(1)}`;
      // A single point is drawn as a dash, to be visible.
      text += joins ? `L${point}` : `M${point}h1.5M${point}`;
      before = sample[0];
    }
    return text;
  }

  function axes(plot, at) {
    const marks = [0, 0.5, 1].flatMap((share) => {
      const y = at.y(share * at.top);
      return [
        svg("line", { class: "grid", x1: at.left, x2: at.right, y1: y, y2: y }),
        svg("text", { x: at.left - 6, y: y + 4, "text-anchor": "end" }, unitText(plot, share * at.top)),
      ];
    });
    const times = [[-10, "start"], [-5, "middle"], [0, "end"]].map(([minute, anchor]) => svg(
      "text", { x: at.x(at.end + minute * 60000), y: at.height - 4, "text-anchor": anchor },
      minute ? `${-minute} min ago` : "now"));
    return marks.concat(times);
  }

  function draw(plot) {
    const at = frame(plot);
    if (!at.width || !samples.length) return;
    plot.setAttribute("viewBox", `0 0 ${at.width} ${at.height}`);
    const lines = Array.from({ length: at.count }, (_, line) =>
      svg("path", { class: `line${line}`, d: path(at, at.first + line) }));
    plot.replaceChildren(...axes(plot, at), ...lines);
    if (plot.cursorTime) mark(plot, at);
  }

  // Reading single moments, with the pointer or the arrow keys

  function nearest(time) {
    return samples.reduce((best, sample, index) =>
      Math.abs(sample[0] - time) < Math.abs(samples[best][0] - time) ? index : best, 0);
  }

  function mark(plot, at) {
    const sample = samples[nearest(plot.cursorTime)], x = at.x(sample[0]);
    plot.append(svg("line", { class: "cursor", x1: x, x2: x, y1: at.upper, y2: at.lower }));
    const names = Array.from(plot.parentElement.querySelectorAll("tbody th"), (head) => head.textContent);
    const values = names.map((name, line) => `${name} ${unitText(plot, sample[at.first + line])}`);
    const clock = new Date(sample[0]).toISOString().slice(11, 19);
    setText(plot.nextElementSibling, `${clock} UTC: ${values.join(", ")}`);
  }

  function pointAt(plot, time) {
    plot.cursorTime = time;
    if (!time) setText(plot.nextElementSibling, "");
    draw(plot);
  }

  function step(plot, steps) {
    const index = plot.cursorTime ? nearest(plot.cursorTime) + steps : samples.length - 1;
    pointAt(plot, samples[Math.min(Math.max(index, 0), samples.length - 1)][0]);
  }

  function listen(plot) {
    plot.addEventListener("pointermove", (event) => {
      if (!samples.length) return;
      const at = frame(plot), share = (event.offsetX - at.left) / (at.right - at.left);
      pointAt(plot, at.start + Math.min(Math.max(share, 0), 1) * (at.end - at.start));
    });
    plot.addEventListener("pointerleave", () => pointAt(plot, null));
    plot.addEventListener("blur", () => pointAt(plot, null));
    plot.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30, Home: -samples.length, End: samples.length };
      if (!(event.key in steps) || !samples.length) return;
      event.preventDefault();
      step(plot, steps[event.key]);
    });
  }

  // The stream

  function connect() {
    const stream = new EventSource("/status.events");
    stream.onopen = () => { if (!isPaused) setText(byID("live"), "Live, as of"); };
    stream.onmessage = (event) => {
      const state = JSON.parse(event.data);
      keep(state.samples);
      if (!isPaused) show(state);
    };
    stream.onerror = () => {
      if (!isPaused) setText(byID("live"), "Not live, as of");
      if (stream.readyState !== EventSource.CLOSED) return;
      // The node has stopped, or has too many viewers.
      stream.close();
      setTimeout(connect, 10000);
    };
  }

  const pause = byID("pause");
  pause.hidden = false;
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", String(isPaused));
    setText(byID("live"), isPaused ? "Paused, as of" : "Live, as of");
  });
  plots.forEach(listen);
  addEventListener("resize", () => plots.forEach(draw));
  plots.forEach(draw);
  connect();
})();
