// Elements are made, never parsed from text: what comes from records and file names cannot become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element with attributes and children. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element with attributes and children. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The element with this id. */
export const by = (id) => document.getElementById(id);

/** Sets a text only if it differs: screen readers are told of each change. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Longest word that is kept together, characters; a path may be longer than the narrowest screen.
const LONGEST_WHOLE = 24;

/** Text in which words with hyphens, such as `hdd-7200` and `75-77`, and percentages are not broken. */
export const unbroken = (text) => text.replaceAll(" %", "\u00a0%").split(" ").map((word, i) => [
  i > 0 ? " " : null,
  word.includes("-") && word.length <= LONGEST_WHOLE ? h("span", { class: "nobreak" }, word) : word,
]);

/** A list of facts: a name, words, and whether they take a whole line. */
export function facts(list) {
  return h("dl", { class: "facts" }, list.map(([name, words, wide]) =>
    h("div", { class: wide ? "wide" : null }, h("dt", null, name), h("dd", null, words))));
}

/** The facts in `place` as they are now. What has not changed stays: somebody may be reading or marking it. */
export function sayFacts(place, list) {
  const names = [...place.querySelectorAll("dt")].map((name) => name.textContent);
  if (names.length !== list.length || list.some(([name], index) => name !== names[index])) {
    return place.replaceChildren(facts(list));
  }
  place.querySelectorAll("dd").forEach((element, index) => say(element, list[index][1]));
}

/** A table that scrolls within itself and can be reached by the keyboard. */
export function scrolling(label, table) {
  return h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, table);
}

/** Percent with as many digits as tell something. */
export function percent(share) {
  const n = 100 * share;
  return `${n.toFixed(Math.abs(n) < 10 ? 1 : n > 95 && n < 105 ? 1 : 0)} %`;
}

/** Bytes in binary units. */
export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit += 1;
  }
  return `${n < 10 && unit > 0 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
}

/** Seconds as people say them. */
export function time(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
