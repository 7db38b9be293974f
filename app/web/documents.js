// All documents: found by name and in their texts, opened, asked about, removed.

import { all, blob, key } from "./api.js";
import { box, button, make, toast, when } from "./dom.js";
import { frame, marked, nothing, remove, search, searchField, searching, table, trouble } from "./library.js";
import * as panel from "./panel.js";
import { go, path, register } from "./router.js";
import { freshSession, on } from "./state.js";
import { again, choose, follow, state, why } from "./uploads.js";

const PURPOSE = "Answers quote these PDFs and name the page. Drop files anywhere in this window to add them.";
const hidden = new Set(); // removed, while it can be undone

/** The file in a tab of its own; a link cannot carry a key, so with one the file is fetched. */
async function openFile(id) {
  const file = `/api/documents/${id}/file`;
  if (!key()) return open(file, "_blank", "noopener");
  const tab = open("", "_blank");
  try {
    tab.location = await blob(file);
  } catch (error) {
    tab.close();
    toast(error.message);
  }
}

function ask({ filename, session_id: session }) {
  go(path("c", session ?? freshSession()));
  dispatchEvent(new CustomEvent("ibid:compose", { detail: { text: `About ${filename}: ` } }));
}

const size = (bytes) => (bytes ? `${(bytes / 1e6).toLocaleString([], { maximumFractionDigits: 1, minimumFractionDigits: 1 })} MB` : "");

function first({ id, filename, title, state: is, problem, warnings }) {
  const name = is === "ready" ? button(filename, () => openFile(id), "link", `Open ${filename}`) : make("b", "", filename);
  const told = is === "failed" ? make("span", "bad", `Could not be read. ${why(problem)}`)
    : is === "processing" ? (state(id) ?? make("span", "soft", "Being read…"))
    : warnings.length && make("span", "soft", `⚠ ${warnings.join(" ")}`);
  return box("div", "stack", [name, title && title !== filename && make("span", "soft", title), told]);
}

function acts(entry, draw) {
  const { id, filename, session_id: session, state: is } = entry;
  return box("div", "row end", [
    is === "ready" && button("Ask", () => ask(entry), "pill", `Ask about ${filename}`),
    is === "failed" && button("Try again", () => again(id, session ?? ""), "pill", `Add ${filename} again`),
    button("Remove", () => remove({
      id, hidden, draw, text: `Removed “${filename}”.`, address: `/api/documents/${id}`, changed: "documents",
    }), "pill", `Remove ${filename}`),
  ]);
}

/** Passages that were found: a press opens the place. */
function found(results, query) {
  const answer = { answer_id: null, session_id: "", citations: results, cited: [], spans: [], appended: false };
  return box("div", "", [make("h2", "", "In the texts"), box("ul", "found", results.map((one, at) => {
    const text = box("button", "card", [
      box("b", "", [one.label.replace(/#\d+$/, ""), one.page ? ` · page ${one.page_label ?? one.page}` : ""]),
      box("span", "excerpt", marked(one.text, query)),
    ]);
    text.type = "button";
    text.addEventListener("click", () => panel.open(answer, at + 1));
    return box("li", "", [text]);
  }))]);
}

register("documents", (place, _parts, shown) => {
  if (shown) return undefined; // the address is the same
  const content = frame(place, "Documents", PURPOSE, [button("Add PDFs", () => choose(), "strong")]);
  const rows = make("div");
  const passages = make("div");
  const find = searching(passages, (query) => search(query, ["documents"]), found);
  const input = searchField("Search names and texts", (query) => {
    draw();
    find(query);
  });
  let items = [];
  let chats = new Map();
  content.append(input, rows, passages);

  function where({ session_id: session }) {
    if (!session) return "All chats";
    return make("a", "", chats.get(session) || "One chat", { href: path("c", session) });
  }

  function draw() {
    const words = input.value.trim().toLowerCase();
    const here = items.filter(({ id }) => !hidden.has(id));
    const shown = here.filter(({ filename, title }) => `${filename}\n${title ?? ""}`.toLowerCase().includes(words));
    input.hidden = !here.length;
    if (!here.length) return rows.replaceChildren(nothing("Add a PDF and ask about it: answers come with the page they rest on.", button("Choose PDFs", () => choose(), "strong")));
    if (!shown.length) return rows.replaceChildren(make("p", "soft", "No name has these words."));
    rows.replaceChildren(table("Documents", ["Name", "Pages", "Size", "Added", "Where", ""], shown.map((entry) => () => [
      first(entry), entry.pages ? entry.pages.toLocaleString() : "", size(entry.size),
      when(entry.created_at), where(entry), acts(entry, draw),
    ])));
  }

  async function load() {
    try {
      items = await all("/api/documents");
      if (items.some((entry) => entry.session_id)) chats = new Map((await all("/api/sessions")).map((chat) => [chat.session_id, chat.title]));
      follow(items);
      draw();
    } catch (error) {
      rows.replaceChildren(trouble(error, load));
    }
  }

  load();
  const ends = [on("documents", load), on("uploads", () => items.some(({ state: is }) => is === "processing") && draw()), on("settings", (name) => name === "key" && load())];
  return () => ends.forEach((end) => end());
});
