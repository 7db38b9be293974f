// What the views of the library share: their frame, tables, search and forms.

import { send } from "./api.js";
import { box, button, count, field, make } from "./dom.js";
import { path } from "./router.js";

const TYPING_MS = 300;
const ROWS = 100; // drawn at once: thousands would make typing slow
const SHORT = 16; // characters that stay in one line
const BEFORE = 30; // words and what is between them
let reach = 0; // rows that the reader has asked for

/** The frame of a view: title, actions, what it is for, and the place of its content, which is returned. */
export function frame(place, title, purpose, actions, up = null) {
  const content = make("div");
  reach = 0;
  const back = up && make("a", "", `‹ ${up[1]}`, { href: path(up[0]) });
  const head = box("header", "row", [make("h1", "grow", title), ...actions]);
  place.replaceChildren(box("div", "page library", [back, head, make("p", "soft", purpose), content]));
  return content;
}

/** What a place without anything says: what it is for, and what to do first. */
export const nothing = (text, ...actions) => box("div", "card nothing", [make("p", "", text), box("div", "row", actions)]);

/** What went wrong, beside what failed. */
export function trouble(error, again) {
  const line = box("p", "bad", [error.status === 401 ? "This service needs a key." : error.message, " ", again && button("Try again", again)]);
  line.setAttribute("role", "alert");
  return line;
}

/** New content; what had the focus and is there still has it again. */
export function redraw(place, ...children) {
  const focused = place.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
  place.replaceChildren(...children);
  if (focused === false) return;
  place.tabIndex = -1;
  ([...place.querySelectorAll("[aria-label]")].find((each) => each.getAttribute("aria-label") === focused) ?? place).focus({ preventScroll: true });
}

/** Cells may be texts or elements. Below 700 px each row is a card, whose cells say their heading. */
export function table(label, heads, rows, most = ROWS) {
  const line = (cells, tag, role) => {
    const made = box("tr", "", cells.map((cell, at) => {
      const item = box(tag, cell?.length < SHORT ? "short" : "", [tag === "th" && !cell ? make("span", "only-heard", "Actions") : cell]);
      if (tag === "td" && heads[at]) item.dataset.head = heads[at];
      item.setAttribute("role", role);
      return item;
    }));
    made.setAttribute("role", "row");
    return made;
  };
  const made = box("table", "list", [box("thead", "", [line(heads, "th", "columnheader")]), make("tbody")]);
  made.setAttribute("role", "table"); // as cards a browser would take it for none
  made.setAttribute("aria-label", label);
  let shown = 0;
  const more = button("", () => next(), "pill");
  const next = () => {
    const until = Math.min(Math.max(shown + most, shown ? 0 : reach), rows.length);
    made.tBodies[0].append(...rows.slice(shown, until).map((cells) => line(cells(), "td", "cell")));
    if (shown) reach = until;
    shown = until;
    more.hidden = shown === rows.length;
    more.textContent = `Show more (${(rows.length - shown).toLocaleString()})`;
  };
  next();
  return box("div", "", [made, more]);
}

/** A field that tells what is typed, a moment after the last letter. */
export function searchField(label, onQuery) {
  const input = make("input", "search", "", { type: "search", placeholder: label });
  input.setAttribute("aria-label", label);
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => onQuery(input.value.trim()), TYPING_MS);
  });
  return input;
}

/** What a search of these sources found: {results, note}. */
export async function search(query, sources, more = {}) {
  const { results, rag, degraded } = await send("POST", "/v1/search", { query, sources, ...more });
  const note = degraded.length ? "Not everything could be searched just now."
    : rag.reason === "processing" ? "Nothing found yet: something is still being read."
    : results.length ? "" : "Nothing found in the texts.";
  return { results, note };
}

/** Runs the search that was asked last and shows what `draw` makes of it; an answer that comes too late is dropped. */
export function searching(place, find, draw) {
  let last = 0;
  return async function run(query) {
    const mine = ++last;
    if (!query) return place.replaceChildren();
    place.setAttribute("aria-busy", "true");
    let shown;
    try {
      const { results, note } = await find(query);
      if (mine !== last) return undefined;
      shown = [note && make("p", "soft", note), ...(results.length ? [await draw(results, query)].flat() : [])];
    } catch (error) {
      shown = [trouble(error, () => run(query))];
    }
    if (mine !== last) return undefined;
    place.removeAttribute("aria-busy");
    return place.replaceChildren(...shown.filter(Boolean));
  };
}

/** A text with the words of a query marked; it begins a little before the first of them. */
export function marked(text, query) {
  const all = query.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  const long = all.filter((word) => word.length > 3);
  const words = long.length ? long : all;
  const meant = (part) => words.some((word) => part.toLowerCase().startsWith(word));
  const parts = text.split(/([\p{L}\p{N}]+)/u);
  const from = parts.findIndex(meant) - BEFORE;
  return [from > BEFORE ? "…" : "", ...parts.slice(from > BEFORE ? from : 0).map((part) => (meant(part) ? make("mark", "", part) : part))];
}

/** The fields of a dialog with its buttons; `save` may throw: the dialog stays and says why. */
export function fill(form, close, parts, text, save) {
  const wrong = make("p", "bad", "", { hidden: true });
  wrong.setAttribute("role", "alert");
  const yes = make("button", "strong", text, { type: "submit" });
  form.append(...parts, wrong, box("div", "row end", [button("Cancel", () => close()), yes]));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    yes.disabled = true;
    wrong.hidden = true;
    try {
      close((await save()) ?? true);
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
    }
    yes.disabled = false;
  });
}

/** A labelled text area, and a labelled line. */
export function area(text, value = "", properties = {}, hint = "") {
  const input = make("textarea", "", "", { value, rows: 6, ...properties });
  return [input, field(text, input, hint)];
}

export function line(text, value = "", properties = {}, hint = "") {
  const input = make("input", "", "", { value, ...properties });
  return [input, field(text, input, hint)];
}

/** "3 pages", or nothing. */
export const some = (number, noun) => (number ? count(number, noun) : "");
