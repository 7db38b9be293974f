// One question with its answer: what is shown while it is searched and written, what stands below, what can be done with it.

import { send } from "./api.js";
import { box, button, count, make, toast } from "./dom.js";
import { Writing } from "./markdown.js";
import { cards, listen, mark, name, renumber, unbarred } from "./marks.js";
import { pageOf } from "./passage.js";
import { path } from "./router.js";
import { REASONS } from "./why.js";

const LONG = 600; // characters of a question, or
const LINES = 8; // lines, from which only its beginning is shown
const TITLES = 4;
const ENDLESS = 20_000; // characters from which an answer has no cursor: its end would set all lines anew
const LABEL = / ?\[([^[\]\n]+#[^[\]#\n]+)\]/g;
const APPENDED = /\s*Sources:(?: \[[^[\]\n]+\])+\s*$/;
const QUOTES = "extractive"; // what answers without a chat model; its words say themselves why it found nothing

const QUIET = ["small_talk", "greeting", "cancelled", "not_asked"]; // reasons that need no words below an answer
const SOURCES = { documents: "Documents", memories: "Memories", corpus: "Reference texts", conversations: "Earlier chats" };

/** The parts of a turn. `acts`: {open(turn, n), retry(turn), widen(turn, source), pending(turn, files)}. */
export function begin(session, question, acts) {
  const turn = {
    session, question, acts, id: "", order: new Map(), spans: [], meta: { citations: [] }, rating: null, ended: false,
    item: make("article", "turn"), answer: make("div", "answer"), wait: make("div", "wait"), after: make("div", "after"),
  };
  turn.item.setAttribute("aria-busy", "true");
  turn.item.append(...heading(question), turn.answer, turn.wait, turn.after);
  listen(turn, (n) => acts.open(turn, n));
  turn.after.addEventListener("click", (event) => {
    const card = event.target.closest("a.source");
    if (!card || event.ctrlKey || event.metaKey || event.shiftKey) return; // a link like any other
    event.preventDefault();
    acts.open(turn, card.dataset.n ? Number(card.dataset.n) : null);
  });
  return turn;
}

function heading(question) {
  const title = make("h2", "question", question);
  if (question.length < LONG && question.split("\n").length < LINES) return [title];
  title.classList.add("cut");
  const all = button("Show all", () => {
    const cut = title.classList.toggle("cut");
    all.textContent = cut ? "Show all" : "Show less";
    all.setAttribute("aria-expanded", String(!cut));
  }, "quiet");
  all.setAttribute("aria-expanded", "false");
  return [title, all];
}

// --- while it comes ------------------------------------------------------------------------------

/** What is being done, in a line; "" when there is something to read instead. */
export function waiting(turn, text, titles = []) {
  turn.wait.replaceChildren(...(text ? [make("p", "doing", text), ...titles.map((title) => make("p", "title", title))] : []));
}

/** The first event: what was found. */
export function opened(turn, meta) {
  turn.meta = meta;
  turn.id = meta.answer_id ?? turn.id;
  turn.answer.replaceChildren();
  turn.order.clear();
  turn.writing = new Writing(turn.answer, new Map(meta.citations.map((cite) => [cite.label, cite])), (cite) => mark(turn, cite));
}

/** Until the first word: what is read. */
export function reading(turn) {
  const { rag, citations } = turn.meta;
  if (!rag.used) return waiting(turn, "Thinking…");
  const read = new Map();
  for (const cite of citations) read.set(name(cite), (read.get(name(cite)) ?? 0) + 1);
  const titles = [...read].map(([title, passages]) => (passages > 1 ? `${title} · ${passages}` : title));
  const more = titles.length - TITLES;
  waiting(turn, `Reading ${count(rag.passages, "passage")}…`, more > 1 ? [...titles.slice(0, TITLES), `and ${more} more`] : titles);
}

/** More of the answer; `drawn` is called around each change of the page. */
export function write(turn, text, drawn) {
  if (turn.wait.firstChild) waiting(turn, "");
  turn.writing.add(text, drawn);
  turn.answer.classList.toggle("endless", turn.writing.text.length > ENDLESS);
}

// --- at its end ----------------------------------------------------------------------------------

/** Which passages are cited. What the model did not cite does not look cited. */
export function cited(turn, { cited: labels, unknown, appended, spans }) {
  Object.assign(turn, { labels, appended, spans });
  if (appended) turn.writing.text = turn.writing.text.replace(APPENDED, "");
  turn.writing.end();
  if (turn.meta.model === QUOTES) unbar(turn.answer);
  renumber(turn, labels);
  const found = cards(turn, labels);
  if (found) turn.after.append(...(appended ? [make("h3", "caps", "Closest passages (the model cited none)")] : []), found);
  if (!unknown.length) return;
  const were = unknown.length === 1 ? "was" : "were";
  turn.after.append(make("p", "facts", `${count(unknown.length, "invented citation")} ${were} removed.`));
}

/** Quoted rows of tables, without their bars. What is copied has them. */
function unbar(answer) {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (walker.currentNode.data.includes("|")) walker.currentNode.data = unbarred(walker.currentNode.data);
}

/** Which sources were asked in vain, and those that can be asked too. Quotes say themselves that there are none. */
function nothingFits(turn, quotes) {
  const { asked, left } = turn.scope;
  const names = asked.map((source) => SOURCES[source].toLowerCase()).join(", ").replace(/, ([^,]*)$/, " and $1");
  const offers = left.map((source) =>
    button(`Search ${SOURCES[source].toLowerCase()} too`, () => turn.acts.widen(turn, source), "pill"));
  if (quotes && !offers.length) return;
  turn.after.append(box("p", "facts", [
    quotes ? `Searched: ${names}. ` : `Nothing in your ${names} fits this question, so it was answered without sources. `, ...offers,
  ]));
}

/** Why nothing was looked up or what is missing. */
function explain(turn) {
  const { rag, model, degraded = [] } = turn.meta;
  const why = QUIET.includes(rag.reason) ? "" : REASONS[rag.reason];
  if (!rag.used && rag.reason === "no_match" && turn.scope) nothingFits(turn, model === QUOTES);
  else if (!rag.used && rag.reason === "processing") turn.acts.pending(turn, rag.pending ?? []);
  else if (!rag.used && model !== QUOTES && why) turn.after.append(make("p", "facts", why));
  if (!rag.used) return;
  if (turn.unread?.length) turn.acts.pending(turn, turn.unread);
  for (const lost of new Set(degraded.map(({ source }) => SOURCES[source]).filter(Boolean))) {
    turn.after.append(make("p", "facts", `${lost} could not be searched completely: this answer may lack something.`));
  }
}

/** The end: how it went, and what can be done. */
export function finish(turn, { finish_reason: reason, took_ms: took }) {
  settle(turn);
  explain(turn);
  if (reason === "cancelled") turn.after.append(make("p", "facts stopped", "Stopped."));
  else if (!turn.writing.text.trim()) turn.after.append(make("p", "facts", "The model said nothing."));
  if (reason === "length") turn.after.append(make("p", "facts", "The answer was cut off at its greatest length."));
  turn.after.append(actions(turn, took));
}

/** It ended otherwise: stopped before anything was there, or broken off. */
export function fail(turn, text, actions = []) {
  turn.writing?.end();
  settle(turn);
  const line = box("p", "error bad", [text, ...actions]);
  line.setAttribute("role", "alert");
  turn.after.append(line);
  return line;
}

/** Stopped before there was an answer. */
export function stopped(turn) {
  settle(turn);
  turn.after.append(box("p", "facts stopped", ["Stopped. ", button("Retry", () => turn.acts.retry(turn), "pill")]));
}

function settle(turn) {
  turn.ended = true;
  waiting(turn, "");
  turn.item.setAttribute("aria-busy", "false");
  for (const each of turn.answer.querySelectorAll(".table, pre")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0; // so that keys scroll it
  }
}

// --- what can be done with it --------------------------------------------------------------------

const THUMB = "M7 10v10H3.5V10zm0 0 4-7.5c1.6 0 2.6 1.1 2.4 2.7L13 9h6c1.2 0 2 1 1.8 2.2l-1.3 7.2c-.2 1-1 1.6-2 1.6H7";

function thumb(way, label, turn) {
  const made = button("", () => rate(turn, turn.rating === way ? "none" : way), `icon ${way}`, label);
  const [svg, shape] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  shape.setAttribute("d", THUMB);
  svg.append(shape);
  made.append(svg);
  return made;
}

function actions(turn, took) {
  const who = turn.meta.model === QUOTES ? "quotes" : turn.meta.model;
  const { used, passages } = turn.meta.rag;
  const facts = [took === undefined ? "" : `${Math.max(took / 1000, 0.1).toFixed(1)} s`, used ? count(passages, "passage") : "", who];
  const how = facts.filter(Boolean).join(" · ");
  const says = Boolean(turn.writing.text.trim());
  turn.thumbs = says ? { up: thumb("up", "Good answer", turn), down: thumb("down", "Bad answer", turn) } : {};
  showRating(turn);
  return box("div", "acts", [
    says && button("Copy", () => copy(plain(turn), "Answer copied."), "quiet"),
    turn.labels?.length ? button("Copy with sources", () => copy(footnoted(turn), "Answer and sources copied."), "quiet") : null,
    button("Share link", () => copy(linkTo(turn), "Link copied."), "quiet"),
    button("Retry", () => turn.acts.retry(turn), "quiet"),
    QUIET.includes(turn.meta.rag.reason) ? null : button("Why?", () => turn.acts.open(turn, null), "quiet", "Why this answer"),
    ...Object.values(turn.thumbs), make("span", "soft how", how, { title: how }),
  ]);
}

function showRating({ thumbs, rating }) {
  for (const [way, made] of Object.entries(thumbs)) made.setAttribute("aria-pressed", String(rating === way));
}

let saidLast = () => {}; // takes the line about the last rating away

async function rate(turn, rating, undo = true) {
  const before = turn.rating;
  turn.rating = rating === "none" ? null : rating;
  showRating(turn);
  try {
    await send("PUT", `/answers/${turn.id}/rating`, { rating });
    const text = { up: "Rated as good.", down: "Rated as bad.", none: "Rating taken back." }[rating];
    saidLast();
    if (undo) saidLast = toast(text, { undo: () => rate(turn, before ?? "none", false) });
  } catch (error) {
    turn.rating = before;
    showRating(turn);
    toast(error.message);
  }
}

const linkTo = (turn, ...rest) => `${location.origin}/${path("c", turn.session, turn.id, ...rest)}`;

/** The answer's Markdown with `replace(n)` in the place of each mark. */
const marked = (turn, replace) => turn.writing.text.replace(LABEL, (all, label) => (turn.order.has(label) ? replace(turn.order.get(label)) : all)).trim();
const plain = (turn) => marked(turn, () => "");

/** Markdown with numbered footnotes: title, page and web address of each source. */
function footnoted(turn) {
  const notes = turn.labels.flatMap((label, n) => {
    const at = turn.meta.citations.findIndex((cite) => cite.label === label);
    if (at < 0) return [];
    const cite = turn.meta.citations[at];
    const title = cite.title && cite.title !== name(cite) ? `${name(cite)} (${cite.title})` : name(cite);
    return [`[^${n + 1}]: ${[title, pageOf(cite, "page"), cite.web_url ?? linkTo(turn, at + 1)].filter(Boolean).join(", ")}`];
  });
  const text = marked(turn, (n) => `[^${n}]`);
  return `${text}\n\n${turn.appended ? "Closest passages (the model cited none):\n\n" : ""}${notes.join("\n")}\n`;
}

async function copy(text, message) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copied(text); // over plain HTTP from another machine there is no clipboard
    toast(message);
  } catch {
    toast("It could not be copied: the browser did not allow it.");
  }
}

function copied(text) {
  const field = make("textarea", "only-heard", "", { value: text });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
