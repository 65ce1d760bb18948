// What is known of the run: every page builds it from the same numbered events, so that all of them agree.

// `run` is an object of its own for each run: what was drawn of another one is void.
const NONE = () => ({
  phase: "none", run: null, plan: null, trial: null, filling: null, preparing: null, cpu: null,
  table: null, curves: new Map(), study: null, notes: [], messages: [], ended: null, cancelling: false,
});

const AGAIN_MS = 5000;

let state = NONE();
let last = 0;
let source = null;
let again = null;
// "begins", "connected", "lost", or "old": the server has another address by now.
let connection = "begins";
const watchers = new Set();

/** Calls `watcher` with the state and the connection now and after each change. */
export function watch(watcher) {
  watchers.add(watcher);
  watcher(state, connection);
}

function changed() {
  for (const watcher of watchers) watcher(state, connection);
}

function connects(how) {
  if (connection === how) return;
  connection = how;
  changed();
}

/** The key of a curve. */
export const key = (workload, arm) => `${workload}\n${arm}`;

/** The state after an event. */
export function step(state, event) {
  switch (event.event) {
    case "started": return { ...NONE(), phase: "starting", run: event };
    // A study has a plan for each of its profiles.
    case "planned": return { ...state, phase: "planned", plan: event, trial: null, table: null, curves: new Map() };
    case "table": return { ...state, table: event.table };
    case "study": return { ...state, study: event };
    case "filling": return { ...state, phase: "filling", filling: event };
    case "preparing":
    case "checking": return { ...state, phase: event.event, preparing: event };
    case "trial": return { ...state, phase: "measuring", trial: event };
    case "cpu": return { ...state, cpu: event.busy };
    case "cancelling": return { ...state, cancelling: true };
    case "note": return { ...state, notes: [...state.notes, event.text] };
    case "message": return { ...state, messages: [...state.messages, event.text] };
    case "saved": return { ...state, phase: "saved" };
    case "ended": return { ...state, phase: "ended", ended: event };
    case "estimate": {
      const name = key(event.workload, event.arm);
      const curve = state.curves.get(name) ?? [];
      curve.push({ kept: event.kept, low: event.low, high: event.high });
      state.curves.set(name, curve);
      return { ...state };
    }
    default: return state;
  }
}

/** Whether a run goes on. */
export const isRunning = (state) => state.phase !== "none" && state.phase !== "ended";

function open() {
  clearTimeout(again);
  const opened = new EventSource("api/events");
  source = opened;
  opened.onopen = () => connects("connected");
  opened.onerror = () => {
    connects("lost");
    // After an interruption the browser tries again by itself, after a refusal it does not.
    if (opened.readyState === EventSource.CLOSED && source === opened) refused();
  };
  opened.onmessage = (message) => {
    const id = Number(message.lastEventId);
    // A stream that is opened anew tells all from the start.
    if (id <= last) return;
    last = id;
    state = step(state, JSON.parse(message.data));
    changed();
  };
}

async function refused() {
  close();
  const isOld = await fetch("icon.svg").then((answer) => answer.status === 403, () => false);
  if (isOld) connects("old");
  else if (!document.hidden && !source) again = setTimeout(open, AGAIN_MS);
}

function close() {
  clearTimeout(again);
  source?.close();
  source = null;
}

/** Listens while the page is seen: what nobody sees costs the machine nothing. */
export function listen() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (!source && connection !== "old") open();
  });
  open();
}
