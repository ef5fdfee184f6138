"use strict";

// The list: keys for whoever has no mouse.
(() => {
  const rows = [...document.querySelectorAll(".runs tbody tr")];
  const search = document.getElementById("search");
  let at = -1;
  const go = (to) => {
    if (!rows.length) return;
    rows[at]?.classList.remove("at");
    at = Math.max(0, Math.min(rows.length - 1, to));
    rows[at].classList.add("at");
    rows[at].querySelector("a")?.focus();
    rows[at].scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const mark = rows[at]?.querySelector("input[type=checkbox]");
    switch (event.key) {
      case "/": if (!search) return; search.focus(); break;
      case "j": go(at + 1); break;
      case "k": go(at - 1); break;
      case "x": if (!mark) return; mark.checked = !mark.checked; break;
      case "c": {
        const form = document.getElementById("choice");
        if (!form) return;
        form.requestSubmit();
        break;
      }
      default: return;
    }
    event.preventDefault();
  });
})();

const time = (ns) => {
  if (ns === null || ns === undefined) return "-";
  const [unit, size] = ns < 1e3 ? ["ns", 1] : ns < 1e6 ? ["µs", 1e3] : ns < 1e9 ? ["ms", 1e6] : ["s", 1e9];
  return Number((ns / size).toPrecision(3)) + "\u00a0" + unit;
};

// A run under way: intervals come as events and become a line.
(() => {
  const live = document.getElementById("live");
  if (!live) return;
  const said = document.getElementById("live-said");
  const chart = document.getElementById("live-chart");
  const points = [];
  const put = (name, text) => { document.getElementById(name).textContent = text; };
  const draw = () => {
    const shown = points.slice(-600).filter((it) => it.p50_ns !== null);
    if (shown.length < 2) return;
    const first = shown[0].start_s;
    const last = shown[shown.length - 1].start_s;
    const times = shown.flatMap((it) => [it.p50_ns, it.p99_ns]);
    const low = Math.log(Math.max(1, Math.min(...times)) * 0.8);
    const high = Math.log(Math.max(...times) * 1.25);
    const x = (s) => 70 + 800 * (s - first) / Math.max(last - first, 1e-9);
    const y = (ns) => 210 - 195 * (Math.log(Math.max(1, ns)) - low) / Math.max(high - low, 1e-9);
    const make = (name, attributes, text) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      if (text) node.textContent = text;
      chart.append(node);
    };
    chart.replaceChildren();
    for (let tick = 0; tick <= 4; tick += 1) {
      const ns = Math.exp(low + (high - low) * tick / 4);
      make("line", { class: "grid", x1: 70, x2: 870, y1: y(ns), y2: y(ns) });
      make("text", { class: "tick end", x: 64, y: y(ns) + 4 }, time(ns));
    }
    make("text", { class: "tick", x: 70, y: 232 }, first.toFixed(1) + " s");
    make("text", { class: "tick end", x: 870, y: 232 }, last.toFixed(1) + " s since the start");
    for (const [key, style] of [["p99_ns", "line s1 p99"], ["p50_ns", "line s0"]]) {
      const path = shown.map((it, at) => (at ? "L" : "M") + x(it.start_s).toFixed(1) + " " + y(it[key]).toFixed(1));
      make("path", { class: style, d: path.join("") });
    }
  };
  const source = new EventSource("/live/events?path=" + encodeURIComponent(live.dataset.path));
  source.addEventListener("open", () => { points.length = 0; });
  source.addEventListener("interval", (event) => {
    const it = JSON.parse(event.data);
    points.push(it);
    put("live-rate", Number(it.per_s.toPrecision(3)).toLocaleString("en"));
    put("live-failed", it.failed.toLocaleString("en"));
    put("live-p50", time(it.p50_ns));
    put("live-p95", time(it.p95_ns));
    put("live-p99", time(it.p99_ns));
    const end = (it.start_s + it.length_s).toFixed(1);
    const allFailed = it.failed && !it.per_s ? " Every operation of the last interval failed." : "";
    said.textContent = end + " s measured" + (it.point ? ", now " + it.point.replaceAll(";", ", ") : "") + "." + allFailed;
    draw();
  });
  source.addEventListener("trouble", (event) => {
    said.textContent = "It cannot be followed: " + event.data;
    source.close();
  });
  source.addEventListener("ended", () => {
    source.close();
    location.reload();
  });
})();

// A command that was started from the page.
(() => {
  const job = document.getElementById("job");
  if (!job || job.dataset.ended !== undefined) return;
  const lines = document.getElementById("job-lines");
  const state = document.getElementById("job-state");
  const source = new EventSource("/job/events?id=" + encodeURIComponent(job.dataset.id));
  source.addEventListener("open", () => { lines.textContent = ""; });
  source.addEventListener("line", (event) => {
    const below = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 40;
    lines.append(JSON.parse(event.data) + "\n");
    if (below) lines.scrollTop = lines.scrollHeight;
  });
  source.addEventListener("ended", (event) => {
    source.close();
    state.textContent = "Ended: " + JSON.parse(event.data) + ".";
    job.querySelector("form")?.remove();
  });
})();
