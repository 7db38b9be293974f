// A passage's text, from wherever it is kept, and the tab "Text": the quote marked, neighbours on demand.

import { address, blob, json, key } from "./api.js";
import { box, button, make, toast } from "./dom.js";
import { on } from "./state.js";

const part = encodeURIComponent;
const known = new Map(); // what was read, as promises
const MOST_KNOWN = 1_000;
const SENTENCE = /(?<=[.!?]["”’)\]]?)\s+(?=["“(]?[\p{Lu}\p{N}])|\s*\n+\s*/u;
const WORD = /[\p{L}\p{N}]{3,}/gu;
const LABEL = /\[[^[\]\n]+#[^[\]#\n]+\]/g;
const MOST_SAID = 320; // characters of an answer that are compared with a passage
const CLOSED_MS = 5_000; // between looks whether a tab is closed
const MOST_PAGES = 25; // of a collection that is looked through

/** The document and the passage's number, of the id "document:172"; null for other sources. */
export function documentPart({ source, id }) {
  if (source !== "documents") return null;
  const [document, n] = id.split(":");
  return { document, n: Number(n) };
}

for (const name of ["documents", "memories", "texts", "projects"]) on(name, () => known.clear());
on("settings", (name) => ["key", "user"].includes(name) && known.clear());

/** A request that is made once. */
export function once(path) {
  if (!known.has(path)) {
    if (known.size > MOST_KNOWN) known.clear();
    known.set(path, json(path));
    known.get(path).catch(() => known.delete(path));
  }
  return known.get(path);
}

export const chunk = (document, n, session, query = {}) =>
  once(address(`/api/documents/${document}/chunks/${n}`, { session_id: session, ...query }));

async function sha256(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reference texts have no address of their own: the one with the cited id, or the same words. */
async function reference({ label, cited, sha256: sum }) {
  const collection = label.slice(0, label.lastIndexOf("#"));
  let cursor;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { items, next } = await once(address(`/corpus/${part(collection)}`, { limit: 200, cursor }));
    for (const each of items) {
      if (cited ? each.id === cited : crypto.subtle && (await sha256(each.text)) === sum) return each;
    }
    cursor = next;
    if (!cursor) break;
  }
  throw new Error("This text is not in the list of its collection.");
}

const readers = {
  async documents(entry, { session }) {
    const { document, n } = documentPart(entry);
    const found = await chunk(document, n, session);
    const { page, page_end, page_label } = found;
    return Object.assign(entry, { page, page_end, page_label }) && found; // a trace does not say where
  },
  memories: (entry) => once(`/memories/${part(entry.id)}`),
  corpus: reference,
  async code(entry, { project }) {
    const row = await once(`/projects/${part(project)}/code/${part(entry.id)}`);
    return { text: row.chunk_text, heading: row.file_path, code: true };
  },
  async conversations(entry, { project }) {
    const row = await once(`/projects/${part(project)}/${entry.source}/${part(entry.id)}`);
    const said = [row.summary_detailed ?? row.summary_short, row.memory_snippet];
    return { text: said.filter(Boolean).join("\n\n"), heading: row.title };
  },
};
readers.dreams = readers.conversations;

/** {text, heading?, page?, page_end?, page_label?, code?} of a candidate or citation. */
export async function read(entry, from) {
  const found = await readers[entry.source](entry, from);
  return { ...found, text: found.text ?? "" };
}

const sheets = ({ page, page_end: end }) => (end && end !== page ? `${page}–${end}` : `${page}`);

/** "p. 39" as printed, else the sheet; "" without pages. `word`: what stands before it. */
export function pageOf(entry, word = "p.") {
  const number = entry.page_label || (entry.page && sheets(entry));
  return number ? `${word} ${number}` : "";
}

/** "page 39 (sheet 41 of 215)" where the printed number is another one than the sheet's. */
export function pageAndSheet(entry, of = 0) {
  if (!entry.page) return "";
  const all = of ? ` of ${of}` : "";
  const printed = entry.page_label && entry.page_label !== sheets(entry);
  return printed ? `${pageOf(entry, "page")} (sheet ${sheets(entry)}${all})` : `page ${sheets(entry)}${all}`;
}

/** A file of the service in a tab of its own. A link cannot carry a key: with one the file is fetched, and its copy is
 *  shown and kept until that tab is closed. */
export async function openFile(path, page = 1) {
  const tab = window.open("", "_blank");
  if (!tab) return toast("The browser did not open a new tab. Allow it to, and try again.");
  try {
    const copy = key() && await blob(path);
    tab.location = `${copy || path}#page=${page}`;
    if (!copy) return undefined;
    const timer = setInterval(() => {
      if (!tab.closed) return;
      clearInterval(timer);
      URL.revokeObjectURL(copy);
    }, CLOSED_MS);
  } catch (error) {
    tab.close();
    toast(error.message);
  }
  return undefined;
}

// --- what a citation rests on --------------------------------------------------------------------

/** The words of an answer before a citation, back to the beginning of its row or paragraph. */
export function saidBefore(text, { start }) {
  const line = Array.from(text).slice(0, start).join("").split("\n").at(-1); // `start` counts code points
  return line.replace(LABEL, "").slice(-MOST_SAID);
}

const words = (text) => new Set(text.toLowerCase().match(WORD) ?? []);

/** The sentences of a passage, and the place of the one that shares most words with `said`. */
export function nearest(text, said) {
  const all = text.split(SENTENCE).filter(Boolean);
  const wanted = words(said);
  const scores = all.map((each) => [...words(each)].filter((word) => wanted.has(word)).length);
  return [all, scores.indexOf(Math.max(...scores))];
}

// --- the quote -----------------------------------------------------------------------------------

const letters = (text) => [...text.matchAll(/[\p{L}\p{N}]/gu)];

/** Where the quotes are in the text, found by letters and digits alone: [[start, end], …]. */
function ranges(text, quotes) {
  const found = letters(text);
  const plain = found.map(([letter]) => letter).join("");
  const at = []; // index in `plain` to index in `found`
  found.forEach(([letter], index) => at.push(...Array(letter.length).fill(index)));
  return quotes.flatMap((quote) => {
    const wanted = letters(quote).map(([letter]) => letter).join("");
    const start = wanted ? plain.indexOf(wanted) : -1;
    if (start < 0) return [];
    const [first, last] = [found[at[start]], found[at[start + wanted.length - 1]]];
    const end = last.index + last[0].length;
    return [[first.index, end + /^[.!?%)”"]*/.exec(text.slice(end))[0].length]];
  });
}

/** The text from `start` to `end` into an element, with what is in the ranges marked. */
function put(element, text, start, end, marked) {
  let at = start;
  for (const [from, to] of marked.toSorted((one, other) => one[0] - other[0])) {
    const [first, last] = [Math.max(from, at), Math.min(to, end)];
    if (first >= last) continue;
    element.append(text.slice(at, first), make("mark", "", text.slice(first, last)));
    at = last;
  }
  element.append(text.slice(at, end));
  return element;
}

const BAR = " | ";

const isRow = (line = "") => line.startsWith("| ") || line.includes(BAR);

/** Paragraphs, and the rows of tables as tables; a caption between rows is one of them. */
function written({ text, code }, quotes = []) {
  const marked = ranges(text, quotes);
  if (code) return [put(make("pre"), text, 0, text.length, marked)];
  const blocks = [];
  let rows = null;
  let start = 0;
  text.split("\n").forEach((line, number, lines) => {
    const end = start + line.length;
    if (isRow(line) || (rows && isRow(lines[number + 1]))) {
      if (!rows) {
        rows = make("tbody");
        blocks.push(box("div", "wide", [box("table", "rows", [rows])]));
      }
      if (!/^[\s|-]+$/.test(line)) rows.append(row(text, start, line, marked));
    } else {
      rows = null;
      if (line.trim()) blocks.push(put(make("p"), text, start, end, marked));
    }
    start = end + 1;
  });
  return blocks;
}

function row(text, start, line, marked) {
  const made = make("tr");
  const unnamed = line.startsWith("| "); // its label is empty
  let from = unnamed ? start - 1 : start;
  for (const cell of (unnamed ? ` ${line}` : line).split(BAR)) {
    made.append(put(make("td"), text, from, from + cell.length, marked));
    from += cell.length + BAR.length;
  }
  if (made.children.length === 1) made.firstChild.colSpan = 20;
  return made;
}

// --- the tab -------------------------------------------------------------------------------------

function section(found, quotes) {
  const where = [found.heading, pageAndSheet(found)].filter(Boolean).join(" · ");
  return box("section", "passage", [where && make("p", "facts", where), ...written(found, quotes)]);
}

/** Fills the tab with an entry's text. `from`: {session, project, quotes, about(id)}, the quotes maybe later. */
export async function showText(tab, entry, from) {
  tab.replaceChildren(make("p", "soft", "…"));
  let found;
  try {
    found = await read(entry, from);
  } catch (error) {
    if (tab.entry === entry) tab.replaceChildren(lost(error, () => showText(tab, entry, from)));
    return;
  }
  if (tab.entry !== entry) return; // another was opened meanwhile
  const quotes = await from.quotes;
  if (tab.entry !== entry) return;
  const own = section(found, quotes);
  own.classList.add("own");
  tab.replaceChildren(own);
  const at = documentPart(entry);
  if (!at) return;
  const all = (await from.about(at.document).catch(() => null))?.chunks ?? Infinity;
  if (tab.entry !== entry) return;
  more(tab, own, at, -1, all, from.session);
  more(tab, own, at, 1, all, from.session);
}

/** A button that shows the next passage in one direction, and moves on. */
function more(tab, own, { document, n }, step, all, session) {
  let next = n + step;
  const reach = () => next >= 1 && next <= all;
  const show = button(step < 0 ? "Show what comes before" : "Show what follows", async () => {
    try {
      const shown = section(await chunk(document, next, session), []);
      const height = tab.scrollHeight;
      if (step < 0) show.after(shown);
      else show.before(shown);
      if (step < 0) tab.scrollTop += tab.scrollHeight - height; // what is being read stays where it is
      next += step;
      show.hidden = !reach();
    } catch (error) {
      show.textContent = error.message;
    }
  }, "quiet more");
  show.hidden = !reach();
  if (step < 0) tab.prepend(show);
  else tab.append(show);
}

/** What the reader is told of a passage, page or record that cannot be had. */
export function lost(error, again) {
  const gone = error.status === 404;
  const text = gone ? "This passage is not stored any more: it was deleted, or replaced by a newer one." : error.message;
  return box("div", "lost", [make("p", "", text), !gone && button("Try again", again)]);
}
