// Where one asks: the field, the sources and the project that are asked, and files on their way.

import { MOST_TEXT, address, json, total } from "./api.js";
import { box, button, count, make, menu } from "./dom.js";
import * as state from "./state.js";
import { underway, upload } from "./uploads.js";

const SOURCES = [["documents", "Documents"], ["memories", "Memories"], ["corpus", "Reference texts"]];
const AGAIN_MS = 5000; // until what could not be had is asked for once more
const DRAFT = "ibid.draft.";
const ONLY = "ibid.only.";

/** The form. `acts`: {ask(question), stop(), edit()}: `edit` gives the last question. */
export function composer(acts) {
  const field = make("textarea", "", "", { id: "message", rows: 1, autocomplete: "off" });
  const label = make("label", "only-heard", "Your question", { htmlFor: "message" });
  const excess = make("p", "facts bad", "", { hidden: true });
  excess.setAttribute("role", "status");
  const files = make("p", "facts files", "", { hidden: true });
  const picker = make("input", "", "", { type: "file", accept: ".pdf,application/pdf", multiple: true, hidden: true, id: "add-files" });
  const add = button("+", () => picker.click(), "pill add", "Add files");
  add.append(make("span", "", " Add files"));
  const switches = make("div", "row switches");
  const send = make("button", "strong", "Ask ↵", { id: "send" });
  const stop = button("Stop", acts.stop, "strong", "Stop the answer (Esc)");
  stop.id = "stop";
  const form = box("form", "composer", [
    files, box("div", "card", [label, field, excess, box("div", "row", [add, picker, switches, make("span", "grow"), send, stop])]),
  ]);
  form.id = "ask";
  const self = { form, field, excess, files, switches, send, stop, session: "", busy: false, has: {}, projects: [] };
  picker.addEventListener("change", () => {
    upload([...picker.files], self.session);
    picker.value = "";
  });
  field.addEventListener("input", () => grown(self));
  field.addEventListener("keydown", (event) => typed(self, event, acts));
  field.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    upload([...event.clipboardData.files], self.session);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(self, acts);
  });
  for (const name of ["documents", "memories", "texts", "projects"]) state.on(name, () => look(self));
  state.on("settings", (name) => ({ sources: draw, project: draw, user: look, key: look }[name]?.(self)));
  state.on("uploads", () => drawFiles(self));
  working(self, false);
  return self;
}

/** For another chat: its draft, and what is in its reach. */
export function enter(self, session) {
  self.session = session;
  put(self, sessionStorage.getItem(DRAFT + session) ?? "");
  look(self);
}

export function put(self, text) {
  self.field.value = text;
  grown(self);
}

/** Whether an answer is on its way: then it can be stopped, and nothing else asked. */
export function working(self, busy) {
  self.busy = busy;
  const focused = document.activeElement === self.stop;
  self.stop.hidden = !busy;
  self.send.hidden = busy;
  if (focused) self.field.focus();
}

/** The document that this chat is about alone: {id, name}, or null. */
const only = ({ session }) => JSON.parse(sessionStorage.getItem(ONLY + session) ?? "null");

/** A chat about one document, from now on. */
export const askOnly = (session, id, name) => sessionStorage.setItem(ONLY + session, JSON.stringify({ id, name }));

/** What a question says beside its text. */
export function settings(self) {
  const alone = only(self);
  if (alone) return { user_id: state.user.get() || undefined, filter: { document_ids: [alone.id] } };
  const project = chosenProject(self);
  const sources = state.sources.get() === null && project ? undefined : asked(self);
  const usual = !project && String(sources) === "documents";
  return {
    user_id: state.user.get() || undefined,
    project: project || undefined,
    sources: usual ? undefined : sources,
  };
}

/** What will be searched, in words: "3 documents and 12 memories". */
export function reach(self) {
  if (only(self)) return only(self).name;
  const project = chosenProject(self);
  if (project && state.sources.get() === null) return project;
  const nouns = { documents: "document", memories: "memory", corpus: "reference text" };
  const parts = asked(self).filter((name) => self.has[name]).map((name) => several(self.has[name], nouns[name]));
  return parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts[0] ?? "";
}

/** The names of the sources that a question asks, and of those that it leaves out; null: its project decides. */
export function scope(self) {
  if (only(self)) return null;
  if (chosenProject(self) && state.sources.get() === null) return null;
  const names = asked(self);
  return { asked: names, left: SOURCES.map(([name]) => name).filter((name) => self.has[name] && !names.includes(name)) };
}

/** One more source from now on. */
export const include = (self, name) => state.sources.set([...asked(self), name]);

const several = (number, noun) => (noun === "memory" && number !== 1 ? `${number.toLocaleString()} memories` : count(number, noun));

function typed(self, event, acts) {
  if (event.isComposing || event.keyCode === 229) return; // an input method has the keys
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    self.form.requestSubmit();
  } else if (event.key === "ArrowUp" && !self.field.value) {
    const question = acts.edit();
    if (!question) return;
    event.preventDefault();
    put(self, question);
    self.field.setSelectionRange(question.length, question.length);
  }
}

function submit(self, acts) {
  const question = self.field.value.trim();
  if (!question || self.busy || tooLong(self)) return;
  put(self, "");
  acts.ask(question);
}

function tooLong({ field }) {
  const length = field.value.length > MOST_TEXT ? [...field.value.trim()].length : 0;
  return length > MOST_TEXT ? length : 0;
}

/** As high as its text, up to what the style sheet allows; the draft is remembered. */
function grown(self) {
  const { field, excess, send } = self;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
  const length = tooLong(self);
  excess.hidden = !length;
  send.disabled = Boolean(length);
  if (length) excess.textContent = `${length.toLocaleString()} characters: a question may have ${MOST_TEXT.toLocaleString()}. Shorten it, or add the text as a PDF.`;
  if (field.value) sessionStorage.setItem(DRAFT + self.session, field.value);
  else sessionStorage.removeItem(DRAFT + self.session);
}

// --- what is asked -------------------------------------------------------------------------------

/** Of the newest, those that are not read (yet) do not count. */
async function readDocuments(session) {
  const page = await json(address("/api/documents", { session_id: session, limit: 200 }));
  return page.total - page.items.filter(({ state: is }) => is !== "ready").length;
}

async function look(self) {
  clearTimeout(self.again);
  const { session } = self;
  const found = {
    documents: () => readDocuments(session),
    memories: () => total("/memories", { user_id: state.user.get(), limit: 1 }),
    corpus: async () => (await json("/corpus")).items.reduce((sum, { texts }) => sum + texts, 0),
    projects: async () => (await json("/projects")).items.map(({ project }) => project),
  };
  const names = Object.keys(found);
  const values = await Promise.all(names.map((name) => found[name]().catch(() => null)));
  if (session !== self.session) return;
  names.forEach((name, n) => {
    if (values[n] === null) return; // as it was known last
    if (name === "projects") self.projects = values[n];
    else self.has[name] = values[n];
  });
  if (values.includes(null)) self.again = setTimeout(() => look(self), AGAIN_MS);
  draw(self);
}

const chosenProject = (self) => (self.projects.includes(state.project.get()) ? state.project.get() : "");

/** The names of the sources that are asked: as chosen, else all that have something. */
function asked(self) {
  const chosen = state.sources.get();
  const there = SOURCES.map(([name]) => name).filter((name) => self.has[name]);
  const found = there.filter((name) => !chosen || chosen.includes(name));
  return found.length ? found : there.length ? there.slice(0, 1) : ["documents"];
}

function draw(self) {
  const alone = only(self);
  if (alone) return drawOnly(self, alone);
  const project = chosenProject(self);
  const own = project && state.sources.get() === null; // the project decides
  const on = asked(self);
  const made = SOURCES.filter(([name]) => self.has[name]).map(([name, text]) => {
    const pressed = !own && on.includes(name);
    const flip = button(text, () => {
      const next = pressed ? on.filter((each) => each !== name) : [...(own ? [] : on), name];
      if (next.length) state.sources.set(next);
    }, "pill");
    flip.dataset.source = name;
    flip.setAttribute("aria-pressed", String(pressed));
    return flip;
  });
  if (self.projects.length) {
    const choose = button(`Project: ${project || "none"}`, () => menu(choose, ["", ...self.projects].map((name) => ({
      text: name || "None",
      act() {
        state.sources.set(null);
        state.project.set(name);
      },
    }))), "pill");
    choose.setAttribute("aria-haspopup", "menu");
    choose.dataset.source = "project";
    made.push(choose);
  }
  const focused = self.switches.contains(document.activeElement) && document.activeElement.dataset.source;
  self.switches.replaceChildren(...made);
  if (focused) self.switches.querySelector(`[data-source="${focused}"]`)?.focus();
  self.field.placeholder = reach(self) ? `Ask about ${reach(self)}` : "Ask a question";
  drawFiles(self);
}

function drawOnly(self, { name }) {
  const lift = button(`Only ${name} ✕`, () => {
    sessionStorage.removeItem(ONLY + self.session);
    draw(self);
    self.field.focus();
  }, "pill", `Only ${name} is asked. Ask everything again`);
  lift.setAttribute("aria-pressed", "true");
  self.switches.replaceChildren(lift);
  self.field.placeholder = `Ask about ${name}`;
  drawFiles(self);
}

function drawFiles({ files }) {
  const busy = underway();
  const one = busy.length === 1 && busy[0];
  files.hidden = !busy.length;
  files.textContent = !one ? `Reading ${count(busy.length, "file")}… They can be asked about once they are read.`
    : `${one.stage === "sending" || one.stage === "waiting" ? "Sending" : "Reading"} ${one.name}… It can be asked about once it is read.`;
}
