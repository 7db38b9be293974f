// The page at `/`: documents in, questions asked, answers streamed with their places.
// Data reaches the page through textContent only; nothing here builds HTML from strings.

import { Writing } from "./markdown.js";


const SESSION = "ibid.session";
const KEY = "ibid.key"; // in sessionStorage: gone with the tab
const NEAR = 80; // px from the end, within which the view follows the answer

/** An element with text and properties: make("p", "facts", "3 passages", {title: "…"}). */
function make(tag, className = "", text = "", properties = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return Object.assign(element, properties);
}

// --- the service ---------------------------------------------------------------------------------

class Problem extends Error {}

function headers(extra = {}) {
  const key = sessionStorage.getItem(KEY);
  return key ? { ...extra, Authorization: `Bearer ${key}` } : extra;
}

/** A problem document as one readable line; a 401 also shows the key field. */
function problem(status, body) {
  if (status === 401) askForKey();
  const told = [body?.title ?? `The service answered ${status}`, body?.detail].filter(Boolean);
  return new Problem([...new Set(told)].join(": "));
}

async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: headers(options.headers) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The service cannot be reached. Is `ibid serve` still running?");
  }
  if (!response.ok) throw problem(response.status, await response.json().catch(() => null));
  return response;
}

const json = async (path, options) => (await call(path, options)).json();

/** Server-sent events of a response: {event, data}, comments and unknown fields passed over. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split(/\r?\n/);
      const field = (name) =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
      const data = field("data").join("\n");
      if (data) yield { event: field("event")[0] ?? "message", data: JSON.parse(data) };
    }
  }
}

function askForKey() {
  $("key-form").hidden = false;
  $("key").focus();
}

// --- the session ---------------------------------------------------------------------------------

const session = () => $("session").value;

function enter(name) {
  $("session").value = name;
  localStorage.setItem(SESSION, name);
  $("turns").replaceChildren();
  $("empty").hidden = true; // until the service says that there is nothing
  $("below").hidden = true;
  waiting = [];
  asking?.abort(); // its answer belongs to the session that is left
  if (asking) settle();
  listDocuments();
  restore();
}

const freshName = () => `web-${Math.random().toString(36).slice(2, 10)}`;

// --- documents -----------------------------------------------------------------------------------

const count = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;

function row(name) {
  const item = make("li");
  const state = make("span", "state");
  item.append(make("span", "name", name), state);
  return { item, state };
}

function say(state, text, className = "") {
  state.textContent = text;
  state.className = `state ${className}`;
}

function cross(title, action) {
  const button = make("button", "quiet", "✕", { type: "button", title });
  button.setAttribute("aria-label", title);
  button.addEventListener("click", action);
  return button;
}

function shown(entry) {
  const { item, state } = row(entry.filename);
  const where = entry.scope === "global" ? " · shared by all sessions" : "";
  if (entry.state === "failed") say(state, entry.problem?.title ?? "It could not be read", "bad");
  else if (entry.state === "processing") say(state, "Being read…");
  else say(state, `${count(entry.pages, "page")} · ${count(entry.chunks, "passage")}${where}`);
  item.insertBefore(cross(`Remove ${entry.filename}`, () => discard(entry, state)), state);
  return item;
}

let polling = 0; // the timer that looks again while a document is being read
let waiting = []; // questions that found nothing while documents were being read: {note, pending, question}

async function allDocuments() {
  const items = [];
  let cursor = "";
  do {
    const page = await json(`/api/documents?limit=200&session_id=${encodeURIComponent(session())}${cursor}`);
    items.push(...page.items);
    cursor = page.next && `&cursor=${encodeURIComponent(page.next)}`;
  } while (cursor);
  return items;
}

/** What is being read, above the question: an answer cannot know it yet. And questions that waited for it. */
function tellReading(entries) {
  const under = entries.filter((entry) => entry.state === "processing");
  $("reading").textContent = under.length > 2 ? `Reading ${count(under.length, "file")}…`
    : under.map((entry) => `Reading ${entry.filename}…`).join(" ");
  $("reading").hidden = !under.length;
  const busy = new Set(under.map((entry) => entry.id));
  const ready = new Set(entries.filter((entry) => entry.state === "ready").map((entry) => entry.id));
  waiting = waiting.filter(({ note, pending, question }) => {
    if (pending.some(({ id }) => busy.has(id))) return true;
    note.textContent = pending.map(({ id, filename }) =>
      `${filename} ${ready.has(id) ? "has been read" : "could not be read"}.`).join(" ");
    if (pending.some(({ id }) => ready.has(id))) {
      const again = make("button", "", "Ask again", { type: "button" });
      again.addEventListener("click", () => !asking && ask(question));
      note.append(" ", again);
    }
    return false;
  });
}

async function listDocuments() {
  clearTimeout(polling);
  const asked = session();
  try {
    const items = await allDocuments();
    if (session() !== asked) return; // another session was entered meanwhile
    $("documents").replaceChildren(...items.map(shown));
    tellReading(items);
    if (items.some((entry) => entry.state === "processing")) polling = setTimeout(listDocuments, 700);
  } catch (error) {
    const { item, state } = row("Documents");
    say(state, error.message, "bad");
    $("documents").replaceChildren(item);
  }
}

async function discard(entry, state) {
  if (entry.state !== "failed" && !confirm(`Remove ${entry.filename}?`)) return; // of a failed one nothing is lost
  try {
    await call(`/api/documents/${entry.id}`, { method: "DELETE" });
    await listDocuments();
  } catch (error) {
    say(state, error.message, "bad");
  }
}

/** One file up, with its progress; fetch() cannot tell that, XMLHttpRequest can. */
function send(file, onProgress) {
  return new Promise((resolve, reject) => {
    const form = new FormData();
    form.append("session_id", session());
    form.append("wait", "0"); // from then on it is listed as being read
    form.append("file", file);
    const request = new XMLHttpRequest();
    request.open("POST", "/api/documents");
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => onProgress(event.loaded / event.total));
    request.addEventListener("load", () =>
      request.status < 300 ? resolve(request.response) : reject(problem(request.status, request.response)));
    request.addEventListener("error", () => reject(new Problem("The service cannot be reached.")));
    request.send(form);
  });
}

async function upload(file) {
  const { item, state } = row(file.name);
  const bar = make("progress", "", "", { max: 1, value: 0 });
  bar.setAttribute("aria-label", `Sending ${file.name}`);
  item.append(bar);
  $("uploads").append(item);
  say(state, "Being sent…");
  try {
    await send(file, (share) => {
      bar.value = share;
    });
    item.remove();
    await listDocuments();
  } catch (error) {
    bar.remove();
    say(state, error.message, "bad");
    item.insertBefore(cross(`Forget ${file.name}`, () => item.remove()), state);
  }
}

/** One after another: the service reads them in that order anyway. */
async function uploadAll(files) {
  for (const file of files) await upload(file);
}

// --- questions -----------------------------------------------------------------------------------

const pages = (cite) => (!cite.page ? "" : cite.page_end && cite.page_end !== cite.page
  ? `pages ${cite.page}–${cite.page_end}` : `page ${cite.page}`);

function chip(cite) {
  const button = make("button", "chip", cite.label, { type: "button", title: `Show the passage, ${pages(cite)}` });
  button.addEventListener("click", () => openPassage(cite));
  return button;
}

const REASONS = {
  small_talk: "",
  cancelled: "",
  empty: "There are no documents in reach, so nothing was looked up.",
  no_match: "Nothing in the documents matches this question.",
  skipped_short_query: "The question is too short to be looked up.",
  timeout: "The documents did not answer in time.",
  unavailable: "The documents could not be searched.",
};

// The view follows what is written while the reader is near its end, and else says that there is more.

const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
const nearEnd = () => document.documentElement.scrollHeight - window.innerHeight - window.scrollY <= NEAR;

function follow(turn, change) {
  const near = nearEnd();
  change();
  if (!turn.item.isConnected) return; // of a session that was left meanwhile
  if (near) toEnd();
  else $("below").hidden = false;
}

function begin(question) {
  const item = make("li");
  const answer = make("div", "answer");
  answer.setAttribute("aria-live", "polite");
  answer.setAttribute("aria-busy", "true"); // read out once whole, not word by word
  item.append(make("p", "question", question), answer);
  $("empty").hidden = true;
  return { question, item, answer, meta: { citations: [] }, writing: null };
}

function opened(turn, meta) {
  turn.meta = meta;
  turn.writing = new Writing(turn.answer, new Map(meta.citations.map((cite) => [cite.label, cite])), chip);
}

/** Why nothing was looked up, or found. */
function explain(turn, { used, reason, pending }) {
  if (used) return;
  if (reason !== "processing") {
    if (REASONS[reason] !== "") turn.item.append(make("p", "facts", REASONS[reason] ?? reason));
    return;
  }
  const names = pending.map(({ filename }) => filename).join(", ");
  const they = pending.length > 1 ? "They" : "It";
  const note = make("p", "facts", `Reading ${names}… ${they} could not be searched yet.`);
  turn.item.append(note);
  waiting.push({ note, pending, question: turn.question });
  listDocuments();
}

/** The sources below an answer; what the model did not cite does not look cited. */
function source(turn, { cited, unknown, appended }) {
  if (appended) turn.writing.text = turn.writing.text.replace(/\s*Sources:(?: \[[^\[\]\n]+\])+\s*$/, "");
  turn.writing.end();
  const found = cited.map((label) => turn.meta.citations.find((cite) => cite.label === label)).filter(Boolean);
  if (found.length) {
    const box = make("details", "sources", "", { open: true });
    const list = make("ul");
    for (const cite of found) {
      const line = make("li");
      line.append(chip(cite), make("span", "", ` ${[cite.title, pages(cite)].filter(Boolean).join(", ")}`));
      list.append(line);
    }
    const heading = appended ? "Closest passages (the model cited none)" : count(found.length, "source");
    box.append(make("summary", "", heading), list);
    turn.item.append(box);
  }
  if (unknown.length) {
    const were = unknown.length === 1 ? "was" : "were";
    turn.item.append(make("p", "facts", `${count(unknown.length, "invented citation")} ${were} removed.`));
  }
}

/** How it went, in one line. */
function finish(turn, { finish_reason: reason, took_ms: took }) {
  const found = turn.meta.rag.used ? `${count(turn.meta.rag.passages, "passage")} read` : "";
  const ended = { length: "cut at the length limit", cancelled: "stopped" }[reason];
  const facts = [found, turn.meta.model, took === undefined ? "" : `${(took / 1000).toFixed(1)} s`, ended];
  turn.item.append(make("p", "facts", facts.filter(Boolean).join(" · ")));
}

const HANDLERS = {
  meta(turn, data) {
    opened(turn, data);
    follow(turn, () => explain(turn, data.rag));
  },
  token: (turn, data) => turn.writing.add(data.text, (change) => follow(turn, change)),
  citations: (turn, data) => follow(turn, () => source(turn, data)),
  done(turn, data) {
    turn.done = true;
    follow(turn, () => finish(turn, data));
  },
  error(turn, data) {
    throw problem(data.status, data);
  },
};

let asking = null; // the AbortController of the answer under way

async function ask(question) {
  const turn = begin(question);
  const control = asking = new AbortController();
  $("turns").append(turn.item);
  toEnd();
  $("send").disabled = true;
  $("stop").hidden = false;
  try {
    const response = await call("/api/chat", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message: question, session_id: session() }),
      signal: control.signal,
    });
    for await (const { event, data } of events(response)) HANDLERS[event]?.(turn, data);
    if (!turn.done) throw new Problem("The answer broke off: the connection to the service was lost.");
  } catch (error) {
    const stopped = error.name === "AbortError";
    const text = stopped ? "Stopped." : error instanceof Problem ? error.message : "The connection to the service was lost.";
    turn.writing?.end();
    turn.item.append(make("p", stopped ? "facts" : "error", text));
    if (turn.item.isConnected) toEnd(); // it is what the reader waits for
  } finally {
    turn.answer.setAttribute("aria-busy", "false");
    if (asking === control) settle();
  }
}

function settle() {
  asking = null;
  $("send").disabled = false;
  $("stop").hidden = true;
}

/** What was asked here before: the text at once, its sources as their records come, the newest first. */
async function restore() {
  const place = $("turns");
  const marker = make("li", "", "", { hidden: true }); // what is asked meanwhile comes behind it
  const gone = () => !marker.isConnected; // another session was entered
  place.append(marker);
  try {
    const turns = restored(await allTurns(session()));
    if (gone()) return;
    marker.before(...turns.map((turn) => turn.item));
    $("empty").hidden = place.children.length > 1;
    if (turns.length) toEnd();
    for (const turn of turns.reverse()) {
      const record = turn.id && (await json(`/answers/${turn.id}`).catch(() => null));
      if (gone()) return;
      complete(turn, record);
    }
  } catch (error) {
    if (!gone()) marker.before(make("li", "error", error.message));
  } finally {
    marker.remove();
  }
}

async function allTurns(name) {
  const items = [];
  let cursor = "";
  do {
    const path = `/api/sessions/${encodeURIComponent(name)}/turns?limit=200&thread_id=${encodeURIComponent(name)}`;
    const page = await json(path + cursor);
    items.push(...page.items);
    cursor = page.next && `&cursor=${encodeURIComponent(page.next)}`;
  } while (cursor);
  return items;
}

/** Questions with their answers, as text. */
function restored(items) {
  const turns = [];
  for (const { role, content, answer_id: id } of items) {
    if (role === "user") turns.push({ ...begin(content), id });
    const turn = turns.at(-1);
    if (role !== "assistant" || !turn) continue;
    opened(turn, { citations: [] });
    turn.writing.add(content);
    turn.writing.end();
  }
  for (const turn of turns) turn.answer.setAttribute("aria-busy", "false");
  return turns;
}

/** The record of an answer beside its text; without one the text stays as it is. */
function complete(turn, record) {
  if (!record) return;
  const near = nearEnd();
  turn.answer.replaceChildren();
  opened(turn, record);
  turn.writing.add(record.answer);
  explain(turn, record.rag);
  source(turn, record);
  finish(turn, { finish_reason: record.finish_reason, took_ms: record.timings.total });
  if (!record.finish_reason) turn.item.append(make("p", "error", "This answer broke off."));
  if (near) toEnd();
}

// --- the passage ---------------------------------------------------------------------------------

async function openPassage(cite) {
  const id = /\/api\/documents\/([^/#?]+)/.exec(cite.url ?? "")?.[1];
  const ordinal = cite.label.slice(cite.label.lastIndexOf("#") + 1);
  const file = `/api/documents/${id}/file`;
  $("passage-title").textContent = cite.label;
  $("passage-place").textContent = pages(cite);
  $("passage-text").textContent = "…";
  $("passage-file").href = `${file}#page=${cite.page ?? 1}`;
  $("passage-file").onclick = sessionStorage.getItem(KEY) ? (event) => openFile(event, file, cite) : null;
  $("passage").showModal();
  try {
    const chunk = await json(`/api/documents/${id}/chunks/${ordinal}`);
    $("passage-place").textContent = [chunk.heading, pages(chunk)].filter(Boolean).join(" · ");
    $("passage-text").textContent = chunk.text;
  } catch (error) {
    $("passage-text").textContent = error.message;
  }
}

/** A link cannot carry a key: fetch the file with it and show the copy. */
async function openFile(event, file, cite) {
  event.preventDefault();
  const tab = window.open("", "_blank");
  try {
    const url = URL.createObjectURL(await (await call(file)).blob());
    tab.location = `${url}#page=${cite.page ?? 1}`;
  } catch (error) {
    tab.close();
    $("passage-text").textContent = error.message;
  }
}

// --- wiring --------------------------------------------------------------------------------------

function submitOnEnter(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  $("ask").requestSubmit();
}

function submit(event) {
  event.preventDefault();
  const question = $("message").value.trim();
  if (!question || asking) return;
  $("message").value = "";
  ask(question);
}

/** The whole window takes files: beside the box the browser would leave the page and open them. */
function dragged(event) {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  $("drop").classList.toggle("over", event.type === "dragover");
  if (event.type === "drop") uploadAll([...event.dataTransfer.files]);
}

function listen() {
  $("ask").addEventListener("submit", submit);
  $("message").addEventListener("keydown", submitOnEnter);
  $("stop").addEventListener("click", () => asking?.abort());
  $("close").addEventListener("click", () => $("passage").close());
  $("passage").addEventListener("click", (event) => event.target === $("passage") && $("passage").close());
  $("fresh").addEventListener("click", () => enter(freshName()));
  $("session").addEventListener("change", () => $("session").reportValidity() && enter(session()));
  $("session-form").addEventListener("submit", (event) => event.preventDefault());
  $("files").addEventListener("change", async () => {
    await uploadAll([...$("files").files]);
    $("files").value = "";
  });
  for (const type of ["dragover", "dragleave", "drop"]) window.addEventListener(type, dragged);
  $("below").addEventListener("click", toEnd);
  window.addEventListener("scroll", () => nearEnd() && ($("below").hidden = true), { passive: true });
  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, $("key").value.trim());
    $("key-form").hidden = true;
    if ($("turns").querySelector(".question")) listDocuments();
    else enter(session()); // nothing could be restored without it
  });
}

listen();
enter(localStorage.getItem(SESSION) ?? freshName());
