// Past runs: the list, their files, and two to be compared.

import { by, h, say, time, unbroken } from "./dom.js";
import { answer } from "./answer.js";
import { get } from "./server.js";
import { choices } from "./form.js";
import { isRunning, watch } from "./state.js";

let running = false;
let chosen = [];
let order = [];

export function start() {
  watch((state) => { running = isRunning(state); });
  by("compare").addEventListener("click", () => {
    if (chosen.length !== 2) return tell(`Choose two runs; ${count()}.`);
    // The list begins with the newest: the older of the two is the baseline.
    const older = [...chosen].sort((a, b) => order.indexOf(b) - order.indexOf(a));
    location.hash = `#compare/${older.map(encodeURIComponent).join("/")}`;
  });
}

const count = () => (chosen.length === 1 ? "1 is chosen" : `${chosen.length} are chosen`);

const tell = (words) => say(by("chosen"), words);

/** Shows the list as it is now. */
export async function show() {
  try {
    const runs = await get("api/runs");
    by("runs-problem").replaceChildren();
    order = runs.map((run) => run.name);
    chosen = chosen.filter((name) => order.includes(name));
    const formats = (await choices()).formats;
    const items = runs.map((run) => item(run, formats));
    exchange(by("runs"), items.length > 0 ? items : [h("li", null, "There are no runs yet.")]);
    tell(chosen.length > 0 ? `${count()}.` : "");
  } catch (refused) {
    by("runs-problem").replaceChildren(refused.message);
  }
}

/** Gives a list other items; what has the focus keeps it if it is still there. */
function exchange(list, items) {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const same = (e) => (focused.id ? e.id === focused.id : e.getAttribute("href") === focused.getAttribute("href"));
  list.replaceChildren(...items);
  if (focused) ([...list.querySelectorAll("a, input")].find(same) ?? by("title-runs")).focus();
}

function item(run, formats) {
  const id = `choose-${run.name}`;
  const box = h("input", { type: "checkbox", id });
  box.checked = chosen.includes(run.name);
  box.addEventListener("change", () => {
    chosen = box.checked ? [...chosen, run.name] : chosen.filter((name) => name !== run.name);
    tell(`${count()}${chosen.length > 2 ? "; only two can be compared" : ""}.`);
  });
  const title = h("h3", null, h("a", { href: address(run.name) }, named(run)));
  const choose = h("p", { class: "row" }, box, h("label", { for: id }, `Compare ${dated(run)}`));
  if (!run.summary) return h("li", null, title, h("p", { class: "what" }, about(run)));
  return h("li", null, title, h("p", { class: "what" }, about(run)),
    run.summary.headline ? h("p", null, unbroken(run.summary.headline)) : null, choose, links(run, formats));
}

/** Where a run's own view is. */
export const address = (name) => `#run/${encodeURIComponent(name)}`;

/** What a run is called: by its title, else by its time. */
export const named = (run) => run.title ?? when(run);

/** Title and date, to tell it from others of the same title. */
export const dated = (run) => (run.title ? `${run.title}, ${when(run)}` : when(run));

/** What was measured, in a line. */
export function about(run) {
  const s = run.summary;
  if (!s) return run.problem ?? "Its record cannot be read.";
  return [
    run.title ? when(run) : null, `${s.profile}, ${s.workloads} workloads`, s.arms.join(", "),
    s.device ? `${s.device}, ${s.directory}` : s.directory, time(s.elapsed_s),
  ].filter(Boolean).join(" · ");
}

function when(run) {
  if (!run.summary) return run.name;
  const { partial, cancelled, time_ran_out, emulated } = run.summary;
  const how = cancelled ? "cancelled, partial" : time_ran_out ? "time ran out" : "partial";
  const marks = [partial ? how : null, emulated ? "EMULATED" : null];
  const at = new Date(run.summary.started);
  const words = Number.isNaN(at.getTime()) ? run.summary.started : at.toLocaleString();
  return [words, ...marks.filter(Boolean)].join(" · ");
}

/** The report of a run, and its data to take elsewhere. */
export function links(run, formats) {
  const base = `runs/${encodeURIComponent(run.name)}`;
  const link = (href, words, more) =>
    h("li", null, h("a", { href, ...more, "aria-label": `${words} of ${run.name}` }, words));
  const json = link(`${base}/record.json`, "JSON", { download: `${run.name}.json` });
  // Reports and conversions take the processor that is measured.
  if (running) {
    const later = ["Full report", ...formats.map((f) => f.label)].join(", ");
    return h("ul", { class: "links" }, json, h("li", { class: "what" }, `${later}: when the run has finished`));
  }
  return h("ul", { class: "links" },
    link(`${base}/report.html`, "Full report", { target: "_blank", rel: "noreferrer" }),
    json,
    formats.map((f) => link(`${base}/export/${encodeURIComponent(f.name)}`, f.label, { download: `${run.name}.${f.extension}` })));
}

/** What came of the run `name`, which was saved in `directory`: its answer and its files. */
export async function result(name, directory) {
  try {
    const run = (await get("api/runs")).find((r) => r.name === name);
    if (!run?.summary) return h("p", null, run?.problem ?? `Its record is not in the list of past runs; it is in ${directory}.`);
    const more = h("p", null, h("a", { href: address(name) }, "Rename or delete this run"));
    return h("div", null, await answer(name), links(run, (await choices()).formats), more);
  } catch (refused) {
    return h("p", null, refused.message);
  }
}
