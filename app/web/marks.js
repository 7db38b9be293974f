// The numbered marks of an answer, the card that tells of a source while one points at it, and the cards below.

import { box, make } from "./dom.js";
import { nearest, once, pageOf, saidBefore } from "./passage.js";
import { path } from "./router.js";

const SHOW_MS = 150;
const HIDE_MS = 250; // time to go from the mark to its card
const MOST = 320; // characters of a sentence in the card
const SUPPORT = {
  weak: "The passage carries this sentence only in part.",
  none: "The passage does not say this. Check it before you rely on it.",
};

/** The passage of a citation: {text, heading?}; null where this service has none to show. */
function passage({ url }) {
  return url?.startsWith("/") ? once(url) : null;
}

/** What a source is called: a file by its name, anything else by its title. */
export function name({ label, source, title }) {
  const first = label.slice(0, label.lastIndexOf("#"));
  return source === "documents" ? first : title || first;
}

const numberOf = (turn, cite) => turn.meta.citations.indexOf(cite) + 1;
const of = (turn, mark) => turn.meta.citations[mark.dataset.n - 1];

/** The element of a citation in the text. Its number is its place in the order of first citation. */
export function mark(turn, cite) {
  if (!turn.order.has(cite.label)) turn.order.set(cite.label, turn.order.size + 1);
  const made = make("button", "mark", "", { type: "button" });
  made.dataset.n = numberOf(turn, cite);
  return number(turn, made, cite);
}

function number(turn, made, cite) {
  const n = String(turn.order.get(cite.label));
  if (made.textContent === n) return made; // else the browser would set all lines anew
  made.textContent = n;
  made.setAttribute("aria-label", ["Source", `${n},`, name(cite), pageOf(cite, "page")].filter(Boolean).join(" "));
  return made;
}

/** The numbers as the service counts them, once it has said which passages are cited. */
export function renumber(turn, cited) {
  turn.order = new Map(cited.map((label, n) => [label, n + 1]));
  for (const made of turn.answer.querySelectorAll(".mark")) {
    const cite = of(turn, made);
    if (!turn.order.has(cite.label)) turn.order.set(cite.label, turn.order.size + 1);
    number(turn, made, cite);
  }
}

// --- the card at a mark --------------------------------------------------------------------------

const card = make("div", "hover card", "", { popover: "manual", id: "hover" });
card.setAttribute("role", "tooltip");
let timer = 0;
let at = null; // the mark that it is shown for

function hide() {
  clearTimeout(timer);
  at?.removeAttribute("aria-describedby");
  at = null;
  if (card.isConnected) card.hidePopover();
}

const later = (act, time) => {
  clearTimeout(timer);
  timer = setTimeout(act, time);
};

/** Cards for the marks of a turn; `use(n)` is called with the place of the source when a mark is used. */
export function listen(turn, use) {
  const marked = (event) => event.target.closest?.(".mark");
  const near = (event) => {
    const made = marked(event);
    if (made && event.pointerType !== "touch") later(() => show(turn, made), event.type === "focusin" ? 0 : SHOW_MS);
  };
  const away = (event) => marked(event) && later(hide, HIDE_MS);
  turn.answer.addEventListener("pointerover", near);
  turn.answer.addEventListener("pointerout", away);
  turn.answer.addEventListener("focusin", (event) => { // not when the panel gives it back: its source was just seen
    if (event.target.matches(":focus-visible") && !event.relatedTarget?.closest("#panel")) near(event);
  });
  turn.answer.addEventListener("focusout", away);
  turn.answer.addEventListener("click", (event) => {
    const made = marked(event);
    if (!made) return;
    hide();
    use(Number(made.dataset.n));
  });
}

card.addEventListener("pointerenter", () => clearTimeout(timer));
card.addEventListener("pointerleave", () => later(hide, HIDE_MS));
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !at) return;
  event.preventDefault(); // Esc takes the card away and nothing else
  hide();
}, true);
addEventListener("scroll", () => at && hide(), true);

async function show(turn, made) {
  if (!made.isConnected || at === made) return;
  hide();
  at = made;
  const cite = of(turn, made);
  const text = make("p", "around", "…");
  const head = make("b", "", `${turn.order.get(cite.label)} · ${name(cite)}`);
  const where = make("p", "facts", [pageOf(cite), cite.title !== name(cite) && cite.title].filter(Boolean).join(" · "));
  const span = spanOf(turn, made);
  const support = SUPPORT[span?.support];
  card.replaceChildren(head, where, text, ...(support ? [make("p", "facts bad", support)] : []));
  document.body.append(card);
  card.showPopover();
  made.setAttribute("aria-describedby", card.id);
  lay(made);
  try {
    const found = await passage(cite);
    if (at !== made) return;
    if (found?.heading) where.textContent = [pageOf(cite), heading(found)].filter(Boolean).join(" · ");
    text.replaceChildren(...(found ? around(found.text, span?.quote, span ? saidBefore(turn.writing.text, span) : said(made)) : []));
  } catch (error) {
    text.textContent = error.message;
  }
  if (at === made) lay(made);
}

/** Above the mark if there is room, else below. */
function lay(made) {
  const { left, top, bottom } = made.getBoundingClientRect();
  card.style.left = `${Math.max(8, Math.min(left - 24, innerWidth - card.offsetWidth - 8))}px`;
  card.style.top = `${top > card.offsetHeight + 8 ? top - card.offsetHeight - 4 : bottom + 4}px`;
}

/** What the service says of this very citation: its quotation and how well the passage carries it. */
function spanOf(turn, made) {
  const marks = [...turn.answer.querySelectorAll(".mark")];
  return marks.length === turn.spans.length ? turn.spans[marks.indexOf(made)] : null;
}

/** The words before a mark, back to the beginning of its row or paragraph. */
function said(made) {
  const range = document.createRange();
  range.setStartBefore(made.closest("tr, li, p, h3, h4, h5, h6, blockquote") ?? made.parentNode);
  range.setEndBefore(made);
  return range.toString().slice(-MOST);
}

const heading = ({ heading: text }) => (text ?? "").split(" › ").at(-1);

/** Rows of tables without their bars, as one reads them aloud. */
export const unbarred = (text) => text
  .replace(/(?:\| *)?---(?: *\| *---)*(?: *\|)?/g, " ").replace(/(^\s*|[“…] *)(?:\|\s*)+/g, "$1").replace(/\s*\|(?:\s*\|)*\s*/g, " · ");

const short = (text) => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);

/** The sentence of a passage that is quoted, else the one nearest to what was said, between its neighbours. */
function around(text, quote, sentence) {
  const [all, best] = nearest(text, quote ?? sentence);
  const hit = make("mark", "", short(unbarred(all[best] ?? "")));
  const [before, after] = [all[best - 1] ?? "", all[best + 1] ?? ""].map(unbarred);
  return [before.trim() && `… ${before.slice(-MOST / 2)} `, hit, after.trim() && ` ${after.slice(0, MOST / 2)} …`];
}

// --- the cards below -----------------------------------------------------------------------------

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    target.tell();
  }
});

/** A source as a link that opens it; its heading comes once it is in view. */
function source(turn, cite) {
  const n = turn.order.get(cite.label);
  const where = make("span", "soft", pageOf(cite) || cite.source);
  const made = box("a", "source", [make("b", "", `${n} · ${name(cite)}`), where]);
  made.dataset.n = numberOf(turn, cite);
  made.href = path("c", turn.session, turn.id, made.dataset.n);
  made.title = [name(cite), cite.title].filter(Boolean).join(" — ");
  made.tell = async () => {
    const found = await Promise.resolve(passage(cite)).catch(() => null);
    const about = found && (heading(found) || (cite.source === "documents" ? "" : found.text));
    if (about) where.textContent = [pageOf(cite), about].filter(Boolean).join(" · ");
  };
  seen.observe(made);
  return made;
}

/** The cited passages, and how many more were read. */
export function cards(turn, cited) {
  const found = cited.map((label) => turn.meta.citations.find((cite) => cite.label === label)).filter(Boolean);
  const list = found.map((cite) => source(turn, cite));
  const more = turn.meta.rag.passages - found.length;
  if (more > 0) {
    const why = box("a", "source", [make("b", "", found.length ? `${more} more read` : `${more} read`), make("span", "soft", "not cited · why?")]);
    why.href = path("c", turn.session, turn.id, "why");
    list.push(why);
  }
  return list.length ? box("div", "sources", list) : null;
}
