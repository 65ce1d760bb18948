// One workload: the share of plain speed of each arm over the repeats so far, as a line in its
// interval, and where it is now.

import { h, s, percent } from "./dom.js";

const WIDTH = 400;
const HEIGHT = 190;
const LEFT = 46;
// At the right each arm has its newest interval, beside the others'.
const NEWEST = 70;
const RIGHT = NEWEST + 8;
const TOP = 8;
const BOTTOM = 24;

/** Class and dash of an arm: by its role, and for encrypted arms by their position. */
export function look(arms, arm) {
  if (arm.role !== "encrypted") return { name: arm.role, dash: arm.role === "plain-again" ? 2 : 1 };
  const position = arms.filter((a) => a.role === "encrypted").findIndex((a) => a.id === arm.id);
  return { name: `e${position % 5}`, dash: position === 0 ? 0 : position % 5 };
}

/** What the lines mean. */
export function legend(arms) {
  const shown = arms.filter((arm) => arm.role !== "plain");
  return h("ul", { class: "legend", "aria-label": "Lines of the charts" }, shown.map((arm) => {
    const { name, dash } = look(arms, arm);
    const line = s("path", { class: `line arm-${name} dash-${dash}`, d: "M0 6H30" });
    return h("li", null, s("svg", { viewBox: "0 0 30 12", "aria-hidden": "true" }, line), arm.name);
  }));
}

/** The chart of one workload; `curves` holds one list of estimates per arm that has some. */
export function chart(arms, curves, words) {
  const [from, to] = range(curves.map((c) => c.points));
  const most = Math.max(2, ...curves.map((c) => c.points.length));
  const x = (index) => (index * (WIDTH - LEFT - RIGHT)) / (most - 1);
  const y = (share) => TOP + ((to - share) * (HEIGHT - TOP - BOTTOM)) / (to - from);
  const box = { y: 0, height: HEIGHT - BOTTOM + 2, overflow: "hidden" };
  const before = s("svg", { ...box, x: LEFT, width: WIDTH - LEFT - RIGHT });
  const newest = s("svg", { ...box, x: WIDTH - NEWEST, width: NEWEST });
  const outer = s("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words });
  for (const tick of ticks(from, to)) {
    outer.append(
      s("line", { class: tick === 1 ? "plain-line" : "grid", x1: LEFT, x2: WIDTH, y1: y(tick), y2: y(tick) }),
      s("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, percent(tick).replace(".0 ", " ")),
    );
  }
  const apart = NEWEST / (curves.length + 1);
  curves.forEach(({ arm, points }, position) => {
    const { name, dash } = look(arms, arm);
    const at = (list, pick) => list.map((p) => `${x(p.index).toFixed(1)} ${y(pick(p)).toFixed(1)}`);
    const placed = points.map((p, index) => ({ ...p, index }));
    if (points.length > 1) {
      const high = at(placed, (p) => p.high);
      const low = at([...placed].reverse(), (p) => p.low);
      // Arms that do not encrypt have lines only: bands upon bands could not be told apart.
      const band = arm.role === "encrypted" ? [s("path", { class: "band", d: `M${[...high, ...low].join("L")}Z` })] : [];
      const line = s("path", { class: `line dash-${dash}`, d: `M${at(placed, (p) => p.kept).join("L")}` });
      before.append(s("g", { class: `arm-${name}` }, band, line));
    }
    const end = points[points.length - 1];
    const middle = (apart * (position + 1)).toFixed(1);
    newest.append(s("g", { class: `arm-${name}` },
      s("line", { class: `line dash-${dash}`, x1: middle, x2: middle, y1: y(end.low), y2: y(end.high) }),
      s("circle", { class: "dot", cx: middle, cy: y(end.kept), r: 3.5 })));
  });
  const below = HEIGHT - 6;
  outer.append(before, newest, s("text", { x: WIDTH - NEWEST / 2, y: below, "text-anchor": "middle" }, "newest"));
  if (most > 2 || curves.some((c) => c.points.length > 1)) {
    outer.append(
      s("text", { x: LEFT, y: below }, "estimate 1"),
      s("text", { x: WIDTH - RIGHT, y: below, "text-anchor": "end" }, String(most)),
    );
  }
  return outer;
}

/** From and to: what the newest intervals take, and as much again of what was before; plain is always in it. */
function range(lists) {
  let low = 1;
  let high = 1;
  for (const points of lists) {
    const end = points[points.length - 1];
    const before = points[Math.floor(points.length / 2)];
    low = Math.min(low, end.low, Math.max(before.low, end.low - 2 * (end.kept - end.low)));
    high = Math.max(high, end.high, Math.min(before.high, end.high + 2 * (end.high - end.kept)));
  }
  low = Math.max(low, 0);
  high = Math.min(high, 4);
  const room = Math.max(0.01, 0.08 * (high - low));
  return [Math.max(0, low - room), high + room];
}

function ticks(from, to) {
  const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1].find((n) => (to - from) / n <= 6) ?? 1;
  const first = Math.ceil(from / step);
  const list = [];
  for (let n = first; n * step <= to; n += 1) list.push(Math.round(n * step * 1000) / 1000);
  return list;
}
