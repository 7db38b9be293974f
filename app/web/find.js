// Search from anywhere: Ctrl/⌘-K. Chats, documents, and passages and memories by the real search.

import { address, all, json, send } from "./api.js";
import { box, make } from "./dom.js";
import { pageOf } from "./passage.js";
import { newChat } from "./rail.js";
import { go, parts, path } from "./router.js";
import { user } from "./state.js";

const PAUSE_MS = 180;
const MOST = 6;
const SNIPPET = 160;

/** Where a passage is found again: a document's, a memory's, a reference text's place in the library. */
function placeOf({ source, id, metadata }) {
  if (source === "documents") return path("documents", ...id.split(":"));
  return source === "memories" ? path("memories") : path("texts", metadata?.collection ?? "");
}

const chatEntry = ({ session_id: id, title }) => ({ text: title || "New chat", act: () => go(path("c", id)) });

const passageEntry = (found) => ({
  text: found.text.replace(/\s+/g, " ").slice(0, SNIPPET),
  aside: [found.source === "memories" ? found.title : found.label.replace(/#[^#]*$/, ""), pageOf(found)]
    .filter(Boolean).join(" · "),
  act: () => go(placeOf(found)),
});

const withWords = (words) => ({ filename }) => words.every((word) => filename.toLowerCase().includes(word));

/** [heading, entries] of all that fits; what cannot be had is left out. `names()`: the documents. */
async function search(query, names, signal) {
  const wanted = (asked) => asked.catch((error) => {
    if (error.name === "AbortError") throw error;
    return { items: [], results: [] };
  });
  const here = parts()[0] === "c" ? parts()[1] : undefined;
  const words = query.toLowerCase().split(/\s+/);
  const [chats, documents, found] = await Promise.all([
    wanted(json(address("/api/sessions", { q: query, limit: MOST }), { signal })),
    names().catch(() => []),
    wanted(send("POST", "/v1/search", { query, session_id: here, user_id: user.get(), top_k: 2 * MOST }, { signal })),
  ]);
  const of = (wantedSource) => found.results.filter(({ source }) => (source === "memories") === wantedSource).slice(0, MOST).map(passageEntry);
  return [
    ["Chats", chats.items.map(chatEntry)],
    ["Documents", documents.filter(withWords(words)).slice(0, MOST).map(({ id, filename }) => (
      { text: filename, act: () => go(path("documents", id)) }))],
    ["Passages", of(false)],
    ["Memories", of(true)],
  ];
}

async function recent(signal) {
  const chats = await json(address("/api/sessions", { limit: 8 }), { signal });
  return [["Recent chats", chats.items.filter(({ turns }) => turns).map(chatEntry)]];
}

function open() {
  const input = make("input", "", "", { type: "text", placeholder: "Search chats, documents, memories", autocomplete: "off", spellcheck: false });
  const list = make("div", "", "", { id: "find-list" });
  const status = make("p", "soft", "", { hidden: true });
  status.setAttribute("role", "status");
  for (const [name, value] of Object.entries({ role: "combobox", "aria-label": "Search", "aria-expanded": "true", "aria-controls": list.id,
    "aria-autocomplete": "list" })) input.setAttribute(name, value);
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Found");
  const top = box("dialog", "find", [input, list, status]);
  top.setAttribute("aria-label", "Search");

  let documents = null; // all of them, as a promise: asked for once
  const names = () => (documents ??= all("/api/documents").catch((error) => {
    documents = null;
    throw error;
  }));
  let options = []; // {element, act}
  let at = 0;
  let pending = null; // of the newest query
  let timer = 0;
  let shown = ""; // the query whose results are shown

  function option({ text, aside = "", act }) {
    const element = box("div", "", [make("span", "", text), aside && make("small", "soft", aside)]);
    element.setAttribute("role", "option");
    element.id = `find-${options.length}`;
    element.addEventListener("click", () => pick(act));
    options.push({ element, act });
    return element;
  }
  function pick(act) {
    top.close();
    act();
  }
  function choose(next) {
    at = (next + options.length) % options.length;
    options.forEach(({ element }, n) => element.setAttribute("aria-selected", String(n === at)));
    input.setAttribute("aria-activedescendant", options[at].element.id);
    options[at].element.scrollIntoView({ block: "nearest" });
  }
  function show(groups, query) {
    shown = query;
    options = [];
    list.replaceChildren(option({ text: "+ New chat", act: newChat }), ...groups.filter(([, entries]) => entries.length).map(([title, entries], n) => {
      const head = make("div", "caps", title, { id: `find-group-${n}` });
      const group = box("div", "", [head, ...entries.map(option)]);
      group.setAttribute("role", "group");
      group.setAttribute("aria-labelledby", head.id);
      return group;
    }));
    const nothing = query && options.length === 1;
    status.hidden = !nothing;
    status.textContent = nothing ? `Nothing fits “${query}”.` : "";
    choose(query && options.length > 1 ? 1 : 0);
  }
  async function look() {
    clearTimeout(timer);
    pending?.abort();
    pending = new AbortController();
    const query = input.value.trim();
    try {
      show(await (query ? search(query, names, pending.signal) : recent(pending.signal)), query);
    } catch (error) {
      if (error.name !== "AbortError") show([], query);
    }
  }
  async function enter() {
    if (input.value.trim() !== shown) await look();
    if (input.value.trim() === shown) pick(options[at].act);
  }
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE_MS);
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose(at + step);
    else if (event.key === "Enter") enter();
    else return;
    event.preventDefault();
  });
  top.addEventListener("click", (event) => event.target === top && top.close());
  top.addEventListener("close", () => {
    clearTimeout(timer);
    pending?.abort();
    top.remove();
  });
  document.body.append(top);
  show([], "");
  top.showModal();
  look();
}

addEventListener("ibid:find", open);
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
  event.preventDefault(); // the browser's own search field
  if (!document.querySelector("dialog[open]")) open();
});
