// The conversation: its turns as they were and as they come, what is in view, and its addresses.

import { Problem, address, all, json, problem } from "./api.js";
import { composer, enter, include, put, reach, scope, settings, working } from "./composer.js";
import { $, box, button, make } from "./dom.js";
import * as exchange from "./exchange.js";
import * as panel from "./panel.js";
import { go, path, register } from "./router.js";
import { freshSession, on, session as lastSession, tell } from "./state.js";
import { begin, cited, fail, finish, opened, reading, stopped, waiting, write } from "./turn.js";
import { underway } from "./uploads.js";
import { fill } from "./welcome.js";

const NEAR = 80; // px from the end, within which the view follows the answer
const PENDING_MS = 2000;
const MOST_HISTORY = 400; // turns
const FOREIGN = "Some of these questions came from other programs. A question asked here does not continue theirs.";
const ALOUD = 3000; // characters that a screen reader says of itself

const chats = new Map(); // by session: the chat that is shown, and those that are being answered
let here = null; // the chat that is shown

// --- the view ------------------------------------------------------------------------------------

const title = make("h1", "only-heard");
const heard = make("p", "only-heard");
heard.setAttribute("aria-live", "polite");
const scroller = make("div", "talk", "", { tabIndex: -1 });
const below = button("New text below ↓", () => toEnd(here), "below");
const asking = composer({ ask: (question) => ask(here, question), stop: () => stop(here), edit: () => here?.turns.at(-1)?.question });
const foot = box("div", "asking", [below, box("div", "", [asking.form])]);
below.hidden = true;

scroller.addEventListener("scroll", () => {
  if (!here) return;
  here.pinned = toGo() <= NEAR;
  if (here.pinned) below.hidden = true;
}, { passive: true });

// What becomes higher later, or leaves less room (headings of sources, the question's field), does not hide the end.
const grows = new ResizeObserver(() => here && follows(here) && stick());
grows.observe(scroller);

const toGo = () => scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
let last = 0; // where the view was put

function stick() {
  scroller.scrollTop = scroller.scrollHeight;
  last = scroller.scrollTop;
}

/** Whether the view follows the answer. The reader may have gone up a moment ago: the browser tells of it later. */
function follows(chat) {
  if (scroller.scrollTop < last - NEAR && toGo() > NEAR) chat.pinned = false;
  return chat.pinned;
}

function toEnd(chat) {
  if (chat !== here) return;
  chat.pinned = true;
  below.hidden = true;
  stick();
}

/** A change of what is shown: followed while the reader is at the end, else there is more to be found. */
function follow(chat, change) {
  const along = chat === here && follows(chat);
  change();
  if (chat !== here) return;
  if (along) stick();
  else below.hidden = false;
}

register("c", (place, [id, answer, n], again) => {
  if (!id) {
    queueMicrotask(() => go(path("c", lastSession.get() || freshSession()), { replace: true }));
    return leave;
  }
  const fresh = !again || !scroller.isConnected; // from an address without a chat one was sent on
  if (fresh) place.append(title, scroller, foot, heard);
  if (here?.session !== id) swap(id);
  locate(here, answer, n);
  if (fresh && matchMedia("(pointer: fine)").matches && !n) asking.field.focus();
  return leave;
});

/** Whether the service may not know one of its turns: then only the page has it. */
const kept = ({ turns }) => turns.some(({ lost }) => lost);

function leave() {
  if (!here) return;
  here.top = scroller.scrollTop;
  grows.unobserve(here.place);
  if (!here.turn && !kept(here)) chats.delete(here.session);
  here = null;
  document.title = "Ibid";
}

function swap(id) {
  leave();
  lastSession.set(id);
  here = chats.get(id) ?? chat(id);
  scroller.replaceChildren(here.place);
  grows.observe(here.place);
  scroller.scrollTop = here.pinned ? scroller.scrollHeight : here.top;
  last = scroller.scrollTop;
  below.hidden = true;
  enter(asking, id);
  working(asking, Boolean(here.turn));
  entitle(here);
}

function chat(session) {
  const made = { session, turns: [], turn: null, pinned: true, top: 0, place: make("div", "turns") };
  chats.set(session, made);
  made.ready = restore(made);
  return made;
}

function entitle({ turns }) {
  const asked = turns[0]?.question.slice(0, 60);
  title.textContent = asked ?? "New chat";
  document.title = asked ? `${asked} · Ibid` : "Ibid";
}

/** What an address names comes into view. The panel opens by itself. */
async function locate(chat, answer, n) {
  await chat.ready;
  if (chat !== here) return;
  for (const each of chat.place.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
  const turn = chat.turns.find(({ id }) => id && id === answer);
  if (!turn) return;
  const marks = n ? [...turn.item.querySelectorAll(`[data-n="${CSS.escape(n)}"]`)] : [];
  for (const each of marks) each.setAttribute("aria-current", "true");
  const seen = scroller.getBoundingClientRect();
  const inView = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > seen.top && top < seen.bottom;
  };
  if (![turn.item, ...marks].slice(marks.length ? 1 : 0).some(inView)) (marks[0] ?? turn.item).scrollIntoView({ block: marks[0] ? "center" : "start" });
}

const facts = ({ session, id, meta, writing, labels = [], spans, appended, lost }) =>
  ({ lost, answer_id: id, session_id: session, answer: writing?.text, citations: meta.citations, cited: labels, spans, appended, rag: meta.rag });

// --- questions -----------------------------------------------------------------------------------

function add(chat, question) {
  const turn = begin(chat.session, question, {
    open: (turn, n) => panel.open(facts(turn), n),
    retry: (turn) => retry(chat, turn),
    widen(turn, source) {
      include(asking, source);
      retry(chat, turn);
    },
    pending: (turn, files) => pending(chat, turn, files),
  });
  turn.thread = chat.session;
  if (!chat.turns.length) chat.place.replaceChildren();
  chat.turns.push(turn);
  chat.place.append(turn.item);
  return turn;
}

/** A question of the reader, or the same once more; `before`: the turns that it follows, if not all. */
async function ask(chat, question, before = null) {
  await chat.ready;
  if (chat.turn) return;
  const turn = add(chat, question);
  const history = before?.filter(({ writing }) => writing?.text).flatMap((each) => [
    { role: "user", content: each.question }, { role: "assistant", content: each.writing.text },
  ]).slice(-MOST_HISTORY);
  entitle(chat);
  turn.scope = scope(asking);
  const files = turn.scope?.asked.includes("documents") ? underway() : [];
  turn.unread = files.filter(({ id }) => id).map(({ id, name }) => ({ id, filename: name }));
  const searched = reach(asking);
  waiting(turn, searched ? `Searching ${searched}…` : "Searching…");
  toEnd(chat);
  await run(chat, turn, (onEvent, onLost) => exchange.ask(turn, { ...settings(asking), history }, onEvent, onLost));
}

async function run(chat, turn, exchanged) {
  chat.turn = turn;
  turn.control = new AbortController();
  if (chat === here) working(asking, true);
  try {
    await exchanged((event, data) => EVENTS[event]?.(chat, turn, data), (tries) => lost(chat, turn, tries));
  } catch (error) {
    if (error.name === "AbortError") stopped(turn);
    else citedBefore(chat, turn, broken(chat, turn, error), error);
    toEnd(chat); // it is what the reader waits for
  }
  if (chat.turn === turn) done(chat);
}

/** What went wrong, with a way on: an answer that only its reader has lost is taken up again. */
function broken(chat, turn, { message, status }) {
  if (status === 404) return interrupted(chat, turn);
  turn.lost = !status;
  const line = fail(turn, `${message} `, [button("Retry", () => {
    if (status || !turn.id) return retry(chat, turn);
    line.remove();
    resume(chat, turn);
  }, "pill")]);
  if (status === 401) put(asking, turn.question);
  return line;
}

/** The service does not have it: it was stopped before the answer ended. What had come by then stays. */
function interrupted(chat, turn) {
  turn.lost = true;
  const came = turn.writing?.text.trim();
  turn.after.replaceChildren();
  if (came) cited(turn, { cited: [...turn.order.keys()], unknown: [], appended: false, spans: [] });
  return fail(turn, came ? "The service was interrupted here and has not kept this answer. "
    : "The service was interrupted before it answered. ", [button("Ask again", () => retry(chat, turn), "pill")]);
}

/** What an answer that failed had cited so far. */
async function citedBefore(chat, turn, line, { status }) {
  if (!status || status === 404 || !turn.id || !turn.writing?.text) return;
  const answer = await json(`/answers/${turn.id}`).catch(() => null);
  if (answer && line.isConnected) follow(chat, () => {
    cited(turn, answer);
    turn.after.append(line);
  });
}

function done(chat) {
  chat.turn = null;
  tell("sessions", chat.session);
  if (chat === here) working(asking, false);
  else if (!kept(chat)) chats.delete(chat.session);
}

const EVENTS = {
  meta(chat, turn, data) {
    opened(turn, data);
    follow(chat, () => reading(turn));
    if (chat.turns.length === 1) tell("sessions", { session_id: chat.session, title: turn.question, turns: 1, last_active_at: new Date().toISOString() });
  },
  token: (chat, turn, { text }) => write(turn, text, (change) => follow(chat, change)),
  async citations(chat, turn, data) {
    await turn.writing.drained();
    follow(chat, () => cited(turn, data));
  },
  done(chat, turn, data) {
    follow(chat, () => finish(turn, data));
    if (chat === here) heard.textContent = aloud(turn.answer.textContent);
  },
  error(chat, turn, data) {
    throw problem(data.status, data);
  },
};

const aloud = (text) => (text.length > ALOUD ? `${text.slice(0, ALOUD)} … The answer goes on.` : text);

/** The connection is gone; the answer is asked for again. A quiet line says so until it is there. */
function lost(chat, turn, tries) {
  follow(chat, () => waiting(turn, tries > 1 ? "The connection was lost. Trying once more…" : "The connection was lost. Trying again…"));
}

function stop(chat) {
  const { turn } = chat ?? {};
  if (!turn) return;
  if (exchange.stop(turn)) {
    waiting(turn, "Stopping…");
    toEnd(chat);
    return;
  }
  stopped(turn);
  toEnd(chat);
  done(chat);
}

/** The same question again: in the place of an answer that failed, else below, as if asked where it first was. */
async function retry(chat, turn) {
  if (chat.turn) return;
  const before = chat.turns.slice(0, chat.turns.indexOf(turn)).filter(({ thread }) => thread === turn.thread);
  if (!turn.writing?.text) {
    chat.turns.splice(chat.turns.indexOf(turn), 1);
    turn.item.remove();
  }
  await ask(chat, turn.question, before);
}

/** A question that found nothing while files were being read: once they are, it can be asked again. */
function pending(chat, turn, files) {
  const names = files.map(({ filename }) => filename).join(", ");
  const note = make("p", "facts", `${names} ${files.length > 1 ? "were" : "was"} still being read and could not be searched yet.`);
  turn.after.append(note);
  const timer = setInterval(async () => {
    if (!note.isConnected && chat !== here) return clearInterval(timer);
    const found = await Promise.all(files.map(({ id }) => json(`/api/documents/${id}`).catch(({ status }) => ({ state: status ? "gone" : "processing" }))));
    if (found.some(({ state }) => state === "processing")) return;
    clearInterval(timer);
    const ready = files.filter((_, n) => found[n].state === "ready");
    note.textContent = files.map(({ filename }, n) => `${filename} ${found[n].state === "ready" ? "has been read" : "could not be read"}.`).join(" ");
    if (ready.length) note.append(" ", button("Ask again", () => retry(chat, turn), "pill"));
  }, PENDING_MS);
}

// --- what was said before ------------------------------------------------------------------------

async function restore(chat) {
  chat.turns = [];
  chat.place.replaceChildren();
  try {
    const items = await all(`/api/sessions/${encodeURIComponent(chat.session)}/turns`, { citations: 1 });
    for (const { role, content, answer_id: id, answer, thread_id: thread } of items) {
      if (role === "user") Object.assign(add(chat, content), { id, thread });
      const turn = chat.turns.findLast((each) => each.id === id) ?? chat.turns.at(-1);
      if (turn && (answer || role === "assistant")) complete(chat, turn, role === "assistant" ? content : "", answer, id);
    }
    for (const turn of chat.turns) turn.item.setAttribute("aria-busy", "false");
    if (chat.turns.some((turn) => !own(chat, turn))) chat.place.prepend(make("p", "facts", FOREIGN));
  } catch (error) {
    chat.place.replaceChildren(box("p", "error bad", [`${error.message} `, button("Try again", () => (chat.ready = restore(chat)), "pill")]));
    return;
  }
  unfinished(chat);
  if (!chat.turns.length) fill(chat.place, (question) => ask(chat, question));
  if (chat === here) {
    entitle(chat);
    toEnd(chat);
  }
}

/** The last question, if the service does not have its answer (yet): it is looked for, or known to be lost. */
function unfinished(chat) {
  const left = exchange.underway(chat.session);
  if (!left) return;
  if (left.id ? chat.turns.some(({ id }) => id === left.id) : chat.turns.at(-1)?.question === left.question) {
    exchange.drop(chat.session);
    return;
  }
  const known = new Set(chat.turns.map(({ id }) => id));
  const turn = Object.assign(add(chat, left.question), { id: left.id ?? "", known });
  if (left.text) {
    opened(turn, left.meta);
    turn.writing.text = left.text;
    turn.writing.end();
  }
  if (left.state === "lost") interrupted(chat, turn);
  else resume(chat, turn);
}

/** Whether a new question continues a turn: those of other programs have conversations of their own in the session. */
const own = ({ session }, { thread }) => thread === session;

/** An answer as it ended. Without a record it is its text alone. */
function complete(chat, turn, text, answer, id) {
  turn.rating = answer?.rating ?? null;
  opened(turn, { ...(answer ?? { citations: [], rag: { used: false, passages: 0 } }), answer_id: id });
  turn.writing.text = text;
  turn.writing.end();
  if (!answer) return;
  cited(turn, answer);
  if (answer.finish_reason) finish(turn, answer);
  else broken(chat, turn, answer.problem ? problem(answer.problem.status, answer.problem) : new Problem("This answer broke off.", 500));
}

/** An answer that goes on in the service: the page or the connection was lost meanwhile. */
function resume(chat, turn) {
  turn.lost = false;
  turn.item.setAttribute("aria-busy", "true");
  waiting(turn, turn.writing ? "Looking for the rest…" : "Searching…");
  run(chat, turn, (onEvent, onLost) => exchange.resume(turn, onEvent, onLost));
}

// --- keys, and what others tell ------------------------------------------------------------------

/** In another window it may have gone on. */
async function refresh() {
  const chat = here;
  if (!chat || chat.turn || kept(chat)) return;
  const found = await json(address("/answers", { session_id: chat.session, limit: 1 })).catch(() => null);
  const newest = found?.items[0]?.answer_id;
  if (!newest || newest === chat.newest || chat !== here || chat.turn || chat.turns.some(({ id }) => id === newest)) return;
  chat.newest = newest;
  chat.ready = restore(chat);
}

addEventListener("focus", refresh);
addEventListener("ibid:compose", () => asking.field.focus());
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || !here?.turn) return;
  if (document.querySelector("dialog[open], .menu:popover-open")) return;
  if (!$("panel").hidden && !asking.form.contains(event.target)) return; // which closes first
  event.preventDefault();
  stop(here);
}, true);
on("dropped", (session) => {
  for (const turn of chats.get(session)?.turns ?? []) turn.lost = false;
  if (session !== here?.session) chats.delete(session);
});
on("settings", (name) => {
  if (name !== "key" || !here || here.turn) return;
  const { session } = here;
  chats.delete(session);
  here = null;
  swap(session);
});
