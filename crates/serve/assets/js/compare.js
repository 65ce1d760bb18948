// Two runs compared: what the program says of them, cell by cell.

import { by, h, percent, say, scrolling } from "./dom.js";
import { dated } from "./runs.js";
import { get } from "./server.js";

const VERDICTS = {
  slower: "slower", faster: "faster", equivalent: "the same", "not-told-apart": "no difference found",
  "no-interval": "too few runs", "too-coarse": "too coarse", cached: "served from a cache",
};

let newest = null;

/** Compares run `b` with run `a`, the baseline: all choices of both, or only `arm`. */
export async function show(a, b, arm) {
  const place = by("comparison");
  place.replaceChildren();
  if (!a || !b) return say(by("comparing"), "Choose two runs under Past runs.");
  say(by("comparing"), "Comparing …");
  const mine = (newest = {});
  const runs = await get("api/runs").catch(() => []);
  const [x, y] = [a, b].map((name) => runs.find((one) => one.name === name));
  const areKnown = x?.summary && y?.summary;
  const isAsked = arm || !areKnown || x.summary.set === y.summary.set;
  const question = new URLSearchParams(arm ? { a, b, arm } : { a, b });
  const answer = isAsked ? await get(`api/compare?${question}`).catch((refused) => refused) : null;
  // Another two were asked for meanwhile.
  if (mine !== newest) return;
  const of = arm ? ` Choice: ${x?.summary?.choices.find((choice) => choice.name === arm)?.label ?? arm}.` : "";
  say(by("comparing"), `A, the baseline: ${x ? dated(x) : a}. B: ${y ? dated(y) : b}.${of}`);
  if (answer === null) place.replaceChildren(shared(x, y));
  else if (answer instanceof Error) place.replaceChildren(h("p", { class: "problem" }, answer.message));
  else place.replaceChildren(...parts(answer));
}

/** The choices that both runs have. The other choices of a run affect each choice's trials. */
function shared(x, y) {
  const both = x.summary.choices.filter((choice) => y.summary.choices.some((other) => other.name === choice.name));
  const why = "The two runs measured different sets of systems, and the systems of a run affect each other's figures.";
  if (both.length === 0) return h("p", null, `${why} They have no choice in common.`);
  const place = (choice) => `#compare/${[x.name, y.name, choice.name].map(encodeURIComponent).join("/")}`;
  return h("div", null, h("p", null, `${why} Compare one choice that both have:`),
    h("ul", null, both.map((choice) => h("li", null, h("a", { href: place(choice) }, choice.label)))));
}

function parts(c) {
  const [first, ...rest] = c.answer;
  const made = [
    h("h3", { class: "headline" }, first),
    rest.length > 0 ? h("p", { class: "sub" }, rest.join(" ")) : "",
  ];
  if (c.costs.length > 0) {
    made.push(table("% of plain speed", ["Workload", "Choice", "A", "B", "Change"], c.costs.map((cost) => [
      cost.workload_name, cost.arm_name, percent(cost.a), percent(cost.b),
      cost.changed ? mark(cost.ratio < 1 ? "slower" : "faster") : cost.same ? "the same" : "no difference found",
    ])));
  }
  made.push(table("Speed of each workload on each choice", ["Workload and choice", "B / A", "Interval", "Verdict"], c.cells.map((cell) => [
    cell.title, number(cell.ratio), cell.interval ? `${number(cell.interval.low)} to ${number(cell.interval.high)}` : "none",
    mark(cell.verdict),
  ])));
  if (c.differences.length > 0) {
    made.push(table("Other differences", ["Property", "A", "B"], c.differences.map((d) => [d.what, d.a, d.b])));
  }
  made.push(h("ul", { class: "sentences" }, c.sentences.map((sentence) => h("li", null, sentence))));
  return made;
}

const number = (n) => (Number.isFinite(n) ? n.toFixed(3) : "none");

const mark = (verdict) => h("span", { class: verdict }, VERDICTS[verdict] ?? verdict);

function table(title, head, rows) {
  const made = h("table", null, h("caption", null, title),
    h("thead", null, h("tr", null, head.map((words) => h("th", { scope: "col" }, words)))),
    h("tbody", null, rows.map(([first, ...rest]) =>
      h("tr", null, h("th", { scope: "row" }, first), rest.map((cell) => h("td", null, cell))))));
  return h("section", { "aria-label": title }, scrolling(title, made));
}
