// The answer of a run as the terminal and its page have it: headline, table, what to take, what is open. The table of a
// run that goes on is the same one, filling.

import { h, s, say, scrolling, unbroken } from "./dom.js";
import { askedBy, fill as fillForm, ready } from "./form.js";
import { get } from "./server.js";

// Percent of plain speed at the right end of a strip.
const END = 125;

const place = (ratio) => `${Math.min(100, Math.max(0, (100 * 100 * ratio) / END)).toFixed(1)}%`;

/** An interval on a scale from 0 to 125 % of plain speed; the line is plain. */
function strip(value) {
  if (!Number.isFinite(value.low) || !Number.isFinite(value.high)) return null;
  return s("svg", { class: "strip", "aria-hidden": "true" },
    s("line", { class: "axis", x1: "0%", x2: "100%", y1: "50%", y2: "50%" }),
    s("line", { class: "one", x1: place(1), x2: place(1), y1: "0%", y2: "100%" }),
    s("line", { class: "range", x1: place(value.low), x2: place(value.high), y1: "50%", y2: "50%" }),
    s("svg", { x: place(value.kept), y: "50%" }, s("circle", { r: 4 })));
}

function content(value) {
  if (!value) return [h("span", { class: "interval" }, "not yet")];
  const mark = value.mark ? [" ", h("span", { class: "mark", title: value.verdict }, value.mark), h("span", { class: "unseen" }, ` ${value.verdict}`)] : [];
  return [h("span", { class: "share" }, value.text, mark), strip(value)];
}

const shape = (table) => JSON.stringify([table.corner, table.headings, table.rows.map((row) => row.name)]);

/** What the marks of `table` mean, such as `▼ slower`. */
function marks(table) {
  const all = table.rows.flatMap((row) => row.values).filter((value) => value?.mark);
  return [...new Set(all.map((value) => `${value.mark} ${value.verdict}`))].join(" · ");
}

/** Draws `table` in `box`. One of the same shape only changes its cells, so that who reads it keeps the place. */
export function draw(box, table) {
  const drawn = box.firstElementChild;
  if (drawn?.shape !== shape(table)) {
    const made = whole(table);
    made.shape = shape(table);
    return box.replaceChildren(made);
  }
  say(drawn.querySelector(".marks"), marks(table));
  drawn.querySelectorAll("tbody tr").forEach((row, y) => {
    row.querySelectorAll("td").forEach((cell, x) => fill(cell, table.rows[y].values[x]));
  });
}

// What has not changed is not drawn again.
function fill(cell, value) {
  const now = JSON.stringify(value);
  if (cell.value === now) return;
  cell.value = now;
  cell.replaceChildren(...content(value).filter(Boolean));
}

function whole(table) {
  const head = h("tr", null, h("th", { scope: "col" }, table.corner),
    table.headings.map((name) => h("th", { scope: "col" }, name)));
  const body = table.rows.map((row) => h("tr", null, h("th", { scope: "row" }, row.name), row.values.map((value) => {
    const cell = h("td");
    fill(cell, value);
    return cell;
  })));
  const made = h("table", { class: "shares" }, h("caption", null, table.caption), h("thead", null, head), h("tbody", null, body));
  const notes = table.notes.length > 0 ? h("p", { class: "hint" }, table.notes.join(" ")) : null;
  return h("div", null, scrolling(table.caption, made), h("p", { class: "hint marks" }, marks(table)), notes);
}

// Shapes tell the choices apart without colour; what is no system is hollow.
const SHAPES = [["○", "●"], ["◇", "◆"], ["□", "■"], ["△", "▲"]];
const PATHS = ["M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z", "M0-5.8 5.8 0 0 5.8-5.8 0z", "M-4.3-4.3h8.6v8.6h-8.6z", "M0-5.6 5.4 4h-10.8z"];
const TICKS = [0, 0.25, 0.5, 0.75];

const sign = (i, hollow) => SHAPES[Math.min(i, SHAPES.length - 1)][hollow ? 0 : 1];

function across(noise, height, marks) {
  const low = 1 - noise;
  const band = Number.isFinite(noise) && noise < 1
    ? s("rect", { class: "band", x: place(low), width: `${parseFloat(place(1 / low)) - parseFloat(place(low))}%`, height: "100%" }) : null;
  return s("svg", { class: "over", height, "aria-hidden": "true" }, band,
    TICKS.map((tick) => s("line", { class: "g", x1: place(tick), x2: place(tick), y2: "100%" })),
    s("line", { class: "one", x1: place(1), x2: place(1), y2: "100%" }), marks);
}

/** The figure of the report's first screen: a row for each workload, a mark for each choice on one scale. */
function overview(table) {
  const before = table.headings.length - table.hollow.length;
  const names = table.headings.slice(before);
  const figure = (value, i) => h("span", { class: `c${i}` }, h("i", { "aria-hidden": "true" }, sign(i, table.hollow[i])),
    h("span", { class: "unseen" }, `${names[i]}: `), value.text, value.mark ? [" ", h("span", { class: "mark", title: value.verdict }, value.mark)] : null);
  const mark = (value, i) => {
    if (!Number.isFinite(value.kept)) return null;
    const y = `${Math.round((100 * (i + 0.5)) / names.length)}%`;
    return s("g", { class: `c${i}${table.hollow[i] ? " hollow" : ""}` },
      s("line", { x1: place(value.low), x2: place(value.high), y1: y, y2: y }),
      s("svg", { x: place(value.kept), y }, s("path", { d: PATHS[Math.min(i, PATHS.length - 1)] })));
  };
  const row = ({ name, values, noise }) => {
    const shares = values.slice(before);
    // A table that is laid out as something else loses its roles in some browsers.
    return h("tr", { role: "row" },
      h("th", { scope: "row", role: "rowheader" }, name, values.slice(0, before).filter((v) => v.text).map((v) => h("small", null, v.text))),
      h("td", { class: "scale", role: "cell" }, across(noise, 17 * Math.max(2, names.length), shares.map(mark))),
      h("td", { class: "figures", role: "cell" }, shares.map(figure)));
  };
  const axis = s("svg", { class: "over", height: 16, "aria-hidden": "true" },
    TICKS.map((tick) => s("text", { class: tick === 0 ? "first" : null, x: place(tick), y: 12 }, 100 * tick)), s("text", { class: "p", x: place(1), y: 12 }, "plain = 100"));
  const key = h("p", { class: "key" }, names.map((name, i) => h("span", { class: `c${i}` }, h("i", { "aria-hidden": "true" }, sign(i, table.hollow[i])), name)),
    h("span", { class: "key-n" }, "noise: plain compared with itself"));
  const made = h("table", { class: "overview", role: "table" }, h("caption", null, table.caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { scope: "col", role: "columnheader" }, `${table.corner}, ${table.headings.slice(0, before).join(", ")}`), h("td", { role: "cell" }, axis), h("td", { role: "cell" }))),
    h("tbody", { role: "rowgroup" }, table.rows.map(row)));
  const whole = h("div", null, key, made, h("p", { class: "hint marks" }, marks(table)), h("p", { class: "hint" }, table.notes.join(" ")));
  // Each choice has the hue that it has in the charts of its report.
  table.colours.forEach((colour, i) => whole.style.setProperty(`--c${i}`, `var(--${colour})`));
  return whole;
}

const lines = (title, kind, list) =>
  (list.length === 0 ? null : h("div", { class: kind }, h("h4", null, title), h("ul", null, list.map((line) => h("li", null, line)))));

function open(list) {
  return lines("Open questions", "open", list.map(({ text, command }) =>
    (command ? [unbroken(text), " ", h("code", null, unbroken(command)), " ", again(command)] : unbroken(text))));
}

/** A button that fills the form of a new run with what settles it. */
function again(command) {
  const order = askedBy(command);
  if (!order) return null;
  const button = h("button", { type: "button", class: "again" }, "Run again");
  button.addEventListener("click", () => fillForm(order));
  return button;
}

/** The answer of the run `name`. */
export async function answer(name) {
  const a = await get(`api/runs/${encodeURIComponent(name)}/answer`);
  // Whether the form can ask for what settles a question shows by its fields.
  await ready;
  const [first, ...rest] = a.headline;
  const made = h("div", { class: "answer" },
    h("p", { class: "hint measured" }, a.measured),
    h("h3", { class: "headline" }, unbroken(first ?? "Nothing was compared.")),
    rest.length > 0 ? h("p", { class: "sub" }, unbroken(rest.join(" "))) : null);
  const figure = h("div", { class: "figure" });
  if (a.table?.hollow) figure.append(overview(a.table));
  else if (a.table) draw(figure, a.table);
  const advice = [lines("What to use", "take", a.take.map(unbroken)), lines("Avoid", "avoid", a.avoid.map(unbroken))].filter(Boolean);
  const after = [lines("Bottlenecks", "held", a.why.map(unbroken)), open(a.open)].filter(Boolean);
  made.append(h("div", { class: "cols" },
    advice.length > 0 ? h("div", { class: "advice" }, advice) : null, figure, after.length > 0 ? h("div", { class: "after" }, after) : null));
  return made;
}

/** A table of a published study, repeated here. */
export const studied = (table) => h("section", { "aria-label": table.title }, scrolling(table.title, h("table", null,
  h("caption", null, table.title),
  h("thead", null, h("tr", null, table.headings.map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", null, table.rows.map((row) => h("tr", null, row.map((field) => h("td", null, field))))))),
table.note ? h("p", { class: "hint" }, table.note) : null);
