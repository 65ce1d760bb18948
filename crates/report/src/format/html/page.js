/* What the page adds where scripts run: charts that can be read off and zoomed, the table of raw trials, the record
   as a file. Nothing here fetches anything, and no text of the record becomes markup. */
(() => {
  "use strict";

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const colour = (property) => getComputedStyle(document.documentElement).getPropertyValue(property).trim();
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  const digits = (value) => {
    const size = Math.abs(value);
    if (size >= 99.95) return Math.round(value).toLocaleString("en");
    return size >= 9.995 ? value.toFixed(1) : size === 0 ? "0" : size >= 0.01 ? value.toFixed(2) : value.toPrecision(2);
  };
  const time = (us) =>
    us >= 999500 ? digits(us / 1e6) + " s" : us >= 999.5 ? digits(us / 1e3) + " ms" : digits(us) + " µs";
  const clock = (s) => Math.floor(s / 60) + ":" + String(Math.round(s) % 60).padStart(2, "0");

  /* Something that is read off a chart by arrow keys or by pointing: a slider whose text is the value. */
  function reader(holder, label, last, told, moved) {
    const line = make("p", { class: "reading", "aria-hidden": "true" }, "");
    holder.setAttribute("role", "slider");
    holder.setAttribute("tabindex", "0");
    holder.setAttribute("aria-label", label + ": read values with the arrow keys");
    holder.setAttribute("aria-valuemin", "1");
    holder.setAttribute("aria-valuemax", String(last() + 1));
    holder.setAttribute("aria-valuenow", "1");
    holder.setAttribute("aria-valuetext", told(0));
    let at = 0;
    const show = (i, byKey) => {
      at = clamp(i, 0, last());
      const text = told(at);
      holder.setAttribute("aria-valuenow", String(at + 1));
      holder.setAttribute("aria-valuemax", String(last() + 1));
      holder.setAttribute("aria-valuetext", text);
      line.textContent = text;
      if (moved) moved(at, byKey);
    };
    holder.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };
      const to = event.key in steps ? at + steps[event.key] : event.key === "Home" ? 0 : event.key === "End" ? last() : null;
      if (to === null) return;
      event.preventDefault();
      show(to, true);
    });
    holder.addEventListener("focus", () => {
      if (holder.matches(":focus-visible")) show(at, true);
    });
    return { line, show };
  }

  /* Charts made of rows: the row that is pointed at or stepped to is told in full. */
  function rows(svg) {
    const [first, each] = svg.dataset.rows.split(" ").map(Number);
    const told = svg.querySelector("desc").textContent.split(";\n");
    const title = svg.querySelector("title").textContent;
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const holder = make("div", { class: "rows" });
    const mark = make("div", { class: "row-mark", hidden: "" });
    svg.replaceWith(holder);
    holder.append(svg, mark);
    svg.setAttribute("aria-hidden", "true");
    const { line, show } = reader(holder, title, () => told.length - 1, (i) => told[i], (i) => {
      mark.hidden = false;
      mark.style.top = (100 * (first + i * each)) / height + "%";
      mark.style.height = (100 * each) / height + "%";
    });
    holder.after(line);
    const clear = () => {
      mark.hidden = true;
      line.textContent = "";
    };
    holder.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const y = ((event.clientY - box.top) / box.height) * height;
      const i = Math.floor((y - first) / each);
      if (i >= 0 && i < told.length) show(i, false);
    });
    holder.addEventListener("pointerleave", () => {
      if (!holder.matches(":focus-visible")) clear();
    });
    holder.addEventListener("blur", clear);
  }

  /* A mark of a trial, with the look that the legend gives it. */
  function mark(ctx, shape, x, y, r) {
    ctx.beginPath();
    if (shape === "✕") {
      ctx.moveTo(x - r, y - r);
      ctx.lineTo(x + r, y + r);
      ctx.moveTo(x - r, y + r);
      ctx.lineTo(x + r, y - r);
      ctx.stroke();
    } else if (shape === "▲") {
      ctx.moveTo(x, y - 1.2 * r);
      ctx.lineTo(x + 1.1 * r, y + 0.8 * r);
      ctx.lineTo(x - 1.1 * r, y + 0.8 * r);
      ctx.fill();
    } else {
      ctx.arc(x, y, shape === "·" ? r / 2.5 : r, 0, 2 * Math.PI);
      if (shape === "○") ctx.stroke();
      else ctx.fill();
    }
  }

  /* Charts over a number: drawn anew by uPlot, with the picture kept for paper. */
  const plots = [];
  function plot(block) {
    const data = JSON.parse(block.textContent);
    const svg = block.previousElementSibling;
    const title = svg.querySelector("title").textContent;
    const named = data.x.kind === "names";
    const tables = data.series.map((s) => {
      const gap = s.y.map(() => null);
      return [s.x, s.y, s.low || gap, s.high || gap];
    });
    const joined = tables.length === 1 ? tables[0] : uPlot.join(tables);
    const x = joined[0];
    const of = (series, part) => joined[1 + 3 * series + part];
    /* What a series has at a place: there, or where it was last before it. */
    const across = (v) =>
      named ? data.x.names[Math.round(v)] ?? "" : data.x.kind === "clock" ? clock(v) : digits(v) + " " + data.x.unit;
    const value = (s, v) => (data.series[s].second ? time(v) : digits(v));
    const shown = data.series.map(() => true);
    const told = (i) => {
      const parts = [];
      data.series.forEach((s, n) => {
        const v = of(n, 0)[i];
        if (v == null || !shown[n]) return;
        const low = of(n, 1)[i];
        const interval = low == null ? "" : " [" + digits(low) + ", " + digits(of(n, 2)[i]) + "]";
        const unit = s.second ? "" : " " + data.unit;
        parts.push(s.name + " " + value(n, v) + unit + interval);
      });
      return across(x[i]) + ": " + (parts.join("; ") || "nothing is shown here");
    };
    const holder = make("div", { class: "plot" });
    const ink = () => colour("--muted");
    const grid = () => colour("--line");
    const width = () => Math.max(240, Math.min(holder.parentElement.clientWidth, 560));
    const axis = (more) => ({ stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif", ...more });
    const second = data.series.some((s) => s.second);
    const spread = (u, low, high) => {
      if (data.ends) return [0, data.ends[0]];
      let [a, b] = [low, high];
      data.series.forEach((s, n) => {
        if (s.second || !shown[n]) return;
        for (const v of of(n, 2)) if (v != null && v > b && v <= 2 * high) b = v;
      });
      if (data.line != null) [a, b] = [Math.min(a, data.line), Math.max(b, data.line)];
      const pad = (b - a || 1) * 0.08;
      return [data.x.kind === "clock" ? Math.max(0, a - pad) : 0, b + pad];
    };
    const options = () => ({
      width: width(),
      height: 240,
      legend: { show: false },
      cursor: { drag: { x: true, y: false }, points: { size: 7 } },
      scales: {
        x: { time: false, range: (u, a, b) => (a === b ? [a - 1, b + 1] : named ? [a - 0.2, b + 0.2] : [a, b]) },
        y: { range: spread },
        t: { range: (u, a, b) => [0, data.ends ? data.ends[1] : (b || 1) * 1.05] },
      },
      axes: [
        axis({
          values: (u, splits) => splits.map((v) => (named && v % 1 ? "" : across(v))),
          incrs: named ? [1, 2, 3, 4, 5, 8, 10] : undefined,
          space: data.x.kind === "unit" ? 70 : 56,
          size: 30,
        }),
        axis({
          values: (u, splits) => splits.map((v) => (v == null ? "" : v.toLocaleString("en"))),
          size: 44,
        }),
        ...(second
          ? [axis({ scale: "t", side: 1, grid: { show: false }, size: 56, values: (u, splits) => splits.map(time) })]
          : []),
      ],
      series: [
        {},
        ...data.series.flatMap((s, n) => [
          {
            label: s.name,
            scale: s.second ? "t" : "y",
            stroke: () => colour(s.colour),
            width: 1.8,
            spanGaps: true,
            show: shown[n],
            paths: s.dots ? () => null : undefined,
            points: { show: named, size: 6, fill: () => colour(s.colour) },
          },
          /* The ends of the interval are data without a line; whiskers are drawn below. */
          { show: false, scale: "y" },
          { show: false, scale: "y" },
        ]),
      ],
      hooks: {
        draw: [
          (u) => {
            const ratio = devicePixelRatio;
            const { ctx } = u;
            ctx.save();
            ctx.beginPath();
            ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
            ctx.clip();
            if (data.line != null) {
              const y = u.valToPos(data.line, "y", true);
              ctx.strokeStyle = ink();
              ctx.lineWidth = ratio;
              ctx.beginPath();
              ctx.moveTo(u.bbox.left, y);
              ctx.lineTo(u.bbox.left + u.bbox.width, y);
              ctx.stroke();
            }
            data.series.forEach((s, n) => {
              if (!shown[n]) return;
              ctx.strokeStyle = ctx.fillStyle = colour(s.colour);
              ctx.lineWidth = 1.3 * ratio;
              if (s.dots) {
                s.x.forEach((at, i) => {
                  /* Beyond the end of a scale, at its end, as in the picture. */
                  const to = s.second && data.ends ? Math.min(s.y[i], data.ends[1]) : s.y[i];
                  const y = u.valToPos(to, s.second ? "t" : "y", true);
                  mark(ctx, s.dots, u.valToPos(at, "x", true), y, 3 * ratio);
                });
              }
              x.forEach((at, i) => {
                const low = of(n, 1)[i];
                if (low == null) return;
                const px = u.valToPos(at, "x", true);
                ctx.beginPath();
                ctx.moveTo(px, u.valToPos(low, "y", true));
                ctx.lineTo(px, u.valToPos(of(n, 2)[i], "y", true));
                ctx.stroke();
              });
            });
            ctx.restore();
          },
        ],
        setCursor: [
          (u) => {
            if (u.cursor.idx != null && !stepping) show(u.cursor.idx, false);
          },
        ],
        setScale: [(u, key) => { if (key === "x") whole.hidden = Math.abs(u.scales.x.max - u.scales.x.min) > 0.999 * full; }],
      },
    });

    let stepping = false;
    let chart = null;
    const full = named ? x.at(-1) - x[0] + 0.4 : x.at(-1) - x[0] || 2;
    const { line, show } = reader(holder, title, () => x.length - 1, told, (i, byKey) => {
      if (!byKey || !chart) return;
      stepping = true;
      chart.setCursor({ left: chart.valToPos(x[i], "x"), top: chart.over.clientHeight / 2 });
      stepping = false;
    });
    const whole = make("button", { type: "button", hidden: "" }, "Show all again");
    whole.addEventListener("click", () => {
      chart.setData(joined);
      holder.focus();
    });
    const keys = make("div", { class: "keys", role: "group", "aria-label": "Series of " + title });
    data.series.forEach((s, n) => {
      const swatch = make("span", { class: "swatch", "aria-hidden": "true" }, (s.dots || "■") + " ");
      swatch.style.color = "var(" + s.colour + ")";
      const button = make("button", { type: "button", "aria-pressed": "true" }, swatch, s.name);
      button.addEventListener("click", () => {
        shown[n] = !shown[n];
        button.setAttribute("aria-pressed", String(shown[n]));
        chart.setSeries(1 + 3 * n, { show: shown[n] });
      });
      keys.append(button);
    });
    const all = make("div", { class: "live" }, holder, line, keys, whole);
    svg.before(all);
    chart = new uPlot(options(), joined, holder);
    svg.classList.add("for-paper");
    svg.parentElement.querySelector(".key")?.classList.add("for-paper");
    plots.push({ chart, width });
  }

  /* Once in each section: how its charts are read. */
  function hint(section, zooms) {
    if (!section || section.querySelector(".hint")) return;
    const words = "Point at a chart, or step through it with the arrow keys, to read its values" + (zooms ? "; drag across it to zoom." : ".");
    (section.querySelector("p.about") || section.querySelector("summary") || section.querySelector("h2")).after(make("p", { class: "hint" }, words));
  }

  /* Charts below the screen are drawn when they come near it. */
  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        const block = entry.target.querySelector("script.plot");
        const svg = entry.target.querySelector("svg[data-rows]");
        if (block) plot(block);
        else if (svg) rows(svg);
        else continue;
        hint(entry.target.closest("section"), block);
      }
    },
    { rootMargin: "600px" },
  );
  for (const figure of document.querySelectorAll("figure")) near.observe(figure);

  const again = () => {
    for (const { chart, width } of plots) {
      if (chart.width !== width()) chart.setSize({ width: width(), height: 240 });
      else chart.redraw(false);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(again, 150);
  });

  /* What an address or a link names is opened, and all of it is on paper. */
  const folds = [...document.querySelectorAll("details.fold")];
  const unfold = (element) => {
    const fold = element && element.closest("details.fold");
    if (fold) fold.open = true;
  };
  const named = () => unfold(document.getElementById(location.hash.slice(1)));
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", () => unfold(document.getElementById(link.hash.slice(1))));
  }
  addEventListener("hashchange", named);
  named();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = folds.filter((fold) => !fold.open);
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
  });

  /* The raw trials. */
  const MOST_ROWS = 500;
  const block = document.getElementById("record");
  const raw = document.getElementById("raw");
  if (!block || !raw) return;
  let record = null;
  /* A record that is too large for the page is here as rows of numbers, in this order. */
  function read() {
    if (record) return record;
    record = JSON.parse(block.textContent);
    record.trials ??= record.rows.map(([sequence, trialBlock, w, a, at_s, elapsed_s, ios, bytes, p50_us, p99_us, p999_us, process, machine, reads, writes]) => ({
      sequence,
      block: trialBlock,
      workload: record.plan.workloads[w]?.id,
      arm: record.plan.arms[a]?.id,
      at_s,
      elapsed_s,
      ios,
      bytes,
      latency: { p50_us, p99_us, p999_us },
      cpu_process_s: process,
      cpu_machine_s: machine,
      device: reads === null ? undefined : { read_bytes: reads, written_bytes: writes },
    }));
    return record;
  }

  const save = make("button", { type: "button" }, "Save the record as JSON");
  save.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([block.textContent], { type: "application/json" }));
    const link = make("a", { href: address, download: raw.dataset.run + ".json" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });
  const box = make("details", {}, make("summary", {}, "Show the trials in the order in which they ran"));
  if (raw.dataset.run) raw.append(make("p", {}, save));
  raw.append(box);
  raw.hidden = false;

  const COLUMNS = [
    ["#", (t) => t.sequence],
    ["Repeat", (t) => t.block ?? "discarded"],
    ["Workload", (t) => t.workload],
    ["Choice", (t) => t.arm],
    ["At s", (t) => digits(t.at_s)],
    ["Measured s", (t) => digits(t.elapsed_s)],
    ["MB/s", (t) => digits(t.bytes / t.elapsed_s / 1e6)],
    ["IOPS", (t) => digits(t.ios / t.elapsed_s)],
    ["Median", (t) => time(t.latency.p50_us)],
    ["p99", (t) => (t.latency.p99_us == null ? "–" : time(t.latency.p99_us))],
    ["p99.9", (t) => (t.latency.p999_us == null ? "–" : time(t.latency.p999_us))],
    ["CPU process s", (t) => digits(t.cpu_process_s)],
    ["CPU machine s", (t) => digits(t.cpu_machine_s)],
    ["Device MB read", (t) => (t.device ? digits(t.device.read_bytes / 1e6) : "–")],
    ["Device MB written", (t) => (t.device ? digits(t.device.written_bytes / 1e6) : "–")],
  ];
  const words = (name) => name === "Workload" || name === "Choice";

  let controls = null;
  function choices() {
    if (controls) return controls;
    const { plan } = read();
    const choice = (name, all, items) => {
      const select = make("select", {}, make("option", { value: "" }, all));
      items.forEach((item, i) => select.append(make("option", { value: String(i) }, item.label || item.id)));
      select.addEventListener("change", () => fill());
      return [select, make("label", {}, name + " ", select)];
    };
    const [workload, workloadLabel] = choice("Workload", "all", plan.workloads);
    const [arm, armLabel] = choice("Choice", "all", plan.arms);
    const said = make("p", { "aria-live": "polite" });
    const region = make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Raw trials" });
    box.append(make("p", { class: "choices" }, workloadLabel, armLabel), said, region);
    controls = { workload, arm, said, region };
    return controls;
  }

  function fill() {
    const { workload, arm, said, region } = choices();
    const { plan, trials } = read();
    const of = (select, items) => (select.value === "" ? null : items[Number(select.value)].id);
    const [w, a] = [of(workload, plan.workloads), of(arm, plan.arms)];
    const found = trials.filter((t) => (w === null || t.workload === w) && (a === null || t.arm === a));
    const body = make("tbody");
    for (const t of found.slice(0, MOST_ROWS)) {
      const row = make("tr");
      for (const [name, field] of COLUMNS) row.append(make("td", words(name) ? {} : { class: "number" }, String(field(t))));
      body.append(row);
    }
    const heads = COLUMNS.map(([name]) => make("th", { scope: "col", ...(words(name) ? {} : { class: "number" }) }, name));
    region.replaceChildren(make("table", { class: "numbers" }, make("thead", {}, make("tr", {}, ...heads)), body));
    const n = found.length.toLocaleString("en");
    said.textContent = found.length > MOST_ROWS ? "The first " + MOST_ROWS + " of " + n + " trials." : n + (found.length === 1 ? " trial." : " trials.");
  }

  box.addEventListener("toggle", () => {
    if (box.open && !controls) fill();
  });

  /* A figure's own trials; the address names them, so that they can be linked to. */
  function jump() {
    const cell = /^#trials-(\d+)-(\d+)$/.exec(location.hash);
    if (!cell) return;
    const { workload, arm, said } = choices();
    workload.value = cell[1];
    arm.value = cell[2];
    fill();
    unfold(box);
    box.open = true;
    said.setAttribute("tabindex", "-1");
    box.scrollIntoView();
    said.focus({ preventScroll: true });
  }
  for (const link of document.querySelectorAll("a[data-cell]")) {
    link.href = "#trials-" + link.dataset.cell;
    link.setAttribute("aria-label", link.textContent + ", to its raw trials");
  }
  addEventListener("hashchange", jump);
  jump();
})();
