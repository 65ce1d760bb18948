// The current run: what happens now, the estimates so far, and what came of it.

import { by, h, percent, say, sayFacts, scrolling, time } from "./dom.js";
import { chart, legend } from "./chart.js";
import { isRunning, key, watch } from "./state.js";
import { post } from "./server.js";
import { result } from "./runs.js";

// Drawing takes the processor that is measured: once in a while is enough.
const EVERY_MS = 1000;
// A page that is opened is told at once all that was: it is drawn when that is over.
const FIRST_MS = 100;
// Beyond so many workloads only the one that is measured has its chart; the table has all.
const MOST_CHARTS = 12;
// Beyond so many the table has those that were measured last.
const MOST_ROWS = 60;

let newest = null;
let connection = null;
let due = null;
let drawn = nothing(null);

/** What was drawn of a run. */
function nothing(run) {
  return { run, plan: null, charts: new Map(), rows: null, cells: new Map(), told: 0, result: null };
}

export function start() {
  by("cancel").addEventListener("click", cancel);
  watch((state, how) => {
    newest = state;
    connection = how;
    if (connection === "begins") return;
    if (state.phase === "ended") return draw();
    due ??= setTimeout(draw, drawn.run ? EVERY_MS : FIRST_MS);
  });
}

/** Shows the run as it is now. */
export function show() {
  if (due === null && connection !== "begins") draw();
}

async function cancel() {
  by("live-problem").replaceChildren();
  try {
    await post("api/cancel");
  } catch (refused) {
    by("live-problem").replaceChildren(refused.message);
  }
}

function draw() {
  clearTimeout(due);
  due = null;
  // What nobody sees is not drawn.
  if (by("view-live").hidden) return;
  const state = newest;
  if (drawn.run !== state.run) {
    drawn = nothing(state.run);
    for (const id of ["live-problem", "result", "notes", "legend", "charts", "table"]) by(id).replaceChildren();
  }
  say(by("phase"), phase(state));
  const hadFocus = document.activeElement === by("cancel");
  by("cancel").hidden = !isRunning(state) || state.cancelling;
  if (hadFocus && by("cancel").hidden) by("title-live").focus();
  now(state);
  estimates(state);
  notes(state);
  outcome(state);
}

/** How much is done, from 0 to 1. */
function share(state) {
  if (state.phase === "filling") return state.filling.done / Math.max(1, state.filling.total);
  const t = state.trial;
  if (!t) return 0;
  return Math.min(1, t.trials ? t.trials_done / t.trials : t.elapsed_s / t.budget_s);
}

function left(t) {
  if (t.trials && t.trials_done > 0) {
    return Math.min((t.elapsed_s * (t.trials - t.trials_done)) / t.trials_done, t.budget_s);
  }
  return Math.max(0, t.budget_s - t.elapsed_s);
}

// Read out whenever it changes, and so it changes seldom: by phase, and by quarters.
function phase(state) {
  if (state.phase === "none") return connection === "connected" ? "No run was started from this page yet." : "";
  if (state.phase === "ended") return ending(state);
  if (state.cancelling) return "The run is told to end. What was measured is kept.";
  switch (state.phase) {
    case "starting":
    case "planned": return "The run begins.";
    case "filling": return "The scratch file is being filled.";
    case "preparing": return "A system is being set up.";
    case "checking": return "What lies on the disk is looked at: does it come back, is it encrypted?";
    case "saved": return "The record is written.";
    default: {
      const quarter = Math.floor(4 * share(state)) * 25;
      return quarter > 0 ? `Measuring; more than ${quarter} % of the time has passed.` : "Measuring.";
    }
  }
}

function ending(state) {
  const { code, signal, run } = state.ended;
  if (code === 0) return "The run has ended.";
  if (state.cancelling && run) return "The run was cancelled. What was measured is kept, marked partial.";
  if (state.cancelling) return "The run was cancelled before anything was measured.";
  const how = code !== null ? `exit code ${code}` : signal !== null ? `killed by signal ${signal}` : "it is not known how";
  const kept = run ? "What was measured is kept." : "Nothing was kept.";
  const why = code === null ? "`cryptbench cleanup` removes what it left behind." : reason(state);
  return `The run ended with an error (${how}). ${kept} ${why}`.trim();
}

/** What the program said last: why it failed. */
function reason(state) {
  const from = state.messages.findLastIndex((text) => text.startsWith(PREFIX));
  return from < 0 ? "" : `It says: ${plain(state.messages.slice(from).join(" "))}`;
}

const PREFIX = "cryptbench: ";
const plain = (text) => (text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text);

function now(state) {
  by("now").hidden = !isRunning(state);
  if (by("now").hidden) return;
  const t = state.trial;
  const pairs = [];
  if (state.plan) {
    pairs.push(["Profile", `${state.plan.profile}, ${state.plan.workloads.length} workloads, ${state.plan.arms.length} arms`]);
    pairs.push(["In", state.plan.directory]);
  }
  if (state.phase === "measuring") {
    pairs.push(["Workload", t.workload], ["Arm", t.arm]);
    pairs.push(["Pair", t.pair === null ? "warming up" : String(t.pair)]);
    if (t.trials) pairs.push(["Trials", `${t.trials_done} of ${t.trials}`]);
    pairs.push(["At most", `${time(left(t))} left`]);
  } else if (state.preparing && state.phase !== "filling") {
    pairs.push(["Now", state.preparing.what]);
  }
  pairs.push(["All processors together", state.cpu === null ? "not known yet" : `${Math.round(100 * state.cpu)} % busy`]);
  pairs.push(["The same in a terminal", command(state.run.arguments), true]);
  by("progress").value = Math.round(100 * share(state));
  sayFacts(by("facts"), pairs);
}

/** The command line that the server made of the form. */
function command(words) {
  const quoted = words.map((word) => (/^[\w%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
  return ["cryptbench run", ...quoted].join(" ");
}

function estimates(state) {
  const plan = state.plan;
  by("estimates").hidden = !plan || state.curves.size === 0;
  if (by("estimates").hidden) return;
  const arms = plan.arms.filter((arm) => arm.role !== "plain");
  if (drawn.plan !== plan) {
    drawn.plan = plan;
    by("legend").replaceChildren(legend(plan.arms));
  }
  const current = state.phase === "measuring" ? state.trial.workload : null;
  const rows = plan.workloads.map((workload) => ({
    workload: workload.label,
    curves: arms.map((arm) => ({ arm, points: state.curves.get(key(workload.label, arm.label)) ?? [] }))
      .filter((c) => c.points.length > 0),
  }));
  const few = plan.workloads.length <= MOST_CHARTS;
  const charted = rows.filter((r) => r.curves.length > 0 && (few || r.workload === current));
  const figures = charted.map((row) => figure(plan.arms, row, current));
  const shown = by("charts").children;
  if (shown.length !== figures.length || figures.some((f, index) => f !== shown[index])) {
    by("charts").replaceChildren(...figures);
  }
  table(recent(rows, current), arms, current, rows.length);
}

/** All workloads, or of very many those before and with the current one that have estimates. */
function recent(rows, current) {
  if (rows.length <= MOST_ROWS) return rows;
  const at = rows.findIndex((row) => row.workload === current);
  const before = at < 0 ? rows : [...rows.slice(at + 1), ...rows.slice(0, at + 1)];
  return before.filter((row) => row.curves.length > 0).slice(-MOST_ROWS / 2);
}

// What has not changed is not drawn again.
function figure(arms, row, current) {
  const points = row.curves.reduce((sum, c) => sum + c.points.length, 0);
  const isCurrent = row.workload === current;
  const old = drawn.charts.get(row.workload);
  if (old && old.points === points && old.isCurrent === isCurrent) return old.figure;
  const caption = h("figcaption", null, row.workload, isCurrent ? h("span", { class: "state" }, " · now") : null);
  const words = `${row.workload}: ${row.curves.map(({ arm, points: p }) => `${arm.label} ${interval(p[p.length - 1])}`).join("; ")}`;
  const made = h("figure", null, caption, chart(arms, row.curves, words));
  drawn.charts.set(row.workload, { points, isCurrent, figure: made });
  return made;
}

const interval = (e) => `keeps ${percent(e.kept)}, between ${percent(e.low)} and ${percent(e.high)}`;

/** The table: made anew for other rows, and else only its cells change, so that who reads it keeps the place. */
function table(rows, arms, current, all) {
  const names = rows.map((row) => row.workload);
  if (names.length !== drawn.rows?.length || names.some((name, index) => name !== drawn.rows[index])) {
    drawn.rows = names;
    drawn.cells = new Map();
    // The box stays: it may have the focus, and be scrolled.
    const box = by("table").firstElementChild ?? scrolling("Estimates so far", "");
    box.replaceChildren(empty(names, arms, all));
    if (!box.parentNode) by("table").append(box);
  }
  for (const row of rows) {
    say(drawn.cells.get(row.workload), row.workload === current ? " (now)" : "");
    for (const { arm, points } of row.curves) {
      const [kept, ends] = drawn.cells.get(key(row.workload, arm.label));
      const e = points[points.length - 1];
      say(kept, percent(e.kept));
      say(ends, ` ${percent(e.low)} to ${percent(e.high)}`);
    }
  }
}

/** The table before there is an estimate. */
function empty(names, arms, all) {
  const head = h("tr", null, h("th", { scope: "col" }, "Workload"),
    arms.map((arm) => h("th", { scope: "col", class: "number" }, arm.label)));
  const body = names.map((name) => {
    const mark = h("span");
    drawn.cells.set(name, mark);
    return h("tr", null, h("th", { scope: "row" }, name, mark), arms.map((arm) => {
      const cell = [h("span"), h("span", { class: "interval" }, "not yet")];
      drawn.cells.set(key(name, arm.label), cell);
      return h("td", { class: "number" }, cell);
    }));
  });
  const of = names.length < all ? `; ${names.length} of ${all} workloads, the report has all` : "";
  const caption = h("caption", null, `Kept of plain speed with 95 % interval${of}`);
  return h("table", null, caption, h("thead", null, head), h("tbody", null, body));
}

function notes(state) {
  const all = [...state.notes, ...state.messages.map(plain)];
  by("told").hidden = all.length === 0;
  if (all.length === drawn.told) return;
  drawn.told = all.length;
  by("notes").replaceChildren(...all.map((text) => h("li", null, text)));
}

async function outcome(state) {
  const name = state.phase === "ended" ? state.ended.run : null;
  if (!name || name === drawn.result) return;
  drawn.result = name;
  const mine = drawn;
  const made = await result(name, state.ended.directory);
  if (drawn === mine) by("result").replaceChildren(made);
}
