// One past run: its answer first, then what can be done with it.

import { answer } from "./answer.js";
import { by, h, say } from "./dom.js";
import { choices } from "./form.js";
import { about, links, named } from "./runs.js";
import { get, post } from "./server.js";

// The run that is seen.
let seen = null;

export function start() {
  by("rename").addEventListener("submit", (event) => {
    event.preventDefault();
    act(by("save-title"), rename);
  });
  by("delete").addEventListener("click", () => sure(true));
  by("keep").addEventListener("click", () => {
    sure(false);
    by("delete").focus();
  });
  by("delete-now").addEventListener("click", () => act(by("delete-now"), remove));
}

/** Shows the run `name`. */
export async function show(name) {
  seen = name;
  for (const id of ["run-problem", "run-answer"]) by(id).replaceChildren();
  by("change").hidden = true;
  say(by("title-run"), "Run");
  say(by("run-about"), "");
  say(by("renamed"), "");
  sure(false);
  try {
    const run = (await get("api/runs")).find((r) => r.name === name);
    if (seen !== name) return;
    if (!run) throw new Error("There is no such run. It may have been deleted.");
    say(by("title-run"), named(run));
    // What was measured stands in the answer.
    const what = run.summary ? `${run.summary.profile}, ${run.summary.workloads} workloads` : about(run);
    say(by("run-about"), `${what} · ${name}`);
    by("title").value = run.title ?? "";
    by("change").hidden = false;
    const formats = (await choices()).formats;
    const shown = run.summary ? await answer(name).catch((refused) => h("p", null, refused.message)) : null;
    if (seen === name) by("run-answer").replaceChildren(...[shown, run.summary ? links(run, formats) : null].filter(Boolean));
  } catch (refused) {
    if (seen === name) problem(refused.message);
  }
}

const problem = (words) => by("run-problem").replaceChildren(words);

/** Asks whether the run is really to be deleted, or no longer asks. */
function sure(asked) {
  by("sure").hidden = !asked;
  by("delete").setAttribute("aria-expanded", String(asked));
  if (asked) by("keep").focus();
}

const path = (action) => `api/runs/${encodeURIComponent(seen)}/${action}`;

async function act(button, work) {
  if (button.getAttribute("aria-busy") === "true") return;
  button.setAttribute("aria-busy", "true");
  problem("");
  wrong("");
  try {
    await work();
  } catch (refused) {
    if (refused.field === "title") wrong(refused.message);
    else problem(refused.message);
  } finally {
    button.removeAttribute("aria-busy");
  }
}

/** Says what is wrong with the title, at its field. */
function wrong(words) {
  by("wrong-title")?.remove();
  by("title").removeAttribute("aria-invalid");
  by("title").setAttribute("aria-describedby", "title-hint");
  if (words === "") return;
  by("title").setAttribute("aria-invalid", "true");
  by("title").setAttribute("aria-describedby", "title-hint wrong-title");
  by("title").after(h("span", { class: "wrong", id: "wrong-title" }, words));
  by("title").focus();
}

async function rename() {
  say(by("renamed"), "");
  const title = by("title").value.trim();
  await post(path("title"), { title });
  const run = (await get("api/runs")).find((r) => r.name === seen);
  if (run) say(by("title-run"), named(run));
  say(by("renamed"), title === "" ? "The title was removed." : "Saved.");
}

async function remove() {
  const { kept } = await post(path("delete"), { confirm: seen });
  if (kept.length === 0) {
    location.hash = "#runs";
    return;
  }
  // What was not made by the run stays.
  by("change").hidden = true;
  by("run-answer").replaceChildren();
  problem(`The run was deleted. Other files in its directory were kept: ${kept.join(", ")}.`);
}
