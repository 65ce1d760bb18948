// The form of a new run: what is offered, and what the server says of it. Values are checked by the program alone.

import { by, bytes, facts, h, time } from "./dom.js";
import { get, post } from "./server.js";
import { isRunning, watch } from "./state.js";

let asked = null;
let tried;

/** Resolves once the form has its fields, or could not get them. */
export const ready = new Promise((resolve) => { tried = resolve; });

/** What can be chosen on this machine. */
export const choices = () => (asked ??= get("api/catalogue").catch((e) => { asked = null; throw e; }));

export async function start() {
  by("form").addEventListener("submit", (event) => {
    event.preventDefault();
    act(by("start"), begin);
  });
  by("see-plan").addEventListener("click", () => act(by("see-plan"), plan));
  for (const radio of document.getElementsByName("kind")) radio.addEventListener("change", showKind);
  showKind();
  // A machine measures one run at a time.
  watch((state) => {
    const running = isRunning(state);
    by("start").disabled = by("see-plan").disabled = running;
    by("busy").hidden = !running;
  });
  try {
    offer(await choices());
  } catch (refused) {
    by("system").replaceChildren();
    problem(new Wrong(null, `${refused.message} Reload this page to try again.`));
  }
  tried();
}

/** Which kind of target is chosen. */
const kind = () => document.querySelector('input[name="kind"]:checked').value;

const PLACES = { directory: "in-directory", device: "on-device", pair: "on-pair", emulate: "on-model" };

function showKind() {
  for (const [name, id] of Object.entries(PLACES)) by(id).hidden = kind() !== name;
  by("may-erase").hidden = !["device", "pair"].includes(kind());
  // The systems of a pair are what its places hold.
  by("not-of-pairs").hidden = kind() === "pair";
}

/** Options of a list, with a description of the chosen one beside it. */
function offers(id, list, words, none) {
  const made = list.map((o) => h("option", { value: o.name }, words(o)));
  by(id).replaceChildren(...(none ? [h("option", { value: "" }, none)] : []), ...made);
  const about = () => {
    const chosen = list.find((o) => o.name === by(id).value);
    by(`${id}-about`).textContent = chosen ? (chosen.about ?? chosen.label) : "";
  };
  by(id).addEventListener("change", about);
  return about;
}

function offer(catalogue) {
  by("version").textContent = catalogue.version;
  if (!by("directory").value) by("directory").value = catalogue.target;
  disks(catalogue.mounted);
  by("devices").replaceChildren(...catalogue.devices.map((d) =>
    h("option", { value: d.path }, `${bytes(d.size)}, ${d.about}`)));
  const about = offers("profile", catalogue.profiles, (p) => {
    const words = p.workloads === 1 ? "1 workload" : `${p.workloads} workloads`;
    return `${p.name} (${words})`;
  });
  by("profile").value = "quick";
  about();
  offers("emulate", catalogue.models, (m) => m.name)();
  offers("study", catalogue.studies, (s) => `Study ${s.name}`, "None")();
  by("study").addEventListener("change", () => {
    // A study has its own profiles.
    by("profile").disabled = by("study").value !== "";
  });
  by("others").replaceChildren(...catalogue.options.filter((o) => !by(o.name)).map(field));
  const here = catalogue.systems.filter((s) => s.version !== null);
  const missing = catalogue.systems.filter((s) => s.version === null);
  const called = (s) => (s.label === s.name ? s.name : `${s.label} (${s.name})`);
  by("system").replaceChildren(...here.map((s) => box("system", s.name, called(s), `${s.about} (${s.version})`)));
  by("missing").hidden = missing.length === 0;
  by("missing").firstElementChild.textContent = `Not available here (${missing.length}), with reasons`;
  by("systems-missing").replaceChildren(...missing.map((s) =>
    box("system", s.name, called(s), `${s.about}. Reason: ${s.reason}.${s.remedy ? ` Remedy: ${s.remedy}` : ""}`, true)));
  const settable = here.filter((s) => s.settings.length > 0);
  by("settings-known").replaceChildren(...settable.map((s) =>
    h("div", null, h("dt", null, s.name), h("dd", null, s.settings.map((setting) => h("code", null, setting))))));
  by("cipher").replaceChildren(...catalogue.ciphers.map((c) => box("cipher", c.name, c.label, null)));
  by("cipher").addEventListener("change", () => {
    const count = chosen("cipher").length;
    by("ciphers-chosen").textContent = count > 0 ? ` (${count} chosen)` : "";
  });
}

/** The mounted disks; another directory is typed. */
function disks(mounted) {
  const words = (d) => `${d.path} (${d.about}, ${bytes(d.free)} of ${bytes(d.size)} free)`;
  by("mounted").replaceChildren(...mounted.map((d) => h("option", { value: d.path }, words(d))),
    h("option", { value: "" }, "Another directory"));
  by("of-mounted").hidden = mounted.length === 0;
  const follow = () => {
    by("mounted").value = mounted.some((d) => d.path === typed("directory")) ? typed("directory") : "";
  };
  by("mounted").addEventListener("change", () => {
    if (by("mounted").value) by("directory").value = by("mounted").value;
    else by("directory").focus();
  });
  by("directory").addEventListener("input", follow);
  follow();
}

/** What `cryptbench run` of a suggested command measures, or nothing where this form cannot ask for it. */
export function askedBy(command) {
  const words = [...command.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(([, quoted, bare]) => quoted?.replaceAll("'\\''", "'") ?? bare);
  if (words.shift() !== "cryptbench" || words.shift() !== "run") return null;
  const found = { target: null, options: {} };
  while (words.length > 0) {
    const word = words.shift();
    const name = word.startsWith("--") ? word.slice(2).replace(/^systems$/, "system") : null;
    if (name === null) found.target = word;
    else if (!by(name)?.dataset.option) return null;
    else found.options[name] = by(name).type === "checkbox" ? true : words.shift();
  }
  return found;
}

/** Fills the form with what a suggested command asks for, so that it can be seen before it starts. */
export function fill({ target, options }) {
  by("form").reset();
  by("kind-directory").checked = true;
  showKind();
  if (target) by("directory").value = target;
  by("directory").dispatchEvent(new Event("input"));
  for (const [name, value] of Object.entries(options)) {
    const field = by(name);
    if (field.matches("ul")) {
      const names = value.split(",");
      for (const box of document.getElementsByName(name)) box.checked = names.includes(box.value) && !box.disabled;
    } else if (field.type === "checkbox") field.checked = true;
    else field.value = value;
    for (let fold = field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    field.dispatchEvent(new Event("change"));
  }
  by("plan").replaceChildren();
  by("filled").hidden = false;
  location.hash = "#new";
}

/** A field for an option of the command line that has none of its own on the page. */
function field(option) {
  const { name, label: words, about } = option;
  const data = { id: name, "data-option": name, "aria-describedby": `${name}-hint` };
  const label = h("label", { for: name }, `${words} (optional)`);
  const hint = h("span", { class: "hint", id: `${name}-hint` }, option.default ? `${about} [${option.default}]` : about);
  if (option.takes) {
    return h("p", { class: "field" }, label, h("input", { type: "text", class: "short", autocomplete: "off", ...data }), hint);
  }
  return h("p", { class: "row" }, h("input", { type: "checkbox", ...data }), h("span", null, label, " ", hint));
}

function box(group, name, label, what, disabled) {
  const id = `${group}-${name}`;
  const about = `${id}-about`;
  const input = h("input", { type: "checkbox", id, name: group, value: name, disabled, "aria-describedby": what ? about : null });
  const words = h("span", null, h("label", { for: id }, label), what ? h("span", { class: "what", id: about }, what) : null);
  return h("li", { class: disabled ? "unavailable" : null }, input, words);
}

const chosen = (group) =>
  [...document.getElementsByName(group)].filter((input) => input.checked && !input.disabled).map((input) => input.value);

/** What is said of a field, or of the whole form. */
class Wrong extends Error {
  constructor(field, words) {
    super(words);
    this.field = field;
  }
}

const typed = (id) => by(id).value.trim();

/** The options that are set, by name: the fields that can be seen, of those of a group the chosen ones. */
function options() {
  const set = {};
  for (const field of by("form").querySelectorAll("[data-option]")) {
    if (field.disabled || field.closest("[hidden]")) continue;
    const name = field.dataset.option;
    if (field.type === "checkbox") {
      if (field.checked) set[name] = [];
      continue;
    }
    const values = field.matches("ul") ? chosen(name) : field.value.split("\n").map((s) => s.trim()).filter(Boolean);
    if (values.length > 0) set[name] = values;
  }
  return set;
}

function order() {
  const where = kind();
  const made = { options: options() };
  if (where === "directory") made.target = typed("directory");
  if (where === "device") {
    if (by("confirm").value === "") {
      throw new Wrong("confirm", "All data on it would be overwritten. To confirm, type its exact path again.");
    }
    Object.assign(made, { target: typed("device"), confirm: by("confirm").value });
  }
  if (where === "emulate") made.emulate = by("emulate").value;
  if (where === "device" || where === "pair") {
    made.erase = typed("erase").split(",").map((s) => s.trim()).filter(Boolean);
  }
  if (where === "pair") {
    made.pair = {
      plain: typed("plain"), confirm_plain: by("confirm_plain").value, name: typed("name"),
      encrypted: typed("encrypted"), confirm_encrypted: by("confirm_encrypted").value,
    };
  }
  return made;
}

async function act(button, work) {
  if (button.getAttribute("aria-busy") === "true") return;
  button.setAttribute("aria-busy", "true");
  by("filled").hidden = true;
  problem(null);
  try {
    await work();
  } catch (refused) {
    problem(refused);
  } finally {
    button.removeAttribute("aria-busy");
  }
}

async function begin() {
  await post("api/run", order());
  by("plan").replaceChildren();
  for (const id of ["confirm", "confirm_plain", "confirm_encrypted"]) by(id).value = "";
  location.hash = "#live";
}

async function plan() {
  by("plan").replaceChildren();
  const planned = await post("api/plan", order());
  const title = h("h3", { tabindex: "-1" }, "The plan");
  const much = planned.wear ? h("p", { class: "banner" }, planned.wear) : "";
  const remarks = (list) => (list?.length > 0 ? h("ul", { class: "notes" }, list.map((r) => h("li", null, r))) : "");
  // A study has one for each of its profiles.
  const each = (planned.plans ?? [planned]).flatMap((p) => [factsOf(p), remarks(p.remarks)]);
  by("plan").replaceChildren(title, much, planned.plans ? remarks(planned.remarks) : "", ...each,
    h("p", { class: "about" }, "Nothing has been written yet."));
  title.focus();
}

function factsOf(p) {
  const emulated = p.storage.startsWith("EMULATED") ? "based on the model's speeds" : "based on the speeds of a SATA SSD, because this disk has not been measured yet";
  const speeds = p.speeds_from ? `based on the speeds that run ${p.speeds_from} measured on this disk` : emulated;
  const left = p.left_out.map((l) => `${l.system}: ${l.reason}`).join("; ");
  return facts([
    ["Would write", bytes(p.bytes_written)], ["Would read", bytes(p.bytes_read)],
    ["Would occupy up to", bytes(p.bytes_taken_up)], ["Would take", `about ${time(p.seconds)} (${speeds})`],
    ["Storage", `${p.storage}, in ${p.directory}`, true],
    ...(p.paired ? [["Paired with", `${p.paired[1]}, in ${p.paired[0]}`, true]] : []),
    ["Scratch file", `${bytes(p.scratch_bytes)} (${p.scratch_reason})`, true],
    ["Workloads", `${p.profile}: ${some(p.names.workloads)}`, true], ["Choices", some(p.names.arms), true],
    ...(left ? [["Left out", left, true]] : []),
  ]);
}

/** The names of a list, or of a long one its first. Some have commas of their own. */
const some = (names) =>
  (names.length <= 24 ? names.join("; ") : `${names.slice(0, 12).join("; ")} and ${names.length - 12} more`);

const hints = (input) => (input.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== "wrong");

function describe(input, ids) {
  if (ids.length > 0) input.setAttribute("aria-describedby", ids.join(" "));
  else input.removeAttribute("aria-describedby");
}

/** Says what is wrong beside the buttons, and at the field that it is about. */
function problem(error) {
  for (const input of by("form").querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    describe(input, hints(input));
  }
  by("wrong")?.remove();
  by("problem").replaceChildren();
  if (!error) return;
  // The fields for consent are not seen where directories are asked for.
  const isFile = error.field === "confirm" && kind() === "directory";
  const words = isFile ? "This is not a directory. Choose a directory, or select above that it may be overwritten." : error.message;
  by("problem").replaceChildren(words);
  const field = error.field === "target" || isFile ? { directory: "directory", device: "device" }[kind()] : error.field;
  const input = field ? by(field) : null;
  if (!input) return by("problem").scrollIntoView({ block: "nearest" });
  // Some fields are groups of boxes.
  for (let fold = input.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  const control = input.matches("input, select, textarea") ? input : input.querySelector("input");
  control?.setAttribute("aria-invalid", "true");
  if (control) describe(control, [...hints(control), "wrong"]);
  input.after(h("span", { class: "wrong", id: "wrong" }, words));
  control?.focus();
}
