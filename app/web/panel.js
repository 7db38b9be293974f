// The source panel beside the conversation: the page, the text, and why this passage.

import { address, key } from "./api.js";
import { $, box, button, make } from "./dom.js";
import { documentPart, lost, nearest, once, openFile, pageAndSheet, read, saidBefore, showText } from "./passage.js";
import { go, parts as whereabouts, path } from "./router.js";
import { showPages } from "./sheet.js";
import { on, panelWidth } from "./state.js";
import { few, line, showWhy } from "./why.js";

const LEAST = 340;
const LEFT = 640; // of the window, for rail and conversation
const STEP = 32;
const MOST_QUOTE = 4_000; // characters that the service looks for
const TABS = { page: "Page", text: "Text", why: "Why" };
const WHY = "why"; // in the place of n: the whole answer
const parts = {}; // of the panel
let shown = null; // {answer, n, entry, entries, trace, session, …}
let opener = null; // where the focus goes back to
let wanted = "page"; // the tab that the reader chose last

/** Opens on a citation. `answer`: {answer_id, session_id, citations, cited, spans}; `n`: its place among `citations`, from 1;
 *  null: on why the answer is as it is. */
export function open(answer, n) {
  const from = document.activeElement;
  if (!is(answer.session_id, answer.answer_id, n)) begin(answer, answer.session_id, n);
  else if (!shown.trace && answer.citations.length) renew(answer);
  const hash = path("c", answer.session_id, answer.answer_id, n ?? WHY);
  if (location.hash !== hash) go(hash);
  if (!$("main").contains(from) || from.matches("main, textarea")) return;
  opener = from;
  parts.tabs[tab()].focus();
}

export function close() {
  if (!shown) return;
  const { session, answer, n } = shown;
  const [view, where, id, at] = whereabouts();
  const back = opener?.isConnected ? opener : $("main").querySelector(`[aria-current][data-n="${n ?? WHY}"]`) ?? $("main");
  const here = view === "c" && where === session && id === answer.answer_id && at; // else the reader has gone elsewhere
  if (here) back.focus();
  hide();
  if (here) go(path("c", session, id), { replace: true });
}

const is = (session, id, n) => shown?.session === session && shown.answer.answer_id === id && shown.n === n;

function hide() {
  shown = null;
  $("panel").hidden = true;
  parts.page.view?.stop();
  parts.page.view = parts.page.entry = parts.text.entry = null;
}

/** What is known of the answer at once; its record comes behind. */
function begin(answer, session, n) {
  const same = shown?.answer.answer_id === answer.answer_id;
  const { trace = null, entries = [] } = same ? shown : {};
  shown = { answer, session, n, trace, entries, about };
  take(trace ?? answer);
  $("panel").hidden = false;
  pick(shown.entries.find((each) => n && each.n === n) ?? null, n === null ? "why" : null);
  if (!trace) record();
}

/** More is known of the answer that is shown. */
function renew(answer) {
  take(answer);
  const now = shown.entry ?? shown.entries.find(({ n }) => shown.n && n === shown.n);
  if (now && (now !== shown.entry || marksOf(now) !== shown.marks)) return pick(now);
  head();
  why();
}

/** Candidates with what the citations say of them; those that are shown already stay the same objects. */
function take(answer) {
  shown.answer = { ...shown.answer, ...answer };
  shown.project = answer.recipe?.project ?? "";
  const old = new Map(shown.entries.map((each) => [each.label, each]));
  const found = new Map(answer.citations.map((each, index) => [each.label, { ...each, cited: each.id, n: index + 1 }]));
  for (const each of answer.candidates ?? []) found.set(each.label, { ...found.get(each.label), ...each });
  const seen = new Set((answer.candidates ?? []).map(({ label }) => label));
  const order = [...seen, ...[...found.keys()].filter((label) => !seen.has(label))];
  shown.entries = order.map((label) => Object.assign(old.get(label) ?? {}, found.get(label)));
}

async function record() {
  const now = shown;
  try {
    const trace = await once(`/answers/${encodeURIComponent(now.answer.answer_id)}`);
    if (shown !== now) return;
    Object.assign(now, { trace, failed: null });
    renew(trace);
  } catch (error) {
    if (shown !== now) return;
    now.failed = error;
    why();
  }
}

// --- one passage ---------------------------------------------------------------------------------

const spansOf = ({ label }) => (shown.answer.spans ?? []).filter((span) => span.label === label);

/** What the marks of a passage depend on. */
const marksOf = (entry) => JSON.stringify(spansOf(entry).map((span) => [span, saidBefore(shown.answer.answer ?? "", span)]));

/** What is marked in a passage: its quotations, else the sentences nearest to what is said before its marks. */
async function quotes(entry) {
  const { answer: text = "" } = shown.answer;
  const spans = spansOf(entry);
  const passage = spans.some(({ quote }) => !quote) ? await read(entry, shown).catch(() => null) : null;
  const found = spans.map((span) => {
    if (span.quote || !passage || !text) return span.quote;
    const [all, best] = nearest(passage.text, saidBefore(text, span));
    return all[best];
  });
  return [...new Set(found.filter(Boolean).map((quote) => quote.slice(0, MOST_QUOTE)))];
}

const about = (id) => once(address(`/api/documents/${id}`, { session_id: shown.session }));

/** Shows an entry; null: none, only the whole answer. */
function pick(entry, on = null) {
  shown.entry = entry;
  shown.marks = entry && marksOf(entry);
  shown.quotes = entry ? quotes(entry) : [];
  parts.tabs.page.hidden = !entry || !documentPart(entry);
  parts.tabs.text.hidden = !entry;
  head();
  why();
  select(on ?? wanted);
}

/** To another entry from within the panel; one that was read has an address. */
async function turnTo(entry, on = null, replace = true) {
  const now = shown;
  if (documentPart(entry) && !entry.page) await read(entry, now).catch(() => {}); // for its page
  if (shown !== now) return;
  pick(entry, on);
  if (!entry.n) return;
  shown.n = entry.n;
  go(path("c", shown.session, shown.answer.answer_id, entry.n), { replace });
}

function head() {
  const { entry, answer } = shown;
  const at = entry && documentPart(entry);
  parts.title.replaceChildren(...(entry ? title(entry) : [make("span", "name", "Why this answer")]));
  parts.file.hidden = !at;
  if (at) {
    parts.file.href = `${address(`/api/documents/${at.document}/file`, { session_id: shown.session })}#page=${entry.page ?? 1}`;
    about(at.document).then(({ filename, pages: of }) => {
      if (shown?.entry === entry) parts.title.replaceChildren(...title(entry, filename, of));
    }, () => {});
  }
  const all = answer.cited ?? [];
  const now = entry ? all.indexOf(entry.label) + 1 : 0;
  parts.steps.hidden = entry && !now || all.length < 2 && (now || !all.length);
  parts.which.textContent = now ? `${now} of ${all.length}` : `${all.length} cited`;
  parts.steps.firstChild.disabled = now === 1;
  parts.steps.lastChild.disabled = now === all.length;
}

function title(entry, filename, of) {
  const name = filename ?? (documentPart(entry) ? entry.label.slice(0, entry.label.lastIndexOf("#")) : entry.title || entry.label);
  const [page, sheet] = pageAndSheet(entry, of).split(/ (?=\()/);
  const at = box("span", "at", [page, sheet && make("span", "soft", ` ${sheet}`)]);
  return [make("span", "name", name, { title: name }), at];
}

/** To the cited source before or after. */
function step(by) {
  const all = shown.answer.cited ?? [];
  const now = shown.entry ? all.indexOf(shown.entry.label) : -1;
  const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : now + by];
  const entry = shown.entries.find(({ label }) => label === next);
  if (entry) turnTo(entry, tab() === "why" && !shown.entry ? wanted : null);
}

/** A link cannot carry a key. */
function onFile(event) {
  if (!key()) return;
  event.preventDefault();
  const [from, page] = parts.file.getAttribute("href").split("#page=");
  openFile(from, page);
}

// --- tabs ----------------------------------------------------------------------------------------

const tab = () => Object.keys(TABS).find((name) => parts.tabs[name].ariaSelected === "true");

/** Shows a tab, or the nearest that there is. */
function select(name) {
  const there = parts.tabs[name].hidden ? (parts.tabs.text.hidden ? "why" : "text") : name;
  for (const each of Object.keys(TABS)) {
    parts.tabs[each].ariaSelected = String(each === there);
    parts.tabs[each].tabIndex = each === there ? 0 : -1;
    parts[each].hidden = each !== there;
  }
  const { entry } = shown;
  const show = { page: showPages, text: showText }[there];
  if (show && parts[there].entry !== entry) {
    parts[there].entry = entry;
    show(parts[there], entry, shown);
  }
  if (there === "why") parts.why.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  parts.foot.hidden = there === "why" || !parts.foot.children.length;
}

function why() {
  const { entry, trace, failed } = shown;
  const foot = trace && entry ? few(entry, shown).map((each) => line(each, shown.answer, () => turnTo(each))) : [];
  foot.forEach((each) => each.fill(shown));
  foot[0]?.setAttribute("aria-current", "true");
  if (foot.length) foot.push(button(`Why? All ${shown.entries.length} passages`, () => select("why"), "quiet"));
  parts.foot.replaceChildren(...foot);
  parts.foot.hidden = tab() === "why" || !foot.length;
  if (!trace) parts.why.replaceChildren(failed ? missing(failed) : make("p", "soft", "…"));
  else if (parts.why.trace !== trace) showWhy(parts.why, shown, (each) => turnTo(each, "page", false));
  parts.why.trace = trace;
  parts.none.hidden = !trace || !shown.n || Boolean(entry);
  parts.none.textContent = `This answer has no source ${shown.n}.`;
  for (const each of parts.why.querySelectorAll(".candidate")) {
    if (each.entry === entry) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}

function missing(error) {
  if (error.status !== 404) return lost(error, record);
  if (shown.answer.lost) return box("div", "lost", [make("p", "", "This answer was interrupted and not kept: why it is as it is cannot be shown.")]);
  const writing = shown.answer.citations.length;
  return box("div", "lost", [
    make("p", "", writing ? "The answer is still being written. Why it is as it is can be seen when it has ended."
      : "This answer is gone: it was deleted with its chat, or it is somebody else's."),
    writing ? button("Look again", record) : button("Close", close),
  ]);
}

function onArrow(event) {
  const there = Object.keys(TABS).filter((name) => !parts.tabs[name].hidden);
  const by = { ArrowRight: 1, ArrowLeft: -1, Home: -there.indexOf(tab()), End: -1 - there.indexOf(tab()) }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  choose(there.at((there.indexOf(tab()) + by) % there.length));
}

function choose(name) {
  if (name !== "why") wanted = name;
  select(name);
  parts.tabs[name].focus();
}

// --- the frame -----------------------------------------------------------------------------------

function resize(width) {
  const most = Math.max(LEAST, innerWidth - LEFT);
  const now = Math.round(Math.max(LEAST, Math.min(most, width)));
  $("panel").style.setProperty("--panel", `${now}px`);
  parts.edge.ariaValueNow = String(now);
  parts.edge.ariaValueMax = String(most);
  return now;
}

function edge() {
  const made = make("div", "edge", "", { tabIndex: 0, role: "separator" });
  made.setAttribute("aria-label", "Width of the source panel");
  made.setAttribute("aria-orientation", "vertical");
  made.setAttribute("aria-controls", "panel");
  made.ariaValueMin = String(LEAST);
  made.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    made.setPointerCapture(event.pointerId);
  });
  made.addEventListener("pointermove", (event) => made.hasPointerCapture(event.pointerId) && resize(innerWidth - event.clientX));
  made.addEventListener("pointerup", () => panelWidth.set(Number(made.ariaValueNow)));
  made.addEventListener("keydown", (event) => {
    const now = Number(made.ariaValueNow);
    const next = { ArrowLeft: now + STEP, ArrowRight: now - STEP, Home: LEAST, End: Infinity }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    panelWidth.set(resize(next));
  });
  return made;
}

function onKey(event) {
  if (!shown || event.defaultPrevented || document.querySelector("dialog[open], :popover-open")) return;
  const field = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (field && !(event.key === "Escape" && $("panel").contains(field) && !field.value)) return;
  if (event.key === "Escape") close();
  else if (!event.metaKey && (!event.ctrlKey || event.getModifierState("AltGraph"))) {
    const by = { "[": -1, "]": 1 }[event.key];
    if (by) step(by);
  }
}

/** The panel is what the address says; what is shown already stays. */
function onAddress({ detail: [view, session, id, at] }) {
  if (view !== "c" || !at) {
    if (shown) hide();
    return;
  }
  const n = at === WHY ? null : Number(at);
  if (is(session, id, n)) return;
  const same = shown?.answer.answer_id === id;
  if (!same) opener = null;
  begin(same ? shown.answer : { answer_id: id, citations: [], cited: [], spans: [] }, session, n);
}

export function setUp() {
  parts.title = make("h2", "title");
  parts.which = make("span");
  parts.which.setAttribute("aria-live", "polite");
  parts.steps = box("div", "steps", [
    button("‹", () => step(-1), "icon", "Cited source before ( [ )"), parts.which, button("›", () => step(1), "icon", "Next cited source ( ] )"),
  ]);
  parts.file = make("a", "icon", "⤢", { target: "_blank", rel: "noopener", title: "Open the file" });
  parts.file.setAttribute("aria-label", "Open the file in a new tab");
  parts.file.addEventListener("click", onFile);
  parts.tabs = {};
  for (const [name, text] of Object.entries(TABS)) {
    const made = parts.tabs[name] = button(text, () => choose(name));
    made.role = "tab";
    made.id = `tab-${name}`;
    made.setAttribute("aria-controls", `panel-${name}`);
    parts[name] = make("div", "tab", "", { id: `panel-${name}`, role: "tabpanel", hidden: true });
    parts[name].setAttribute("aria-labelledby", made.id);
  }
  const tabs = box("div", "tabs", Object.values(parts.tabs));
  tabs.role = "tablist";
  tabs.ariaLabel = "Source";
  tabs.addEventListener("keydown", onArrow);
  parts.edge = edge();
  parts.foot = make("div", "foot", "", { hidden: true });
  const top = box("div", "head", [parts.title, parts.steps, parts.file, button("✕", close, "icon", "Close the source")]);
  parts.none = make("p", "note bad", "", { hidden: true });
  $("panel").append(parts.edge, top, tabs, parts.none, parts.page, parts.text, parts.why, parts.foot);
  resize(panelWidth.get());
  addEventListener("resize", () => resize(panelWidth.get()));
  document.addEventListener("keydown", onKey);
  addEventListener("ibid:address", onAddress);
  on("settings", (name) => name === "key" && shown && begin(shown.answer, shown.session, shown.n));
  on("sessions", () => shown?.failed && record()); // an answer has ended
}
