// The page: which view is seen, and what all views share.

import { by, say } from "./dom.js";
import * as compare from "./compare.js";
import * as form from "./form.js";
import * as live from "./live.js";
import * as one from "./run.js";
import * as runs from "./runs.js";
import { get } from "./server.js";
import { isRunning, listen, watch } from "./state.js";

const TITLES = { new: "New run", live: "Current run", runs: "Past runs", run: "Run", compare: "Comparison of two runs" };
const VIEWS = Object.keys(TITLES);
// A reload or a short interruption is no news.
const LOST_AFTER_MS = 4000;

const CONNECTION = {
  lost: "The server does not respond. A run in progress is not affected; its record will appear under Past runs. If the server has stopped, start it again with cryptbench serve and open the address that it prints.",
  old: "This address is no longer valid: the server was restarted. Open the new address that cryptbench serve printed.",
};

let seen = null;

function route(event) {
  const [name, ...rest] = place();
  // The skip link and the like: a place on the page, no view.
  if (seen && !VIEWS.includes(name) && name !== "") return;
  const view = VIEWS.includes(name) ? name : "new";
  seen = view;
  for (const other of VIEWS) by(`view-${other}`).hidden = other !== view;
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.hash === `#${["compare", "run"].includes(view) ? "runs" : view}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.body.dataset.view = view;
  document.title = `${TITLES[view]} – cryptbench`;
  if (view === "live") live.show();
  if (view === "runs") runs.show();
  if (view === "run") one.show(...rest);
  if (view === "compare") compare.show(...rest);
  // After a change of the view the keyboard and the screen reader go on at its title.
  if (event) by(`title-${view}`).focus();
  news();
}

/** The parts of the address behind the hash. */
function place() {
  try {
    return location.hash.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return [""];
  }
}

let running = false;
// A run ended while another view was seen.
let ended = false;
let lost = null;

/** Tells of the run where it is not seen. */
function news() {
  if (seen === "live" || running) ended = false;
  const words = running ? "A run is in progress." : ended ? "The run has finished." : "";
  by("news").hidden = seen === "live" || words === "";
  say(by("news-words"), by("news").hidden ? "" : words);
  say(by("news-link"), running ? "Watch it" : "See the result");
}

function connection(how) {
  clearTimeout(lost);
  const show = () => {
    by("connection").hidden = how === "connected";
    say(by("connection"), CONNECTION[how] ?? "");
  };
  if (how === "lost" && by("connection").hidden) lost = setTimeout(show, LOST_AFTER_MS);
  else if (how !== "begins") show();
}

let before = null;

watch((state, how) => {
  const was = running;
  running = isRunning(state);
  ended ||= was && !running;
  news();
  // The list of past runs has one more, and what had to wait for the end of the run can be done.
  if (was !== running && seen === "runs") runs.show();
  if (how !== before) connection(how);
  before = how;
});

window.addEventListener("hashchange", route);
form.start();
runs.start();
one.start();
live.start();
get("api/fleet").then((directory) => {
  by("fleet").hidden = directory === null;
  by("fleet").title = directory ?? "";
}, () => {});
route(null);
listen();
