// The form of a new run: what is offered, what is checked here, and what the server says of it.

import { by, bytes, facts, h, time } from "./dom.js";
import { get, post } from "./server.js";

let asked = null;

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
  try {
    offer(await choices());
  } catch (refused) {
    by("systems").replaceChildren();
    problem(new Wrong(null, `${refused.message} Then reload this page.`));
  }
}

function showKind() {
  by("in-directory").hidden = !by("kind-directory").checked;
  by("on-device").hidden = !by("kind-device").checked;
}

function offer(catalogue) {
  by("version").textContent = catalogue.version;
  if (!by("directory").value) by("directory").value = catalogue.target;
  by("devices").replaceChildren(...catalogue.devices.map((d) =>
    h("option", { value: d.path }, `${bytes(d.size)}, ${d.about}`)));
  by("profile").replaceChildren(...catalogue.profiles.map((p) => {
    const words = p.workloads === 1 ? "1 workload" : `${p.workloads} workloads`;
    return h("option", { value: p.name, selected: p.name === "quick" }, `${p.name} (${words})`);
  }));
  const about = () => {
    by("profile-about").textContent = catalogue.profiles.find((p) => p.name === by("profile").value)?.about ?? "";
  };
  by("profile").addEventListener("change", about);
  about();
  const here = catalogue.systems.filter((s) => s.version !== null);
  const missing = catalogue.systems.filter((s) => s.version === null);
  by("systems").replaceChildren(...here.map((s) => box("system", s.name, s.name, `${s.about} (${s.version})`)));
  by("missing").hidden = missing.length === 0;
  by("missing").firstElementChild.textContent = `Not available here: ${missing.length} more, and why`;
  by("systems-missing").replaceChildren(...missing.map((s) =>
    box("system", s.name, s.name, `${s.about}. Why not: ${s.reason}.${s.remedy ? ` Remedy: ${s.remedy}` : ""}`, true)));
  by("ciphers").replaceChildren(...catalogue.ciphers.map((c) => box("cipher", c.name, c.label, null)));
  by("ciphers").addEventListener("change", () => {
    const count = chosen("cipher").length;
    by("ciphers-chosen").textContent = count > 0 ? ` (${count} chosen)` : "";
  });
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

/** Which field of the form a field of the order is. */
const FIELDS = { confirm: "confirm", erase: "erase", profile: "profile", budget_s: "budget", size_mib: "size" };

class Wrong extends Error {
  constructor(field, words) {
    super(words);
    this.field = field;
  }
}

/** Seconds of `90`, `90s`, `2m` or `1h`; null for nothing. */
export function seconds(text) {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(s|m|min|h)?\s*$/.exec(text);
  if (text.trim() === "") return null;
  const n = match ? Math.round(Number(match[1]) * { s: 1, m: 60, min: 60, h: 3600 }[match[2] ?? "s"]) : 0;
  if (n < 1) throw new Wrong("budget_s", "The longest time is no time: write for instance 90s, 5m or 1h.");
  return n;
}

function size(text) {
  if (text.trim() === "") return null;
  if (!/^\s*\d+\s*$/.test(text)) throw new Wrong("size_mib", "The size of the scratch file is a number of MiB.");
  return Number(text);
}

function order() {
  const device = by("kind-device").checked;
  if (device && by("confirm").value === "") {
    throw new Wrong("confirm", "Everything on it would be overwritten. Type its name again, exactly.");
  }
  return {
    target: by(device ? "device" : "directory").value.trim(),
    confirm: device ? by("confirm").value : "",
    erase: device ? by("erase").value.split(",").map((s) => s.trim()).filter(Boolean) : [],
    systems: chosen("system"),
    ciphers: chosen("cipher"),
    profile: by("profile").value,
    budget_s: seconds(by("budget").value),
    size_mib: size(by("size").value),
  };
}

async function act(button, deed) {
  if (button.getAttribute("aria-busy") === "true") return;
  button.setAttribute("aria-busy", "true");
  problem(null);
  try {
    await deed();
  } catch (refused) {
    problem(refused);
  } finally {
    button.removeAttribute("aria-busy");
  }
}

async function begin() {
  await post("api/run", order());
  by("plan").replaceChildren();
  by("confirm").value = "";
  location.hash = "#live";
}

async function plan() {
  by("plan").replaceChildren();
  const p = await post("api/plan", order());
  const speeds = p.speeds_from ? `from what run ${p.speeds_from} measured of this disk` : "this disk was not measured yet: speeds of a SATA SSD are assumed";
  const title = h("h3", { tabindex: "-1" }, "The plan");
  by("plan").replaceChildren(
    title,
    facts([
      ["Would write", bytes(p.bytes_written)], ["Would read", bytes(p.bytes_read)],
      ["Takes up at a time", bytes(p.bytes_taken_up)], ["Takes", `about ${time(p.seconds)} (${speeds})`],
      ["Storage", `${p.storage}, in ${p.directory}`, true],
      ["Scratch file", `${bytes(p.scratch_bytes)} (${p.scratch_reason})`, true],
      ["Workloads", some(p.workloads), true], ["Arms", some(p.arms), true],
    ]),
    p.remarks.length > 0 ? h("ul", { class: "notes" }, p.remarks.map((r) => h("li", null, r))) : "",
    h("p", { class: "about" }, "Nothing was written yet."));
  title.focus();
}

/** The names of a list, or of a long one its first. */
const some = (names) =>
  (names.length <= 24 ? names.join(", ") : `${names.slice(0, 12).join(", ")} and ${names.length - 12} more`);

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
  const device = by("kind-device").checked;
  // The field for the consent is not seen where a directory is asked for.
  const isFile = error.field === "confirm" && !device;
  const words = isFile ? "That is no directory. Choose one, or say above that it may be overwritten." : error.message;
  by("problem").replaceChildren(words);
  const input = error.field === "target" || isFile ? by(device ? "device" : "directory") : by(FIELDS[error.field] ?? "");
  if (!input) return by("problem").scrollIntoView({ block: "nearest" });
  input.closest("details")?.setAttribute("open", "");
  input.setAttribute("aria-invalid", "true");
  describe(input, [...hints(input), "wrong"]);
  input.after(h("span", { class: "wrong", id: "wrong" }, words));
  input.focus();
}
