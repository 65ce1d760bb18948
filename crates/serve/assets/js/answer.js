// The answer of a run as the terminal and its page have it: headline, table, what to take, what is open. The table of a
// run that goes on is the same one, filling.

import { h, s, scrolling, unbroken } from "./dom.js";
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

/** Draws `table` in `box`. One of the same shape only changes its cells, so that who reads it keeps the place. */
export function draw(box, table) {
  const drawn = box.firstElementChild;
  if (drawn?.shape !== shape(table)) {
    const made = whole(table);
    made.shape = shape(table);
    return box.replaceChildren(made);
  }
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
  return h("div", null, scrolling(table.caption, made), notes);
}

const lines = (title, kind, list) =>
  (list.length === 0 ? null : h("div", { class: kind }, h("h4", null, title), h("ul", null, list.map((line) => h("li", null, line)))));

function open(list) {
  return lines("Still open", "open", list.map(({ text, command }) =>
    (command ? [unbroken(text), " ", h("code", null, unbroken(command))] : unbroken(text))));
}

/** The answer of the run `name`. */
export async function answer(name) {
  const a = await get(`api/runs/${encodeURIComponent(name)}/answer`);
  const [first, ...rest] = a.headline;
  const made = h("div", { class: "answer" },
    h("h3", { class: "headline" }, unbroken(first ?? "Nothing was compared.")),
    rest.length > 0 ? h("p", { class: "sub" }, unbroken(rest.join(" "))) : null,
    h("p", { class: "hint measured" }, a.measured));
  const figure = h("div", { class: "figure" });
  if (a.table) draw(figure, a.table);
  const advice = [lines("What to take", "take", a.take.map(unbroken)), lines("Avoid", "avoid", a.avoid.map(unbroken))].filter(Boolean);
  const after = [lines("What holds it back", "held", a.why.map(unbroken)), open(a.open)].filter(Boolean);
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
