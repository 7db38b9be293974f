// The page at `/`: documents in, questions asked, answers streamed with their places.
// Data reaches the page through textContent only; nothing here builds HTML from strings.

const $ = (id) => document.getElementById(id);
const SESSION = "ibid.session";
const KEY = "ibid.key"; // in sessionStorage: gone with the tab
const MARK = /\[([^\[\]\n]{1,160}#[^\[\]#\n]{1,160})\]/g;

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
  $("empty").hidden = false;
  listDocuments();
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

async function listDocuments() {
  clearTimeout(polling);
  const asked = session();
  try {
    const items = await allDocuments();
    if (session() !== asked) return; // another session was entered meanwhile
    $("documents").replaceChildren(...items.map(shown));
    if (items.some((entry) => entry.state === "processing")) polling = setTimeout(listDocuments, 1500);
  } catch (error) {
    const { item, state } = row("Documents");
    say(state, error.message, "bad");
    $("documents").replaceChildren(item);
  }
}

async function discard(entry, state) {
  if (!confirm(`Remove ${entry.filename}?`)) return;
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
    form.append("wait", "300");
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
      if (share < 1) return;
      bar.removeAttribute("value"); // all sent: how long reading takes is not known
      say(state, "Being read…");
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

/** Text that grows: whole marks of packed passages become chips, half a mark waits for its end. */
class Writing {
  constructor(place, citations) {
    this.place = place;
    this.cites = new Map(citations.map((cite) => [cite.label, cite]));
    this.rest = "";
  }

  add(text, last = false) {
    this.rest += text;
    const open = this.rest.lastIndexOf("[");
    const half = !last && open >= 0 && !this.rest.includes("]", open) && this.rest.length - open < 330;
    const ready = half ? this.rest.slice(0, open) : this.rest;
    this.rest = this.rest.slice(ready.length);
    let from = 0;
    for (const mark of ready.matchAll(MARK)) {
      if (!this.cites.has(mark[1])) continue;
      this.place.append(ready.slice(from, mark.index), chip(this.cites.get(mark[1])));
      from = mark.index + mark[0].length;
    }
    this.place.append(ready.slice(from));
  }
}

const REASONS = {
  empty: "There are no documents in reach, so nothing was looked up.",
  no_match: "Nothing in the documents matches this question.",
  skipped_short_query: "The question is too short to be looked up.",
  timeout: "The documents did not answer in time.",
  unavailable: "The documents could not be searched.",
};

function begin(question) {
  const item = make("li");
  const answer = make("div", "answer");
  answer.setAttribute("aria-live", "polite");
  answer.setAttribute("aria-busy", "true"); // read out once whole, not word by word
  item.append(make("p", "question", question), answer);
  $("turns").append(item);
  $("empty").hidden = true;
  item.scrollIntoView({ block: "start", behavior: "smooth" });
  return { item, answer, meta: { citations: [] }, writing: null };
}

const HANDLERS = {
  meta(turn, data) {
    turn.meta = data;
    turn.writing = new Writing(turn.answer, data.citations);
    if (!data.rag.used) turn.item.append(make("p", "facts", REASONS[data.rag.reason] ?? data.rag.reason));
  },
  token(turn, data) {
    turn.writing.add(data.text);
  },
  citations(turn, data) {
    turn.writing.add("", true);
    const cited = turn.meta.citations.filter((cite) => data.cited.includes(cite.label));
    if (!cited.length) return;
    const box = make("details", "sources", "", { open: true });
    const list = make("ul");
    for (const cite of cited) {
      const line = make("li");
      line.append(chip(cite), make("span", "", ` ${[cite.title, pages(cite)].filter(Boolean).join(", ")}`));
      list.append(line);
    }
    box.append(make("summary", "", count(cited.length, "source")), list);
    turn.item.append(box);
  },
  done(turn, data) {
    turn.done = true;
    const found = turn.meta.rag.used ? `${count(turn.meta.rag.passages, "passage")} read` : "";
    const ended = { length: "cut at the length limit", cancelled: "stopped" }[data.finish_reason];
    const facts = [found, turn.meta.model, `${(data.took_ms / 1000).toFixed(1)} s`, ended];
    turn.item.append(make("p", "facts", facts.filter(Boolean).join(" · ")));
  },
  error(turn, data) {
    throw problem(data.status, data);
  },
};

let asking = null; // the AbortController of the answer under way

async function ask(question) {
  const turn = begin(question);
  asking = new AbortController();
  $("send").disabled = true;
  $("stop").hidden = false;
  try {
    const response = await call("/api/chat", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message: question, session_id: session() }),
      signal: asking.signal,
    });
    for await (const { event, data } of events(response)) HANDLERS[event]?.(turn, data);
    if (!turn.done) throw new Problem("The answer broke off: the connection to the service was lost.");
  } catch (error) {
    const stopped = error.name === "AbortError";
    const text = stopped ? "Stopped." : error instanceof Problem ? error.message : "The connection to the service was lost.";
    turn.item.append(make("p", stopped ? "facts" : "error", text));
  } finally {
    turn.writing?.add("", true);
    turn.answer.setAttribute("aria-busy", "false");
    $("send").disabled = false;
    $("stop").hidden = true;
    asking = null;
  }
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

function drop(event) {
  event.preventDefault();
  $("drop").classList.remove("over");
  uploadAll([...event.dataTransfer.files]);
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
  $("drop").addEventListener("dragover", (event) => {
    event.preventDefault();
    $("drop").classList.add("over");
  });
  $("drop").addEventListener("dragleave", () => $("drop").classList.remove("over"));
  $("drop").addEventListener("drop", drop);
  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, $("key").value.trim());
    $("key-form").hidden = true;
    listDocuments();
  });
}

listen();
enter(localStorage.getItem(SESSION) ?? freshName());
