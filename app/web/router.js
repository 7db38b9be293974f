// Addresses behind the #: `#/c/{session}`, `#/c/{session}/{answer}`, `#/c/{session}/{answer}/{n}`, `#/documents`, …

import { toast } from "./dom.js";

const views = new Map();
const waiting = new Map(); // views that were not fetched yet
let shown = null; // {name, leave}

/** `show(place, parts, again)` fills `place`; `again`: the view is shown already and only the rest of the address
 *  changed. It may return what is to be done when the view is left. */
export const register = (name, show) => views.set(name, show);

/** A view whose module is fetched when it is first shown; the module registers it. */
export const later = (name, load) => waiting.set(name, load);

export const path = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

/** Go to an address; `replace`: without a step in the history. */
export function go(hash, { replace = false } = {}) {
  if (hash === location.hash) return follow();
  if (!replace) location.hash = hash;
  else {
    history.replaceState(null, "", hash);
    follow();
  }
}

/** The parts of the address: ["c", "web-1", "01a…", "2"]. */
export function parts() {
  return location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

function follow() {
  const [name, ...rest] = parts();
  const known = views.has(name) || waiting.has(name) ? name : "c";
  const again = shown?.name === known;
  const place = document.getElementById("main");
  if (!again) {
    shown?.leave?.();
    place.replaceChildren();
    shown = null; // while a view is fetched nothing is shown: what is typed then must not go to the one before
  }
  if (waiting.has(name)) return fetchView(name);
  const leave = views.get(known)(place, views.has(name) ? rest : [], again);
  shown = { name: known, leave: again ? shown.leave : leave };
  dispatchEvent(new CustomEvent("ibid:address", { detail: [known, ...rest] }));
}

async function fetchView(name) {
  const load = waiting.get(name);
  try {
    await load();
    waiting.delete(name);
    if (parts()[0] === name) follow();
  } catch {
    toast("This part of the page could not be loaded. Is `ibid serve` still running?");
  }
}

export function start() {
  addEventListener("hashchange", () => {
    for (const each of document.querySelectorAll("dialog[open]")) each.close(); // it belongs to what was shown
    follow();
  });
  follow();
}
