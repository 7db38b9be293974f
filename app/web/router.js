// Addresses behind the #: `#/c/{session}`, `#/c/{session}/{answer}`, `#/c/{session}/{answer}/{n}`, `#/documents`, …

const views = new Map();
let shown = null; // {name, leave}

/** `show(place, parts, again)` fills `place`; `again`: the view is shown already and only the rest of the address
 *  changed. It may return what is to be done when the view is left. */
export const register = (name, show) => views.set(name, show);

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
  const known = views.has(name) ? name : "c";
  const again = shown?.name === known;
  const place = document.getElementById("main");
  if (!again) {
    shown?.leave?.();
    place.replaceChildren();
  }
  const leave = views.get(known)(place, views.has(name) ? rest : [], again);
  shown = { name: known, leave: again ? shown.leave : leave };
  dispatchEvent(new CustomEvent("ibid:address", { detail: [known, ...rest] }));
}

export function start() {
  addEventListener("hashchange", follow);
  follow();
}
