// Questions to the server. All addresses are relative: the page lies below the token.

/** What the server refuses, with the field of the form that it is about. */
export class Refused extends Error {
  constructor(problem, field) {
    super(problem);
    this.field = field;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, redirect: "error" });
  } catch {
    throw new Refused("The server does not respond. Is `cryptbench serve` still running?");
  }
  let body = null;
  try {
    body = await response.json();
  } catch {
    // No JSON: the status says it all.
  }
  if (!response.ok) throw new Refused(body?.problem ?? `The server returned status ${response.status}.`, body?.field);
  return body;
}

export const get = (path) => ask(path, {});

export const post = (path, body) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) });
