// Reference texts: collections that all readers of this service can ask, and the texts in them.

import { MOST_TEXT, address, call, json, send } from "./api.js";
import { finish, remove } from "./deletion.js";
import { box, button, confirmed, count, dialog, field, make, toast, when } from "./dom.js";
import { area, fill, frame, line, nothing, redraw, search, searchField, searching, table, trouble } from "./library.js";
import { go, path, register } from "./router.js";
import { on, tell } from "./state.js";

const PURPOSE = "Texts that are not PDFs: articles, guidelines, minutes. Answers cite them by title.";
const ENTRIES = 200; // of a request
const BYTES = 1_500_000;
const SIGNS = "3 to 100 letters from a to z, digits, “.”, “_” or “-”; a space becomes “-”";
const hidden = new Set();

const slug = (name) => name.trim().replace(/\s+/g, "-");

const at = (collection, id) => ["/corpus", collection, id].filter(Boolean).map((part, n) => (n ? encodeURIComponent(part) : part)).join("/");

/** A long text in parts that end where a paragraph, a line or a word ends. */
function cut(text) {
  const parts = [];
  let rest = text.trim();
  while (rest.length > MOST_TEXT) {
    const head = rest.slice(0, MOST_TEXT);
    const end = [head.lastIndexOf("\n\n"), head.lastIndexOf("\n"), head.lastIndexOf(" ")].find((index) => index > MOST_TEXT / 2) ?? MOST_TEXT;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).trim();
  }
  return rest ? [...parts, rest] : parts;
}

const named = (text, title) => cut(text).map((part, n, all) => ({ text: part, title: (all.length > 1 ? `${title} (${n + 1} of ${all.length})` : title).slice(0, 500) }));

/** The texts of a file: one of .txt and .md, one a line of .jsonl. */
async function texts(file) {
  const content = await file.text();
  if (content.includes("\0")) throw new Error(`${file.name} is not a text file.`);
  if (!/\.jsonl$/i.test(file.name)) return named(content, file.name.replace(/\.(txt|md)$/i, ""));
  return content.split("\n").filter((one) => one.trim()).map((one, n) => {
    try {
      return JSON.parse(one);
    } catch {
      throw new Error(`Line ${n + 1} of ${file.name} is not JSON.`);
    }
  });
}

/** In requests that the service takes. */
async function keep(collection, all) {
  if (!all.length) throw new Error("There is no text in it.");
  let some = [];
  let size = 0;
  const flush = () => send("POST", at(collection), { texts: some });
  for (const one of all) {
    const more = new Blob([JSON.stringify(one)]).size;
    if (some.length && (some.length === ENTRIES || size + more > BYTES)) {
      await flush();
      [some, size] = [[], 0];
    }
    some.push(one);
    size += more;
  }
  await flush();
}

function add(collection = "", text = null) {
  return dialog(text ? "Correct this text" : "Add texts", (form, close) => {
    const [name, nameField] = line("Collection", collection, { required: true, pattern: " *[A-Za-z0-9][A-Za-z0-9._ \\-]{2,99}", placeholder: "house-rules", title: SIGNS }, SIGNS);
    const [title, titleField] = line("Title", text?.title, { maxLength: 500 });
    const [body, bodyField] = area("Text", text?.text, { rows: 9, ...(text && { maxLength: MOST_TEXT, required: true }) });
    const files = make("input", "", "", { type: "file", multiple: true, accept: ".txt,.md,.jsonl" });
    const parts = [!collection && nameField, titleField, bodyField, !text && field("Or files", files, ".txt, .md, or .jsonl with {title, text} on each line")];
    fill(form, close, parts.filter(Boolean), text ? "Save" : "Add", async () => {
      await finish();
      if (text) await send("POST", at(collection), { texts: [{ id: text.id, metadata: text.metadata, title: title.value.trim(), text: body.value.trim() }] });
      else await keep(slug(name.value), [...named(body.value, title.value.trim()), ...(await Promise.all([...files.files].map(texts))).flat()]);
      tell("texts");
      if (!collection) go(path("texts", slug(name.value)));
    });
  });
}

function showCollections(place) {
  const plus = () => button("Add texts", () => add(), "strong");
  const content = frame(place, "Reference texts", PURPOSE, [plus()]);
  return async () => {
    try {
      const { items } = await json("/corpus");
      if (!items.length) return content.replaceChildren(nothing("Paste a text or add text files, and answers can cite them.", plus()));
      content.replaceChildren(table("Collections", ["Collection", "Texts", "Changed", ""], items.map((one) => () => [
        make("a", "", one.collection, { href: path("texts", one.collection) }), one.texts.toLocaleString(), when(one.updated_at),
        box("div", "row end", [button("Delete", () => removeAll(one), "pill", `Delete ${one.collection}`)]),
      ])));
    } catch (error) {
      content.replaceChildren(trouble(error));
    }
  };
}

async function removeAll({ collection, texts: number }) {
  if (!(await confirmed(`Delete “${collection}” with ${count(number, "text")}?`, "Delete"))) return;
  try {
    await call(at(collection), { method: "DELETE" });
    tell("texts");
  } catch (error) {
    toast(error.message);
  }
}

function showTexts(place, collection) {
  const content = frame(place, collection, PURPOSE, [button("Add texts", () => add(collection), "strong")], ["texts", "Reference texts"]);
  const rows = make("div");
  const hits = make("div");
  let items = [];
  let next = null;
  let found = [];
  const shown = (list) => table("Texts", ["Title", "Text", "Added", ""], list.filter(({ id }) => !hidden.has(`${collection}/${id}`)).map((text) => () => row(text)), Infinity);
  const find = searching(hits, (query) => search(query, ["corpus"], { filter: { collections: [collection] } }), (results) => {
    found = results;
    return shown(found);
  });
  const input = searchField("Search these texts", (query) => {
    rows.hidden = Boolean(query);
    find(query);
  });
  content.append(input, hits, rows);

  function row(text) {
    const name = text.title || text.id;
    return [name, box("div", "excerpt", [text.text]), text.created_at ? when(text.created_at) : "", box("div", "row end", [
      button("Correct", () => add(collection, text), "pill", `Correct ${name}`),
      button("Delete", () => remove({
        id: `${collection}/${text.id}`, hidden, draw, text: `Deleted “${name}”.`, address: at(collection, text.id), deleted: () => tell("texts"),
      }), "pill", `Delete ${name}`),
    ])];
  }

  function draw() {
    redraw(rows, shown(items), next ? button("Load more texts", () => load(next), "pill") : "");
    if (input.value) redraw(hits, shown(found));
  }

  return async function load(cursor) {
    try {
      const page = await json(address(at(collection), { limit: 100, cursor }));
      items = cursor ? items.concat(page.items) : page.items;
      next = page.next;
      draw();
      if (input.value && !cursor) find(input.value.trim());
    } catch (error) {
      rows.replaceChildren(error.status === 404 ? nothing("This collection is empty.", button("Add texts", () => add(collection), "strong")) : trouble(error));
    }
  };
}

let ends = [];

register("texts", (place, [collection]) => {
  const load = collection ? showTexts(place, collection) : showCollections(place);
  ends.forEach((end) => end());
  ends = [on("texts", () => load()), on("settings", (name) => name === "key" && load())];
  load();
  return () => ends.forEach((end) => end());
});
