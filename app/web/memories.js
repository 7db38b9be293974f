// What the reader has said and wants kept: found by meaning, added, corrected, deleted.

import { MOST_TEXT, address, json, send } from "./api.js";
import { finish, remove } from "./deletion.js";
import { box, button, dialog, make, toast, when } from "./dom.js";
import { area, fill, frame, line, nothing, redraw, search, searchField, searching, table, trouble } from "./library.js";
import { register } from "./router.js";
import { on, tell, user } from "./state.js";

const PURPOSE = "Answers take these into account when “Memories” is switched on; a persona, style or preference counts in every answer.";
const KINDS = ["note", "preference", "style", "persona"];
const COMPUTED = ["gravity_profile", "vb_desire_profile"]; // made by the service
const hidden = new Set();

const listed = (text) => [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];

/** A new memory, or another wording of one. */
function edit(memory = null) {
  return dialog(memory ? "Correct this memory" : "Add a memory", (form, close) => {
    const [text, textField] = area("What should be remembered", memory?.text, { required: true, maxLength: MOST_TEXT, autofocus: true });
    const [kind, kindField] = line("Kind", memory?.kind ?? "note", { required: true, pattern: "[A-Za-z0-9][A-Za-z0-9._:\\/\\-]{0,99}" }, "A preference, style or persona counts in every answer, a note where it fits the question. Or a word of yours.");
    const [tags, tagsField] = line("Tags", memory?.tags.join(", "), {}, "separated by commas");
    const kinds = box("datalist", "", KINDS.map((value) => make("option", "", "", { value })));
    kinds.id = "kinds";
    kind.setAttribute("list", "kinds");
    fill(form, close, [textField, kindField, tagsField, kinds], memory ? "Save" : "Add", async () => {
      const body = { text: text.value.trim(), kind: kind.value.trim(), tags: listed(tags.value) };
      if (memory) await correct(memory, body);
      else await add(body);
      tell("memories");
    });
  });
}

async function correct(memory, body) {
  const news = Object.fromEntries(Object.entries(body).filter(([name, value]) => String(value) !== String(memory[name])));
  try {
    if (Object.keys(news).length) await send("PATCH", `/memories/${encodeURIComponent(memory.id)}`, news);
  } catch (error) {
    if (error.body?.type?.endsWith(":same-text")) error.message = "You have another memory with these words already. Delete one of the two, or write other words.";
    throw error;
  }
}

async function add(body) {
  await finish();
  const { outcome } = await send("POST", "/memories", { ...body, user_id: user.get() });
  if (outcome === "repeated") toast("You have a memory with these words already.");
}

function row(memory, draw) {
  const { id, text, kind, tags, created_at: at } = memory;
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  const computed = COMPUTED.includes(kind);
  return [box("div", "said", [text]), computed ? "computed" : kind, tags.join(", "), when(at), box("div", "row end", [
    !computed && button("Correct", () => edit(memory), "pill", `Correct “${short}”`),
    button("Delete", () => remove({
      id, hidden, draw, text: "Deleted the memory.", address: `/memories/${encodeURIComponent(id)}`, deleted: () => tell("memories"),
    }), "pill", `Delete “${short}”`),
  ])];
}

register("memories", (place, _parts, there) => {
  if (there) return undefined; // the address is the same
  const plus = () => button("Add a memory", () => edit(), "strong");
  const first = plus();
  const content = frame(place, "Memories", PURPOSE, [first]);
  const rows = make("div");
  const hits = make("div");
  let items = [];
  let next = null;
  let found = [];
  const find = searching(hits, (query) => search(query, ["memories"], { user_id: user.get() }), async (results) => {
    // The search knows the words, the list of memories the kind, the tags and the day.
    const got = await Promise.all(results.map(({ id }) => json(`/memories/${encodeURIComponent(id)}`).catch(() => null)));
    found = results.map(({ id, text, title }, at) => got[at] ?? { id, text, kind: title, tags: [], foreign: true });
    return shown(found);
  });
  const input = searchField("Search memories", (query) => {
    rows.hidden = Boolean(query);
    find(query);
  });
  content.append(input, hits, rows);

  const shown = (list) => table("Memories", ["Memory", "Kind", "Tags", "Day", ""], list.filter(({ id }) => !hidden.has(id))
    .map((memory) => () => (memory.foreign ? [box("div", "said", [memory.text]), memory.kind, "", "", ""] : row(memory, draw))), Infinity);

  function draw() {
    const empty = !items.some(({ id }) => !hidden.has(id));
    input.hidden = empty && !input.value;
    first.hidden = empty; // it stands below
    redraw(rows, empty ? nothing("Keep what Ibid should know about you, such as how you like answers or what you work on.", plus())
      : shown(items), next && !empty ? button("Load older memories", more, "pill") : "");
    if (input.value) redraw(hits, shown(found));
  }

  const page = (query) => json(address("/memories", { user_id: user.get(), limit: 100, ...query }));

  async function more() {
    try {
      const got = await page({ cursor: next });
      items = items.concat(got.items);
      next = got.next;
      draw();
    } catch (error) {
      rows.append(trouble(error));
    }
  }

  async function load() {
    try {
      ({ items, next } = await page());
      draw();
      if (input.value) find(input.value.trim());
    } catch (error) {
      rows.replaceChildren(trouble(error, load));
    }
  }

  load();
  const ends = [on("memories", load), on("settings", (name) => ["user", "key"].includes(name) && load())];
  return () => ends.forEach((end) => end());
});
