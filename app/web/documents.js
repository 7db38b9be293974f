// All documents: found by name and in their texts, opened, asked about, removed.

import { all } from "./api.js";
import { askOnly } from "./composer.js";
import { remove } from "./deletion.js";
import { box, button, dialog, make, when } from "./dom.js";
import { frame, marked, nothing, redraw, search, searchField, searching, table, trouble } from "./library.js";
import { chunk, lost, once, openFile, pageAndSheet, showText } from "./passage.js";
import { go, path, register } from "./router.js";
import { showPages } from "./sheet.js";
import { freshSession, on, personalKey, tell } from "./state.js";
import { again as retry, choose, follow, progressOf, why } from "./uploads.js";

const PURPOSE = "Answers quote these PDFs and name the page. Drop files anywhere in this window to add them.";
const IN_CHATS = "Answers quote these PDFs and name the page. Your key adds PDFs to a chat: drop them there.";
let wanted; // the document that the address names
const hidden = new Set(); // removed, while it can be undone

const open = (id, page) => openFile(`/api/documents/${id}/file`, page);

/** A chat about this document alone: a new one, or the chat that has it to itself. */
function ask({ id, filename, session_id: session }) {
  const chat = session ?? freshSession();
  askOnly(chat, id, filename);
  go(path("c", chat));
  dispatchEvent(new CustomEvent("ibid:compose"));
}

/** A passage marked on its page, or as text. Its address ends in the number of the passage. */
async function openPassage(document, n) {
  const from = { session: "", quotes: [], about: (id) => once(`/api/documents/${id}`) };
  const tab = make("div", "reading");
  await dialog("", (form, close) => {
    const top = form.parentElement;
    top.classList.add("passage-dialog");
    const title = top.querySelector("h2");
    const show = (how, pressed) => {
      for (const each of [page, text]) each.setAttribute("aria-pressed", String(each === pressed));
      tab.view?.stop();
      tab.replaceChildren();
      how(tab, tab.entry, from);
    };
    const page = button("Page", () => show(showPages, page), "pill");
    const text = button("Text", () => show(showText, text), "pill");
    form.append(box("div", "row", [page, text, make("span", "grow"), button("Open file", () => open(document, tab.entry?.page), "pill"), button("✕", () => close(), "icon", "Close")]), tab);
    chunk(document, n, "").then((found) => {
      tab.entry = { ...found, source: "documents", id: `${document}:${n}` };
      title.textContent = `${found.label.replace(/#\d+$/, "")} · ${pageAndSheet(found)}`;
      show(showPages, page);
    }, (error) => tab.replaceChildren(lost(error)));
  });
  tab.view?.stop();
  if (location.hash === path("documents", document, n)) go(path("documents"), { replace: true });
}

const size = (bytes = 0) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** Letters and digits: a title that only repeats the name says nothing. */
const plain = (text) => text.toLowerCase().replace(/\.pdf$|[^\p{L}\p{N}]/gu, "");

function live(id) {
  const place = box("div", "live", [progressOf(id) ?? make("span", "soft", "Being read…")]);
  place.dataset.id = id;
  return place;
}

function first({ id, filename, title, state: is, problem, warnings }) {
  const name = is === "ready" ? button(filename, () => open(id), "link", `Open ${filename}`) : make("b", "", filename);
  const line = is === "failed" ? make("span", "bad", `Could not be read. ${why(problem)}`)
    : is === "processing" ? live(id)
    : warnings.length && make("span", "soft", `⚠ ${warnings.join(" ")}`);
  return box("div", id === wanted ? "stack wanted" : "stack", [name, title && plain(title) !== plain(filename) && make("span", "soft", title), line]);
}

function acts(entry, draw) {
  const { id, filename, session_id: session, state: is } = entry;
  return box("div", "row end", [
    is === "ready" && button("Ask", () => ask(entry), "pill", `Ask about ${filename}`),
    is === "failed" && button("Try again", () => retry(id, session ?? ""), "pill", `Add ${filename} again`),
    button("Remove", () => remove({
      id, hidden, draw, text: `Removed “${filename}”.`, address: `/api/documents/${id}`, deleted: () => tell("documents"),
    }), "pill", `Remove ${filename}`),
  ]);
}

/** Passages that were found: a press opens the place. */
function found(results, query) {
  return [make("h2", "", "In the texts"), box("ul", "found", results.map((one) => {
    const link = box("a", "card", [
      box("b", "", [`${one.label.replace(/#\d+$/, "")} · ${pageAndSheet(one)}`]), box("span", "excerpt", marked(one.text, query)),
    ]);
    link.href = path("documents", ...one.id.split(":"));
    return box("li", "", [link]);
  }))];
}

let draw = () => {};

register("documents", (place, [id, n], again) => {
  wanted = id;
  document.querySelector("dialog.passage-dialog")?.close();
  if (n) openPassage(id, n);
  if (again) return draw();
  const plus = button("Add PDFs", () => choose(), "strong");
  const content = frame(place, "Documents", PURPOSE, [plus]);
  const rows = make("div");
  const passages = make("div");
  const find = searching(passages, (query) => search(query, ["documents"]), found);
  const input = searchField("Search names and texts", (query) => {
    draw();
    find(query);
  });
  let items = [];
  let chats = new Map();
  const apart = make("p", "soft", "Documents of one chat are searched in their chat.", { hidden: true });
  content.append(input, rows, passages, apart);

  function where({ session_id: session }) {
    if (!session) return "All chats";
    return make("a", "", chats.get(session) || "One chat", { href: path("c", session) });
  }

  draw = () => {
    plus.hidden = personalKey.get();
    content.previousSibling.textContent = plus.hidden ? IN_CHATS : PURPOSE;
    const words = input.value.trim().toLowerCase();
    const newer = new Set();
    const here = items.filter(({ id, state: is, filename, session_id: session }) => {
      const again = newer.has(`${session}\n${filename}`); // the newest come first
      newer.add(`${session}\n${filename}`);
      return !hidden.has(id) && !(is === "failed" && again);
    });
    here.sort((one, other) => (other.id === wanted) - (one.id === wanted));
    const shown = here.filter(({ filename, title }) => `${filename}\n${title ?? ""}`.toLowerCase().includes(words));
    input.hidden = !here.length;
    apart.hidden = !words || here.every((entry) => !entry.session_id);
    if (!here.length) return redraw(rows, nothing("Add a PDF and ask about it: answers come with the page they rest on.",
      plus.hidden ? button("New chat", () => go(path("c", freshSession())), "strong") : button("Choose PDFs", () => choose(), "strong")));
    if (!shown.length) return redraw(rows, make("p", "soft", "No name has these words."));
    return redraw(rows, table("Documents", ["Name", "Pages", "Size", "Added", "Where", ""], shown.map((entry) => () => [
      first(entry), entry.pages ? entry.pages.toLocaleString() : "", size(entry.size),
      when(entry.created_at), where(entry), acts(entry, draw),
    ])));
  };

  async function fetchAll() {
    try {
      items = await all("/api/documents");
      if (items.some(({ session_id: session }) => session && !chats.has(session))) {
        chats = new Map((await all("/api/sessions")).map((chat) => [chat.session_id, chat.title]));
      }
      follow(items);
      draw();
    } catch (error) {
      rows.replaceChildren(trouble(error, load));
    }
  }

  let loading = null;
  let stale = false; // something has changed since it was asked for
  /** Changes while the list is under way are asked for once, after it. */
  async function load() {
    stale = true;
    loading ??= (async () => {
      while (stale) {
        stale = false;
        await fetchAll();
      }
      loading = null;
    })();
    await loading;
  }

  function turn() {
    for (const each of rows.querySelectorAll(".live")) {
      const now = progressOf(each.dataset.id);
      if (now) each.replaceChildren(now);
    }
  }

  load();
  const ends = [on("documents", load), on("uploads", turn), on("settings", (name) => name === "key" && load())];
  return () => ends.forEach((end) => end());
});
