/* Additional functions if scripts are enabled: charts whose values can be read with a pointer or with keys, the table of raw
   trials, and the record as a file. The script does not load anything, and no text of the record becomes markup. */
(() => {
  "use strict";

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  const digits = (value) => {
    const size = Math.abs(value);
    if (size >= 99.95) return Math.round(value).toLocaleString("en");
    return size >= 9.995 ? value.toFixed(1) : size === 0 ? "0" : size >= 0.01 ? value.toFixed(2) : value.toPrecision(2);
  };
  const time = (us) =>
    us >= 999500 ? digits(us / 1e6) + " s" : us >= 999.5 ? digits(us / 1e3) + " ms" : digits(us) + " µs";

  const download = (text, type, name) => {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = make("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };

  /* A chart as a document: with its caption and legend above it, and with the styles of the page written out. */
  const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "font-family", "font-size", "font-weight", "text-anchor"];
  function drawn(svg, figure) {
    const copy = svg.cloneNode(true);
    const parts = (of) => [of, ...of.querySelectorAll("*")];
    const styles = parts(svg).map((part) => getComputedStyle(part));
    parts(copy).forEach((part, i) => STYLES.forEach((name) => part.style.setProperty(name, styles[i].getPropertyValue(name))));
    const before = figure.parentElement.previousElementSibling;
    const legend = figure.querySelector(".legend") ?? (before?.matches(".legend") ? before : null);
    const lines = [figure.querySelector("figcaption"), ...(legend ? legend.querySelectorAll(".nobreak") : [])].filter(Boolean);
    const { x, y, width, height } = svg.viewBox.baseVal;
    lines.forEach((line, i) => {
      const text = document.createElementNS(svg.namespaceURI, "text");
      text.setAttribute("x", x);
      text.setAttribute("y", y - 16 * (lines.length - i));
      text.style.fill = getComputedStyle(line.querySelector(".swatch") ?? line).color;
      text.textContent = line.textContent;
      copy.append(text);
    });
    const top = 16 * (lines.length + 1);
    copy.setAttribute("viewBox", [x, y - top, width, height + top].join(" "));
    copy.setAttribute("width", width);
    copy.setAttribute("height", height + top);
    copy.removeAttribute("aria-hidden");
    copy.style.fontSize = "12px";
    copy.style.background = getComputedStyle(document.body).backgroundColor;
    return new XMLSerializer().serializeToString(copy);
  }
  for (const svg of document.querySelectorAll("figure > .chart")) {
    const figure = svg.parentElement;
    const title = svg.querySelector("title").textContent;
    const button = make("button", { type: "button", class: "save", "aria-label": "Save as SVG: " + title }, "Save as SVG");
    button.addEventListener("click", () => download(drawn(svg, figure), "image/svg+xml", title.replace(/[^\w]+/g, "-").slice(0, 80) + ".svg"));
    figure.append(button);
  }

  /* Makes a chart a slider over its readings. The reading at the pointer or at the current step is shown in full. */
  function reader(svg) {
    const parts = [...svg.querySelectorAll(".told rect")];
    const told = parts.map((part) => {
      const title = part.querySelector("title");
      title.remove(); // The browser would show it as well.
      return title.textContent;
    });
    const label = svg.querySelector("title").textContent + ": read values with the arrow keys";
    const holder = make("div", { class: "reader", role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": 1 });
    const line = make("p", { class: "reading", "aria-hidden": "true" });
    svg.replaceWith(holder);
    svg.setAttribute("aria-hidden", "true");
    holder.append(svg, line);
    let at = 0;
    const clear = () => {
      parts[at].removeAttribute("class");
      line.textContent = "";
    };
    const move = (i) => {
      at = i;
      holder.setAttribute("aria-valuemax", told.length);
      holder.setAttribute("aria-valuenow", i + 1);
      holder.setAttribute("aria-valuetext", told[i]);
    };
    const show = (i) => {
      clear();
      move(clamp(i, 0, told.length - 1));
      parts[at].setAttribute("class", "at");
      line.textContent = told[at];
    };
    move(0);
    holder.addEventListener("keydown", (event) => {
      const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
      if (!(event.key in steps)) return;
      event.preventDefault();
      show(at + steps[event.key]);
    });
    holder.addEventListener("focus", () => {
      if (holder.matches(":focus-visible")) show(at);
    });
    const point = (event) => {
      // The events of a finger are always sent to the part that it touched first.
      const i = parts.indexOf(document.elementFromPoint(event.clientX, event.clientY));
      if (i >= 0) show(i);
    };
    holder.addEventListener("pointerdown", point);
    holder.addEventListener("pointermove", point);
    holder.addEventListener("pointerleave", () => {
      if (!holder.matches(":focus-visible")) clear();
    });
    holder.addEventListener("blur", clear);
  }

  /* Explains once per section how to read its charts. */
  for (const svg of document.querySelectorAll(".chart:has(.told)")) {
    reader(svg);
    const section = svg.closest("section");
    if (section.querySelector(".hint")) continue;
    const words = "Point at a chart, or step through it with the arrow keys, to read its values.";
    section.querySelector("p.about").after(make("p", { class: "hint" }, words));
  }

  /* Opens the section to which an address or a link refers. Printouts contain the sections that their readers need, and those
     that are open. */
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
    const paper = ["glance", "condensed", "ranking", "picture", "evidence", "verdict", "machine", "method"];
    const isOnPaper = (fold) => paper.includes(fold.querySelector("h2").id);
    closed = folds.filter((fold) => !fold.open && isOnPaper(fold));
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
  /* If the record is too large for the page, the page contains rows of numbers in this order. */
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
    download(block.textContent, "application/json", raw.dataset.run + ".json");
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

  /* Shows the trials of a figure. They are specified in the address, so that links to them are possible. */
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
