// The current run: what happens now, the estimates so far, and what came of it.

import { by, bytes, h, percent, say, sayFacts, time } from "./dom.js";
import * as answer from "./answer.js";
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

let newest = null;
let connection = null;
let due = null;
let drawn = nothing(null);

/** What was drawn of a run. */
function nothing(run) {
  return { run, plan: null, charts: new Map(), told: 0, result: null };
}

export function start() {
  by("cancel").addEventListener("click", cancel);
  by("narrowing").addEventListener("toggle", show);
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
  if (by("cancel").getAttribute("aria-disabled") === "true") return;
  by("live-problem").replaceChildren();
  stopping(true);
  try {
    await post("api/cancel");
  } catch (refused) {
    by("live-problem").replaceChildren(refused.message);
    stopping(false);
  }
}

/** Shows on the button whether the run is being cancelled. */
function stopping(is) {
  by("cancel").setAttribute("aria-disabled", String(is));
  say(by("cancel"), is ? "Cancelling …" : "Cancel the run");
}

function draw() {
  clearTimeout(due);
  due = null;
  // What nobody sees is not drawn.
  if (by("view-live").hidden) return;
  const state = newest;
  if (drawn.run !== state.run) {
    drawn = nothing(state.run);
    stopping(false);
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
  if (state.phase === "none") return connection === "connected" ? "No run has been started from this page yet." : "";
  if (state.phase === "ended") return ending(state);
  if (state.cancelling) return "The run is being stopped. Its results so far are kept.";
  switch (state.phase) {
    case "starting":
    case "planned": return "The run is starting.";
    case "filling": return "The scratch file is being filled.";
    case "preparing": return "The systems are being set up.";
    case "checking": return "The stored data is being checked: can it be read back, and is it encrypted?";
    case "saved": return "The record has been written.";
    default: {
      const quarter = Math.floor(4 * share(state)) * 25;
      return quarter > 0 ? `Measuring; more than ${quarter} % of the time has passed.` : "Measuring.";
    }
  }
}

function ending(state) {
  const { code, signal, runs } = state.ended;
  const run = runs.length > 0;
  if (code === 0) return "The run has finished.";
  if (state.cancelling && run) return "The run was cancelled. Its results so far are kept, marked partial.";
  if (state.cancelling) return "The run was cancelled before anything was measured.";
  const how = code !== null ? `exit code ${code}` : signal !== null ? `killed by signal ${signal}` : "cause unknown";
  const kept = run ? "Its results so far are kept." : "No results were saved.";
  const why = code === null ? "`cryptbench cleanup` removes its leftovers." : reason(state);
  return `The run failed (${how}). ${kept} ${why}`.trim();
}

/** What the program said last: why it failed. */
function reason(state) {
  const from = state.messages.findLastIndex((text) => text.startsWith(PREFIX));
  return from < 0 ? "" : `Message: ${plain(state.messages.slice(from).join(" "))}`;
}

const PREFIX = "cryptbench: ";
const plain = (text) => (text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text);

function now(state) {
  by("now").hidden = by("about").hidden = !isRunning(state);
  if (by("now").hidden) return;
  by("progress").value = Math.round(100 * share(state));
  say(by("doing"), doing(state));
  const pairs = [];
  if (state.plan) {
    pairs.push(["Profile", `${state.plan.profile}, ${state.plan.workloads.length} workloads, ${state.plan.arms.length} choices`]);
    pairs.push(["Directory", state.plan.directory]);
  }
  if (state.trial?.trials) pairs.push(["Trials", `${state.trial.trials_done} of ${state.trial.trials}`]);
  pairs.push(["All CPUs", state.cpu === null ? "not known yet" : `${Math.round(100 * state.cpu)} % busy`]);
  pairs.push(["Equivalent command", command(state.run.arguments), true]);
  sayFacts(by("facts"), pairs);
}

/** What happens now, as the terminal says it. */
function doing(state) {
  const t = state.trial;
  switch (state.phase) {
    case "measuring": {
      const repeat = t.pair === null ? "warming up" : `repeat ${t.pair}`;
      return `${time(left(t))} left · ${repeat} · ${t.names.join(" · ")}`;
    }
    case "filling": return `${bytes(state.filling.done)} of ${bytes(state.filling.total)}`;
    case "preparing": return `${state.preparing.number} of ${state.preparing.of}: ${state.preparing.name}`;
    case "checking": return state.preparing.name;
    default: return "";
  }
}

/** The command line that the server made of the form. */
function command(words) {
  const quoted = words.map((word) => (/^[\w%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
  return ["cryptbench run", ...quoted].join(" ");
}

function estimates(state) {
  // At the end there is the answer itself.
  by("estimates").hidden = !state.table || (state.phase === "ended" && state.ended.runs.length > 0);
  if (by("estimates").hidden) return;
  answer.draw(by("table"), state.table);
  if (by("narrowing").open) charts(state);
}

function charts(state) {
  const plan = state.plan;
  if (drawn.plan !== plan) {
    drawn.plan = plan;
    drawn.charts = new Map();
    by("legend").replaceChildren(legend(plan.arms));
  }
  const arms = plan.arms.filter((arm) => arm.role !== "plain");
  const current = state.phase === "measuring" ? state.trial.workload : null;
  const rows = plan.workloads.map((workload) => ({
    workload,
    curves: arms.map((arm) => ({ arm, points: state.curves.get(key(workload.label, arm.label)) ?? [] }))
      .filter((c) => c.points.length > 0),
  }));
  const few = plan.workloads.length <= MOST_CHARTS;
  const charted = rows.filter((r) => r.curves.length > 0 && (few || r.workload.label === current));
  const figures = charted.map((row) => figure(plan.arms, row, current));
  const shown = by("charts").children;
  if (shown.length !== figures.length || figures.some((f, index) => f !== shown[index])) {
    by("charts").replaceChildren(...figures);
  }
}

// What has not changed is not drawn again.
function figure(arms, row, current) {
  const points = row.curves.reduce((sum, c) => sum + c.points.length, 0);
  const { label, name } = row.workload;
  const isCurrent = label === current;
  const old = drawn.charts.get(label);
  if (old && old.points === points && old.isCurrent === isCurrent) return old.figure;
  const caption = h("figcaption", null, name, isCurrent ? h("span", { class: "state" }, " · now") : null);
  const words = `${name}: ${row.curves.map(({ arm, points: p }) => `${arm.name} ${interval(p[p.length - 1])}`).join("; ")}`;
  const made = h("figure", null, caption, chart(arms, row.curves, words));
  drawn.charts.set(label, { points, isCurrent, figure: made });
  return made;
}

const interval = (e) => `${percent(e.kept)} of plain speed, between ${percent(e.low)} and ${percent(e.high)}`;

function notes(state) {
  const all = [...state.notes, ...state.messages.map(plain)];
  by("told").hidden = all.length === 0;
  if (all.length === drawn.told) return;
  drawn.told = all.length;
  by("notes").replaceChildren(...all.map((text) => h("li", null, text)));
}

async function outcome(state) {
  const runs = state.phase === "ended" ? state.ended.runs : [];
  if (runs.length === 0 || drawn.result) return;
  drawn.result = runs;
  const mine = drawn;
  const made = await Promise.all(runs.map((name, index) => result(name, state.ended.directories[index])));
  const tables = (state.study?.tables ?? []).map(answer.studied);
  if (drawn === mine) by("result").replaceChildren(...made, ...tables);
}
