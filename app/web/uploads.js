// Files on their way: three at once, with progress, cancel and retry. The whole window takes drops.

import { Problem, address, call, events, headers, json, problem } from "./api.js";
import { finish } from "./deletion.js";
import { box, button, count, make, straight } from "./dom.js";
import { parts } from "./router.js";
import { on, personalKey, tell, user } from "./state.js";

const AT_ONCE = 3;
const STREAMS = 2; // of six connections that a browser has to a service
const POLL_MS = 1000;
const STAY_MS = 6000; // of what has been read
const TAIL = 12; // characters of a name
const HEAD = 1024; // bytes that have a PDF's sign
const MIB = 1 << 20;
const LITTLE = 8 * MIB; // may be sent before the browser tells of it
const WHY = {
  "not-a-pdf": "It is not a PDF. Print or export it as a PDF and add that.",
  "empty-file": "The file is empty.",
  "pdf-encrypted": "It opens only with a password. Remove the password and add it again.",
  "pdf-damaged": "The file is damaged. Print it to a new PDF and add that.",
  "pdf-without-text": "No page has text, as with scans. Run text recognition (OCR) over it and add the result.",
  "pdf-unreadable": "Its fonts do not say which letters they show. Print it to a PDF, run text recognition (OCR), and add that.",
  "pdf-too-complex": "Reading it took too much time or memory. Split it and add the parts.",
  "removed-meanwhile": "It was removed while it was being read.",
  "no-room": "The disk of the service is full.",
};
const STEPS = { reading: "Reading page", indexing: "Indexing page" };
const READING = 0.4; // of the time; the rest is indexing
const LASTING = [403, 413, 415, 422]; // the same file will be refused again
const BUSY = ["waiting", "sending", "reading"];

let entries = []; // {name, file, session, stage, step, done, of, problem, lasting, id, warnings, pages, request, control, row}
let limit = Infinity; // bytes of a file, as the service says with its list
let looked = null; // once it was asked
const failed = new Map(); // by id, out of the tray and still in the library, where they can be tried again
const gone = new Set(); // ids of what was removed from here: nobody asks about them any more
let streams = 0;
let streamed = true; // until the service has no room for more streams

const tray = box("section", "", []);
const list = make("ul");
const heard = make("p", "only-heard");
const toggle = button("", () => unfold(list.hidden), "quiet grow");
const clear = button("✕", () => entries.filter(({ stage }) => !BUSY.includes(stage)).forEach(dismiss), "icon", "Dismiss all");

const stop = button("Cancel all", () => underway().forEach(cancel), "quiet");

const slug = (body) => body?.type?.split(":").at(-1);

/** A problem document as a sentence for readers. */
export const why = (body) => WHY[slug(body)] ?? body?.detail ?? body?.title ?? "It could not be read.";

/** The files that are being sent or read: [{id, name, stage, done, of, problem}]; "uploads" is told when they change. */
export const underway = () => entries.filter(({ stage }) => BUSY.includes(stage));

/** Sends files; `session`: for this chat alone if the key may not write what all chats share. */
export function upload(files, session = "") {
  for (const file of files) {
    const entry = { name: file.name, file, session };
    entries.push(entry);
    change(entry, { stage: "waiting" });
  }
  next();
}

/** Lets the reader choose files; `instead`: of this failed document. */
export function choose(session = "", instead = null) {
  const input = make("input", "", "", { type: "file", accept: ".pdf,application/pdf", multiple: true });
  input.addEventListener("change", () => {
    upload(input.files, session);
    if (instead) forget({ id: instead });
  });
  input.click();
}

/** Documents that are being read, whoever sent them: followed until they can be searched. */
export function follow(documents) {
  for (const { id, filename, state, progress } of documents) {
    if (state !== "processing" || gone.has(id) || entries.some((entry) => entry.id === id)) continue;
    const entry = { id, name: filename };
    entries.push(entry);
    read(entry, { state, progress });
  }
}

/** A failed document once more: with the file if it was sent from here, else the reader chooses it again. */
export function again(id, session) {
  const entry = entries.find((each) => each.id === id) ?? failed.get(id);
  if (entry?.file) retry(entry);
  else choose(session, id);
}

// --- one file ------------------------------------------------------------------------------------

function next() {
  let free = AT_ONCE - entries.filter(({ stage }) => stage === "sending").length;
  for (const entry of entries) if (entry.stage === "waiting" && free-- > 0) send(entry);
}

/** Why a file need not be sent at all; "" if it may. */
async function unfit({ file, session }) {
  const { name, size } = file;
  if (personalKey.get() && !session) return CHAT_ONLY;
  await looked;
  if (size > limit) return tooLarge(size);
  let text;
  try {
    text = await file.slice(0, HEAD).text();
  } catch {
    return "It cannot be read. If it is a folder, add the files in it.";
  }
  if (!size) return WHY["empty-file"];
  if (text.includes("%PDF-")) return "";
  return /\.(txt|md|jsonl)$/i.test(name) ? "It is not a PDF. Add plain text under “Reference texts”." : WHY["not-a-pdf"];
}

const CHAT_ONLY = "Your key adds files to a chat only. Open a chat and add it there.";
const inMb = (bytes) => `${(Math.ceil((bytes / MIB) * 10) / 10).toLocaleString()} MB`;
const tooLarge = (size) => `It is too large: it has ${inMb(size)}, and a file may have ${inMb(limit)}.`;

async function send(entry, replace = false) {
  change(entry, { stage: "sending", done: 0, of: 1, problem: "" });
  const refused = await unfit(entry);
  if (entry.stage !== "sending") return; // cancelled meanwhile
  try {
    if (refused) throw new Problem(refused, 415);
    await finish();
    const { status, document } = await post(entry, replace);
    if (entry.stage === "cancelled") return status === 200 || forget(document);
    const same = entries.filter((other) => other !== entry && other.id === document.id);
    if (status === 200 && same.some(({ file }) => file)) return change(entry, { stage: "known" });
    same.forEach(drop); // the list told of it already
    entry.id = document.id;
    tell("documents");
    if (status === 200 && document.state === "ready") change(entry, { stage: "known" });
    else read(entry, document);
  } catch (error) {
    fail(entry, error);
  } finally {
    next();
  }
}

/** fetch() cannot tell how much is sent, XMLHttpRequest can. */
function post(entry, replace) {
  const form = new FormData();
  form.append(...(personalKey.get() && entry.session ? ["session_id", entry.session] : ["scope", "global"]));
  if (!personalKey.get()) form.append("user_id", user.get()); // whose it is: exported and erased with them. Such a key says it itself
  form.append("wait", "0");
  if (replace) form.append("replace", "true");
  form.append("file", entry.file, entry.name);
  const request = entry.request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open("POST", "/api/documents");
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => change(entry, { done: loaded, of: total }));
    request.addEventListener("load", () => (request.status < 300
      ? resolve({ status: request.status, document: request.response })
      : reject(problem(request.status, request.response))));
    request.addEventListener("error", () => reject(new Problem("The service cannot be reached, or took no more of it.")));
    request.send(form);
  });
}

function fail(entry, error) {
  const kind = slug(error.body);
  if (kind === "forbidden" && !personalKey.get()) {
    personalKey.set(true);
    tell("documents"); // its view offers no more what is refused
    if (entry.session) return send(entry);
  }
  if (kind === "name-taken" && entry.both) return keepBoth(entry); // that number is taken too
  const most = error.status === 413 && /(\d+) MiB/.exec(error.body?.detail)?.[1];
  if (most) limit = Number(most) * MIB;
  const text = most ? tooLarge(entry.file.size)
    : error.status === 403 ? CHAT_ONLY
    : error.body ? why(error.body) : error.message;
  change(entry, kind === "name-taken" ? { stage: "asking" } : { stage: "failed", problem: text, lasting: LASTING.includes(error.status) });
}

/** Followed while the service reads it: by its events, or by asking again and again. */
async function read(entry, document) {
  entry.control = new AbortController();
  taken(entry, document);
  const followed = () => entry.stage === "reading" && entries.includes(entry);
  while (followed()) {
    try {
      if (streamed && streams < STREAMS) await listen(entry);
      else await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (followed()) taken(entry, await json(`/api/documents/${entry.id}`, { signal: entry.control.signal }));
    } catch (error) {
      if (error.status === 404) drop(entry); // removed, here or elsewhere
      // otherwise the service may be back soon
    }
  }
}

async function listen(entry) {
  streams += 1;
  try {
    const response = await call(`/api/documents/${entry.id}/events`, { signal: entry.control.signal });
    for await (const { event, data } of events(response)) {
      if (event === "progress") taken(entry, { state: "processing", progress: data });
      else if (data.state) taken(entry, data);
    }
  } catch (error) {
    if (slug(error.body) === "overloaded") streamed = false;
  } finally {
    streams -= 1;
  }
  await new Promise((resolve) => setTimeout(resolve, POLL_MS / 4));
}

function taken(entry, { state, progress, problem: fault, warnings = [], pages = 0 }) {
  if (!entries.includes(entry)) return;
  if (state === "processing") {
    const { stage: step = "", done = 0, of = 0 } = progress ?? {};
    return change(entry, { stage: "reading", step, done, of });
  }
  if (state === "failed") change(entry, { stage: "failed", problem: why(fault), lasting: LASTING.includes(fault.status) });
  else change(entry, { stage: "ready", warnings, pages });
  tell("documents");
}

function retry(entry) {
  if (entry.id) forget(entry);
  if (!entries.includes(entry)) entries.push(Object.assign(entry, { row: null }));
  change(entry, { stage: "waiting", id: undefined });
  next();
}

/** The document itself, also a failed one, of which the service keeps the reason for a day. */
function forget({ id }) {
  if (gone.has(id)) return;
  gone.add(id);
  failed.delete(id);
  entries.filter((other) => other.id === id && !other.file).forEach(drop); // the list told of it meanwhile
  call(`/api/documents/${id}`, { method: "DELETE", keepalive: true }).then(() => tell("documents"), () => {});
}

function drop(entry) {
  entries = entries.filter((each) => each !== entry);
  entry.control?.abort();
  entry.row?.item.remove();
  changed();
  next();
}

/** Out of the tray: what could not be read stays in the library. */
function dismiss(entry) {
  if (entry.stage === "failed" && entry.id) failed.set(entry.id, entry);
  drop(entry);
}

/** Nothing of it stays: not on its way, not in the service. */
function cancel(entry) {
  if (entry.file?.size - entry.done > LITTLE) entry.request?.abort(); // else it may have arrived: its answer says what is to be removed
  if (entry.stage === "reading") forget(entry);
  entry.stage = "cancelled";
  drop(entry);
}

/** The name with the next number: "report (2).pdf". */
function keepBoth(entry) {
  const [, stem, number, end] = /^(.*?)(?: \((\d+)\))?(\.[^.]*)?$/s.exec(entry.name);
  entry.name = `${stem} (${Number(number ?? 1) + 1})${end ?? ""}`;
  entry.both = true;
  send(entry);
}

// --- the tray ------------------------------------------------------------------------------------

function change(entry, news) {
  const before = entry.stage;
  Object.assign(entry, news);
  draw(entry, before !== entry.stage);
  changed();
  if (before === entry.stage) return;
  if (entry.stage === "ready" && !entry.warnings.length || entry.stage === "known") setTimeout(() => drop(entry), STAY_MS);
  if (!BUSY.includes(entry.stage)) heard.textContent = `${entry.name}: ${words(entry)}`;
  if (entry.stage === "asking" || entry.stage === "failed") unfold(true);
}

function changed() {
  const busy = underway();
  tray.hidden = !entries.length;
  clear.hidden = busy.length === entries.length;
  stop.hidden = busy.length < 2;
  const failed = entries.filter(({ stage }) => stage === "failed" || stage === "asking").length;
  toggle.textContent = busy.length ? `${count(busy.length, "file")} under way` : failed ? `${count(failed, "file")} not added` : "Added";
  toggle.classList.toggle("bad", !busy.length && failed > 0);
  tell("uploads");
}

function unfold(open) {
  list.hidden = !open;
  toggle.setAttribute("aria-expanded", String(open));
}

/** Where a file is, in words. */
function words(entry) {
  const { stage, done, of, step, problem: fault, warnings, pages } = entry;
  switch (stage) {
    case "waiting": return "Waiting";
    case "sending": return `Sending ${share(entry)} %`;
    case "reading": return step === "queued" ? "Waiting to be read" : of ? `${STEPS[step] ?? "Page"} ${done} of ${of}` : "Being read";
    case "asking": return "Another file of this name is here already.";
    case "known": return "You have this file already.";
    case "failed": return fault;
    default: return warnings.length ? warnings.join(" ") : `Ready: ${count(pages, "page")}${personalKey.get() ? ", for this chat alone" : ""}`;
  }
}

/** Per cent of what is to be done now: of the sending, or of the reading and then the indexing. */
function share({ step, stage, done, of }) {
  const part = of ? done / of : 0;
  if (stage !== "reading") return Math.floor(part * 100);
  return Math.floor((step === "indexing" ? READING + part * (1 - READING) : part * READING) * 100);
}

/** A ring with the share of the work that is done. Also for the table of documents. */
function ring(entry) {
  const made = make("span", "ring");
  made.setAttribute("role", "progressbar");
  made.setAttribute("aria-label", `Progress of ${straight(entry.name)}`);
  return turned(made, entry);
}

function turned(made, entry) {
  const done = share(entry);
  made.setAttribute("aria-valuenow", done);
  made.style.setProperty("--share", `${done}%`);
  made.textContent = done || "";
  return made;
}

/** Of a document that is being read: the ring and the words, else null. */
export function progressOf(id) {
  const entry = underway().find((each) => each.id === id);
  return entry ? box("span", "row", [ring(entry), words(entry)]) : null;
}

/** Its end stays in view: names are often told apart by it. */
function showName(place, name) {
  place.title = name;
  place.replaceChildren(make("span", "", name.slice(0, -TAIL)), make("span", "", name.slice(-TAIL)));
}

function draw(entry, anew) {
  if (!entries.includes(entry)) return;
  if (!entry.row) {
    const row = entry.row = { ring: ring(entry), name: make("b"), text: make("span", "soft"), acts: make("div", "row") };
    row.item = box("li", "", [row.ring, box("div", "grow", [row.name, row.text, row.acts])]);
    list.append(row.item);
  }
  const { ring: circle, name, text, acts, item } = entry.row;
  if (name.title !== straight(entry.name)) showName(name, straight(entry.name));
  text.textContent = words(entry);
  turned(circle, entry);
  if (!anew) return;
  const focused = acts.contains(document.activeElement);
  item.dataset.stage = entry.stage;
  item.toggleAttribute("data-busy", BUSY.includes(entry.stage));
  circle.hidden = !BUSY.includes(entry.stage);
  acts.replaceChildren(...actions(entry));
  if (focused) (acts.firstChild ?? toggle).focus();
}

function actions(entry) {
  const act = (text, run) => button(text, () => run(entry), "pill", `${text} ${entry.name}`);
  if (BUSY.includes(entry.stage)) return [button("✕", () => cancel(entry), "icon", `Cancel ${entry.name}`)];
  if (entry.stage === "asking") return [act("Replace", (it) => send(it, true)), act("Keep both", keepBoth), act("Cancel", drop)];
  if (entry.stage === "failed") return [entry.file && !entry.lasting && act("Retry", retry), act("Dismiss", dismiss)].filter(Boolean);
  return entry.warnings?.length ? [act("Dismiss", drop)] : [];
}

// --- the window ----------------------------------------------------------------------------------

const overlay = box("div", "", [make("p", "", "Drop PDFs to add them")]);

/** The whole window takes files: elsewhere a browser would leave the page and open them. */
function dragged(event) {
  const files = event.dataTransfer?.types.includes("Files");
  if (!files && event.target.closest?.("input, textarea")) return;
  event.preventDefault();
  overlay.firstChild.textContent = personalKey.get() && parts()[0] !== "c" ? "Open a chat to add PDFs to it" : "Drop PDFs to add them";
  overlay.hidden = !files || event.type === "drop" || (event.type === "dragleave" && !event.relatedTarget);
  const [view, session] = parts();
  if (files && event.type === "drop") upload(event.dataTransfer.files, view === "c" ? session : "");
}

async function look() {
  try {
    const { items, max_size: most } = await json(address("/api/documents", { limit: 200 }));
    limit = most;
    follow(items);
  } catch {
    // the view of documents says what is wrong
  }
}

function start() {
  tray.id = "tray";
  overlay.id = "dropping";
  tray.hidden = overlay.hidden = true;
  tray.setAttribute("aria-label", "Files under way");
  heard.setAttribute("role", "status");
  tray.append(box("div", "row", [toggle, stop, clear]), list);
  unfold(innerWidth >= 700);
  document.body.append(tray, heard, overlay);
  for (const type of ["dragenter", "dragover", "dragleave", "drop"]) addEventListener(type, dragged);
  addEventListener("beforeunload", (event) => entries.some(({ stage }) => stage === "sending") && event.preventDefault());
  on("settings", (name) => {
    if (name === "key") looked = look();
  });
  looked = look();
}

start();
