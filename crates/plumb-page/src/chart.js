"use strict";
// A chart is complete without this. With it a chart tells the figures where one points, leaves out
// series, shows a part of its x axis, and changes between a linear and a logarithmic y axis.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const REACH = 26; // user units within which a dot is found
  const LEAST = 5e-3; // share of a linear axis below which a place does not tell a figure finely
  const DRAG = 6; // user units from which a drag is a choice
  const ROWS_MANY = 24; // rows from which a table can be filtered

  const TIME = [[1, " ns"], [1e3, " \u00b5s"], [1e6, " ms"], [1e9, " s"]];
  const RATE = [[1, ""], [1e3, " k"], [1e6, " M"], [1e9, " G"]];

  const made = (name, attributes = {}) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const number = (element, name) => Number(element.getAttribute(name));
  const rounded = (value) => String(Math.round(value * 100) / 100);
  const trimmed = (value) => String(Number(value.toPrecision(6)));

  // From figures to coordinates, as the page says it: "log 5000 1000000 220 28 time".
  class Axis {
    constructor(words) {
      const [shape, low, high, start, end, unit] = words.split(" ");
      this.log = shape === "log";
      [this.low, this.high, this.start, this.end] = [low, high, start, end].map(Number);
      this.unit = unit;
    }

    but(changes) {
      return Object.assign(Object.create(Axis.prototype), this, changes);
    }

    at(value) {
      const share = this.log
        ? Math.log(Math.max(value, this.low * 1e-9) / this.low) / Math.log(this.high / this.low)
        : (value - this.low) / (this.high - this.low);
      return this.start + share * (this.end - this.start);
    }

    of(place) {
      const share = (place - this.start) / (this.end - this.start);
      return this.log
        ? this.low * (this.high / this.low) ** share
        : this.low + share * (this.high - this.low);
    }

    get counts() {
      return this.unit !== "fixed";
    }

    // Round figures with their names; of a logarithmic axis the decades, with 2 and 5 where there is room.
    ticks() {
      const list = [];
      if (this.log) {
        const decades = Math.log10(this.high / this.low);
        const factors = decades <= 2.4 ? [1, 2, 5] : decades <= 3.4 ? [1, 5] : [1];
        const every = decades <= 6 ? 1 : decades <= 12 ? 2 : 4;
        const first = Math.floor(Math.log10(this.low * 1.001));
        for (let power = first, passed = 0; 10 ** power <= this.high * 1.001; power++, passed++) {
          for (const factor of factors) {
            const value = factor * 10 ** power;
            const within = value >= this.low * 0.999 && value <= this.high * 1.001;
            if (within && passed % every === 0) list.push(value);
          }
        }
      } else {
        const least = (this.high - this.low) / 5;
        const decade = 10 ** Math.floor(Math.log10(least));
        const step = decade * ([1, 2, 5].find((factor) => decade * factor >= least * 0.9999) ?? 10);
        const from = Math.ceil(this.low / step - 1e-9);
        for (let at = from; at * step <= this.high + step * 1e-6 && list.length < 16; at++) {
          list.push(at * step);
        }
      }
      return list.map((value) => ({ value, name: this.name(value) }));
    }

    name(value) {
      const [kind, divisor] = this.unit.split(":");
      if (kind === "since") return trimmed(value / Number(divisor));
      const units = kind === "time" ? TIME : RATE;
      const size = this.log ? value : Math.max(Math.abs(this.low), Math.abs(this.high));
      const [factor, unit] = units.filter(([least]) => size * 1.001 >= least).pop() ?? units[0];
      const text = trimmed(value / factor);
      return text === "0" ? text : text + unit;
    }
  }

  // One element of a chart, with the places that it was drawn at.
  class Shape {
    constructor(element) {
      this.element = element;
      const name = element.tagName;
      if (name === "path") {
        const path = element.getAttribute("d");
        this.runs = /[a-z]/.test(path.replace(/Z$/, "")) ? null : points(path);
        this.closed = path.endsWith("Z");
        const [, x, y] = path.match(/^M([-\d.]+) ([-\d.]+)/) ?? [0, 0, 0];
        this.anchor = [Number(x), Number(y)];
      } else if (name === "circle") {
        this.anchor = [number(element, "cx"), number(element, "cy")];
      } else if (name === "rect") {
        this.x = [number(element, "x"), number(element, "x") + number(element, "width")];
        this.y = [number(element, "y"), number(element, "y") + number(element, "height")];
      } else if (name === "text") {
        this.anchor = [number(element, "x"), number(element, "y")];
      } else if (name === "line") {
        this.x = [number(element, "x1"), number(element, "x2")];
        this.y = [number(element, "y1"), number(element, "y2")];
      }
    }

    // Draws it where `x` and `y` put it; what goes from end to end stays as long as it is.
    place(x, y, area) {
      const { element } = this;
      const across = this.x && this.x[0] <= area.left + 0.5 && this.x[1] >= area.right - 0.5;
      const along = this.y && Math.abs(this.y[1] - this.y[0]) >= (area.bottom - area.top) * 0.9;
      const [left, right] = this.x ? (across ? this.x : this.x.map(x)) : [];
      const [up, down] = this.y ? (along ? this.y : this.y.map(y)) : [];
      switch (element.tagName) {
        case "path":
          if (this.runs) {
            const path = this.runs.map(([a, b], at) => `${at ? "L" : "M"}${rounded(x(a))} ${rounded(y(b))}`);
            element.setAttribute("d", path.join("") + (this.closed ? "Z" : ""));
          } else {
            const [a, b] = this.anchor;
            const down = element.classList.contains("failed") ? 0 : y(b) - b;
            element.setAttribute("transform", `translate(${rounded(x(a) - a)} ${rounded(down)})`);
          }
          break;
        case "text":
          element.setAttribute("x", rounded(x(this.anchor[0])));
          break;
        case "circle":
          element.setAttribute("cx", rounded(x(this.anchor[0])));
          element.setAttribute("cy", rounded(y(this.anchor[1])));
          break;
        case "rect":
          element.setAttribute("x", rounded(left));
          element.setAttribute("width", rounded(Math.max(right - left, 0)));
          element.setAttribute("y", rounded(Math.min(up, down)));
          element.setAttribute("height", rounded(Math.abs(down - up)));
          break;
        case "line":
          [["x1", left], ["x2", right], ["y1", up], ["y2", down]].forEach(([key, value]) =>
            element.setAttribute(key, rounded(value)));
          break;
      }
    }
  }

  const points = (path) =>
    path.replace(/Z$/, "").split(/[ML]/).filter(Boolean).map((pair) => pair.split(" ").map(Number));

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.svg = figure.querySelector("svg[data-x]");
      this.marks = this.svg.querySelector("g.marks");
      this.drawn = { x: new Axis(this.svg.dataset.x), y: new Axis(this.svg.dataset.y) };
      this.shown = { ...this.drawn };
      const base = this.svg.querySelector("line.base");
      this.area = {
        left: number(base, "x1"), right: number(base, "x2"),
        top: Math.min(this.drawn.y.start, this.drawn.y.end), bottom: number(base, "y1"),
      };
      this.said = new Map();
      for (const title of [...this.marks.querySelectorAll("title")]) {
        this.said.set(title.parentElement, title.textContent);
        title.remove(); // the browser would tell it a second time
      }
      this.shapes = [...this.marks.querySelectorAll("path, circle, rect, line, text")].map((it) => new Shape(it));
      this.axes = ["x", "y"].map((name) => this.svg.querySelector(`g.axis.${name}`));
      this.original = this.axes.map((group) => group.innerHTML);
      this.prepare();
    }

    prepare() {
      const { area, svg } = this;
      const id = `area-${Chart.count = (Chart.count ?? 0) + 1}`;
      const clip = made("clipPath", { id });
      clip.append(made("rect", {
        x: area.left - 4, y: area.top - 6, width: area.right - area.left + 10, height: area.bottom - area.top + 8,
      }));
      this.clip = `url(#${id})`;
      this.cursor = made("line", { class: "cursor", y1: area.top, y2: area.bottom, visibility: "hidden" });
      this.choice = made("rect", {
        class: "choice", y: area.top, height: area.bottom - area.top, visibility: "hidden",
      });
      svg.append(clip, this.cursor, this.choice);
      this.tip = document.createElement("p");
      this.tip.className = "tip";
      this.tip.hidden = true;
      this.tip.setAttribute("role", "status");
      const frame = document.createElement("div");
      frame.className = "drawing";
      svg.before(frame);
      frame.append(svg, this.tip, this.tools());
      svg.setAttribute("tabindex", "0");
      this.legend();
      svg.addEventListener("pointermove", (event) => this.moved(event));
      svg.addEventListener("pointerdown", (event) => this.pressed(event));
      svg.addEventListener("pointerup", (event) => this.released(event));
      svg.addEventListener("pointerleave", () => this.silent());
      svg.addEventListener("dblclick", () => this.everywhere((chart) => chart.whole()));
      svg.addEventListener("keydown", (event) => this.key(event));
      svg.addEventListener("blur", () => this.silent());
    }

    tools() {
      const bar = document.createElement("div");
      bar.className = "tools";
      const button = (name, act) => {
        const element = document.createElement("button");
        element.type = "button";
        element.textContent = name;
        element.addEventListener("click", act);
        bar.append(element);
        return element;
      };
      this.back = button("whole axis", () => this.everywhere((chart) => chart.whole()));
      this.back.hidden = true;
      const { y } = this.drawn;
      if (y.counts && y.high > 0 && this.leastAbove() !== null) {
        const name = (log) => (log ? "linear axis" : "logarithmic axis");
        const change = button(name(y.log), () => {
          this.turn(!this.shown.y.log);
          change.textContent = name(this.shown.y.log);
        });
      }
      return bar;
    }

    // The smallest figure above zero that is drawn; null where there is none, or all are close.
    leastAbove() {
      const { y } = this.drawn;
      if (y.log) return y.low;
      const places = this.shapes
        .filter((shape) => shape.element.closest(".line, .dot"))
        .flatMap((shape) => shape.runs?.map((pair) => pair[1]) ?? (shape.anchor ? [shape.anchor[1]] : []));
      const values = places.map((place) => y.of(place)).filter((value) => value > y.high * LEAST);
      const least = Math.min(...values);
      return Number.isFinite(least) && least < y.high / 2 ? least : null;
    }

    turn(log) {
      const { y } = this.drawn;
      if (log === y.log) {
        this.shown.y = y;
      } else if (log) {
        const least = this.leastAbove();
        const decade = 10 ** Math.floor(Math.log10(least));
        const low = decade * [5, 2, 1].find((factor) => decade * factor <= least * 1.0001);
        this.shown.y = y.but({ log, low });
      } else {
        this.shown.y = y.but({ log, low: 0 });
      }
      this.draw();
    }

    // Series are left out and taken in again at their names.
    legend() {
      for (const item of this.figure.querySelectorAll(".legend li")) {
        const wanted = classes(item.querySelector(".key"), ["key", "round"]);
        const own = [...this.marks.querySelectorAll("path, line, g.dot, circle")].filter((element) => {
          return classes(element, ["line", "dot", "spread", "whisker"]) === wanted;
        });
        if (own.length === 0) continue;
        item.tabIndex = 0;
        item.setAttribute("role", "button");
        item.setAttribute("aria-pressed", "true");
        const change = () => {
          const without = item.classList.toggle("without");
          item.setAttribute("aria-pressed", String(!without));
          own.forEach((element) => element.classList.toggle("left-out", without));
        };
        item.addEventListener("click", change);
        item.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          change();
        });
      }
    }

    // Charts over the same stretch of time move together.
    everywhere(act) {
      const same = charts.filter((chart) => chart.svg.dataset.x === this.svg.dataset.x);
      (this.drawn.x.unit.startsWith("since") ? same : [this]).forEach(act);
    }

    place(event) {
      const matrix = this.svg.getScreenCTM();
      return matrix && new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    }

    moved(event) {
      const at = this.place(event);
      if (!at) return;
      if (this.from !== undefined) {
        const [a, b] = [this.from, this.inside(at.x)].sort((one, other) => one - other);
        this.choice.setAttribute("x", rounded(a));
        this.choice.setAttribute("width", rounded(b - a));
        this.choice.setAttribute("visibility", b - a >= DRAG ? "visible" : "hidden");
      }
      this.tell(at.x, at.y);
    }

    inside(x) {
      return Math.min(Math.max(x, this.area.left), this.area.right);
    }

    pressed(event) {
      const at = this.place(event);
      if (!at || event.pointerType === "touch" || event.button !== 0 || !this.drawn.x.counts) return;
      this.from = this.inside(at.x);
      this.svg.setPointerCapture(event.pointerId);
    }

    released(event) {
      const { from } = this;
      this.from = undefined;
      this.choice.setAttribute("visibility", "hidden");
      const at = this.place(event);
      if (from === undefined || !at || Math.abs(this.inside(at.x) - from) < DRAG) return;
      const ends = [from, this.inside(at.x)].sort((one, other) => one - other).map((it) => this.shown.x.of(it));
      this.everywhere((chart) => chart.part(...ends));
    }

    part(low, high) {
      const { drawn } = this;
      const least = (drawn.x.high - drawn.x.low) / 1000;
      if (!drawn.x.counts || high - low < least) return;
      this.shown.x = drawn.x.but({
        low: Math.max(low, drawn.x.low), high: Math.min(high, drawn.x.high),
      });
      this.draw();
    }

    whole() {
      this.shown.x = this.drawn.x;
      this.draw();
    }

    draw() {
      const { drawn, shown } = this;
      const x = (place) => shown.x.at(drawn.x.of(place));
      const y = (place) => Math.min(shown.y.at(drawn.y.of(place)), this.area.bottom);
      this.shapes.forEach((shape) => shape.place(x, y, this.area));
      const parted = shown.x !== drawn.x;
      this.back.hidden = !parted;
      if (parted) this.marks.setAttribute("clip-path", this.clip);
      else this.marks.removeAttribute("clip-path");
      ["x", "y"].forEach((name, at) => {
        const group = this.axes[at];
        group.innerHTML = this.original[at];
        if (shown[name] !== drawn[name]) this[`${name}Axis`](group);
      });
      this.silent();
    }

    xAxis(group) {
      const { area } = this;
      if (this.drawn.x.unit === "clock") return this.moveTicks(group);
      group.querySelectorAll("line:not(:first-of-type), .tick").forEach((it) => it.remove());
      let free = -Infinity;
      for (const { value, name } of this.shown.x.ticks()) {
        const at = this.shown.x.at(value);
        const half = name.length * 3.7;
        group.append(made("line", { class: "base", x1: rounded(at), x2: rounded(at), y1: area.bottom, y2: area.bottom + 4 }));
        if (at - half < free) continue;
        free = at + half + 7.4;
        const text = made("text", { class: "tick mid", x: rounded(at), y: area.bottom + 18 });
        text.textContent = name;
        group.append(text);
      }
    }

    // Moments of a clock have no other names than those that were drawn.
    moveTicks(group) {
      const { area, drawn, shown } = this;
      for (const element of group.querySelectorAll("line:not(:first-of-type), .tick")) {
        const keys = element.tagName === "text" ? ["x"] : ["x1", "x2"];
        const at = shown.x.at(drawn.x.of(number(element, keys[0])));
        if (at < area.left - 1 || at > area.right + 1) element.remove();
        else keys.forEach((key) => element.setAttribute(key, rounded(at)));
      }
    }

    yAxis(group) {
      const { area } = this;
      group.querySelectorAll("line, .tick").forEach((it) => it.remove());
      const title = group.querySelector(".title");
      const bare = title.textContent.replace(" (log scale)", "").replace(" (not from zero)", "");
      title.textContent = this.shown.y.log ? `${bare} (log scale)` : bare;
      for (const { value, name } of this.shown.y.ticks()) {
        const at = this.shown.y.at(value);
        group.append(made("line", { class: "grid", x1: area.left, x2: area.right, y1: rounded(at), y2: rounded(at) }));
        const text = made("text", { class: "tick end", x: area.left - 6, y: rounded(at + 4) });
        text.textContent = name;
        group.append(text);
      }
    }

    // The nearest dot within reach, or else the strip below the pointer.
    found(x, y) {
      let best = null;
      let strip = null;
      for (const [element, words] of this.said) {
        if (element.closest(".left-out")) continue;
        if (element.tagName === "circle") {
          const away = Math.hypot(number(element, "cx") - x, number(element, "cy") - y);
          if (away < REACH && (!best || away < best.away)) {
            best = { away, words, at: number(element, "cx") };
          }
        } else if (element.tagName === "rect") {
          const from = number(element, "x");
          const to = from + number(element, "width");
          if (x >= from && x <= to) strip = { words, at: (from + to) / 2 };
        }
      }
      return best ?? strip;
    }

    tell(x, y) {
      const inside = x >= this.area.left - 4 && x <= this.area.right + 4;
      const found = inside ? this.found(x, y) : null;
      if (!found) return this.silent();
      this.cursor.setAttribute("x1", rounded(found.at));
      this.cursor.setAttribute("x2", rounded(found.at));
      this.cursor.setAttribute("visibility", "visible");
      this.tip.textContent = found.words;
      this.tip.hidden = false;
      const matrix = this.svg.getScreenCTM();
      const frame = this.svg.parentElement.getBoundingClientRect();
      const at = new DOMPoint(found.at, this.area.top).matrixTransform(matrix);
      const right = frame.width - this.tip.offsetWidth;
      const beside = at.x - frame.left + 10;
      const turned = beside > right ? at.x - frame.left - this.tip.offsetWidth - 10 : beside;
      this.tip.style.left = `${Math.max(0, Math.min(turned, right))}px`;
    }

    silent() {
      this.tip.hidden = true;
      this.cursor.setAttribute("visibility", "hidden");
      this.at = undefined;
    }

    // Arrows go from figure to figure, + and - show less and more of the axis, Escape all of it.
    key(event) {
      const all = [...this.said.keys()]
        .filter((it) => !it.closest(".left-out") && (it.tagName === "circle" || it.tagName === "rect"))
        .map((it) => it.tagName === "circle"
          ? [number(it, "cx"), number(it, "cy")]
          : [number(it, "x") + number(it, "width") / 2, this.area.bottom])
        .filter(([x]) => x >= this.area.left - 1 && x <= this.area.right + 1)
        .sort((one, other) => one[0] - other[0]);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && all.length > 0) {
        const last = this.at ?? (step > 0 ? -1 : all.length);
        const next = Math.min(Math.max(last + step, 0), all.length - 1);
        this.tell(...all[next]);
        this.at = next;
      } else if (event.key === "Escape") {
        this.everywhere((chart) => chart.whole());
      } else if ((event.key === "+" || event.key === "-") && this.drawn.x.counts) {
        const { low, high } = this.shown.x;
        const middle = this.at === undefined ? (low + high) / 2 : this.shown.x.of(all[this.at][0]);
        const half = ((high - low) / 2) * (event.key === "+" ? 0.5 : 2);
        const { x } = this.drawn;
        if (middle - half <= x.low && middle + half >= x.high) this.everywhere((chart) => chart.whole());
        else this.everywhere((chart) => chart.part(middle - half, middle + half));
      } else {
        return;
      }
      event.preventDefault();
    }
  }

  const classes = (element, without) =>
    [...element.classList].filter((name) => !without.includes(name) && name !== "left-out").sort().join(" ");

  // Of many rows those that hold every word that is typed.
  const filtered = (frame) => {
    const rows = [...frame.querySelectorAll("tbody tr:not(.group)")];
    if (rows.length < ROWS_MANY) return;
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const label = document.createElement("label");
    label.className = "filter";
    label.textContent = "Only rows with ";
    const input = document.createElement("input");
    input.type = "search";
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    label.append(input, " ", count);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const held = texts.map((text) => words.every((word) => text.includes(word)));
      rows.forEach((row, at) => (row.hidden = !held[at]));
      count.textContent = words.length ? `${held.filter(Boolean).length} of ${rows.length}` : "";
    });
    frame.before(label);
  };
  document.querySelectorAll(".sheet, .ladder table").forEach(filtered);

  const charts = [];
  for (const figure of document.querySelectorAll("figure.chart")) {
    if (figure.querySelector("svg[data-x] g.marks")) charts.push(new Chart(figure));
  }
})();
