// Projects: what the model is told about each, and what it can search there.

import { MOST_TEXT, address, all, call, json, send } from "./api.js";
import { box, button, confirmed, count, dialog, make, toast } from "./dom.js";
import { area, fill, frame, line, nothing, some, table, trouble } from "./library.js";
import { newChat } from "./rail.js";
import { go, path, register } from "./router.js";
import { on, project as chosen, tell } from "./state.js";

const PURPOSE = "A project gives every answer its overview and rules, and lets chats search its code and its stored conversations. Dreams are accounts of dreams that were imported.";
const KNOWN = { THN: "Home network", DAAS: "Dreams" }; // what the service's own short names stand for
const FILE_MOST = 1 << 20;
const SECRET = /(^|\/)(id_(rsa|dsa|ecdsa|ed25519)|credentials[^/]*)$|\.(pem|key|p12|pfx|jks|keystore)$/i;
const FILES = 200; // of a request
const BYTES = 1_500_000;

const at = (name, ...rest) => ["/projects", encodeURIComponent(name), ...rest].join("/");

function use(name) {
  chosen.set(name);
  newChat();
}

const holds = ({ conversations, dreams, code, knowledge }) => [
  knowledge && "overview or rules", some(conversations, "conversation"), some(dreams, "dream"), some(code, "piece") && `${some(code, "piece")} of code`,
].filter(Boolean).join(" · ") || "nothing yet";

// --- the list ------------------------------------------------------------------------------------

function create() {
  return dialog("New project", (form, close) => {
    const [name, nameField] = line("Name", "", { required: true, maxLength: 200 });
    const [overview, overviewField] = area("What it is about", "", { required: true, maxLength: MOST_TEXT });
    fill(form, close, [nameField, overviewField], "Add", async () => {
      const known = await json(at(name.value.trim(), "knowledge")).catch(() => null);
      if (known) throw new Error("There is a project of this name already.");
      await send("PUT", at(name.value.trim(), "knowledge"), { overview: overview.value.trim() });
      tell("projects");
      go(path("projects", name.value.trim()));
    });
  });
}

function showAll(place) {
  const plus = () => button("New project", create, "strong");
  const content = frame(place, "Projects", PURPOSE, [plus()]);
  return async function load() {
    try {
      const items = await all("/projects");
      if (!items.length) return content.replaceChildren(nothing("Tell Ibid what a project is about once, and add its code: chats in the project know both.", plus()));
      content.replaceChildren(table("Projects", ["Project", "Holds", ""], items.map((one) => () => [
        box("div", "stack", [make("a", "", one.project, { href: path("projects", one.project) }), make("span", "soft", KNOWN[one.project])]),
        holds(one),
        box("div", "row end", [button("Use in chat", () => use(one.project), "pill", `Use in chat: ${one.project}`)]),
      ])));
    } catch (error) {
      content.replaceChildren(trouble(error, load));
    }
  };
}

// --- one project ---------------------------------------------------------------------------------

/** The overview, rules and notes, to be changed and saved. */
function knowledge(name, { overview, rules, notes }) {
  const form = make("form", "card");
  const [about, aboutField] = area("Overview", overview, { maxLength: MOST_TEXT }, "What the project is. The model reads it before every answer.");
  const [how, howField] = area("Rules", rules, { maxLength: MOST_TEXT, rows: 4 }, "How answers should be.");
  const list = make("div");
  const status = make("span", "soft");
  status.setAttribute("role", "status");
  const note = ({ title, text }) => {
    const head = make("input", "grow", "", { value: title, required: true, maxLength: 200, placeholder: "Title" });
    head.setAttribute("aria-label", "Title of the note");
    const body = make("textarea", "", "", { value: text, required: true, maxLength: 8000, rows: 3, placeholder: "Text" });
    body.setAttribute("aria-label", "Text of the note");
    const item = box("div", "note", [box("div", "row", [head, button("✕", () => item.remove(), "icon", `Remove the note ${title}`)]), body]);
    item.note = () => ({ title: head.value.trim(), text: body.value });
    list.append(item);
    return head;
  };
  notes.forEach(note);
  const save = make("button", "strong", "Save", { type: "submit" });
  form.append(aboutField, howField, make("h3", "", "Notes"), list, box("div", "row", [
    button("Add a note", () => note({ title: "", text: "" }).focus()), make("span", "grow"), status, save,
  ]));
  form.addEventListener("input", () => {
    status.textContent = "";
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await send("PUT", at(name, "knowledge"), { overview: about.value.trim(), rules: how.value.trim(), notes: [...list.children].map((item) => item.note()) });
      status.className = "soft";
      status.textContent = "Saved";
      tell("projects", name);
    } catch (error) {
      status.className = "bad";
      status.textContent = error.message;
    }
  });
  return form;
}

/** Why a file of a folder is left out; "" if it is not. */
function left(file, where) {
  if (where.split("/").some((part) => part.startsWith(".") || part === "node_modules" || part === "__pycache__")) return "hidden or made by a tool";
  if (SECRET.test(where)) return "may hold a secret, by its name";
  return file.size > FILE_MOST ? "larger than 1 MB" : "";
}

/** Sends the files of a folder; says how far it is, and what it leaves out. */
async function addFolder(name, chosenFiles, said, done) {
  const out = [];
  const status = make("p", "soft");
  status.setAttribute("role", "status");
  said.replaceChildren(status);
  const tally = { added: 0, changed: 0, unchanged: 0 };
  let files = [];
  let size = 0;
  let seen = 0;
  const flush = async () => {
    if (!files.length) return;
    const { items } = await send("PUT", at(name, "code", "files"), { files });
    for (const { path: where, outcome, note } of items) {
      tally[outcome] += 1;
      if (note) out.push([where, note]);
    }
    [files, size] = [[], 0];
  };
  try {
    for (const file of chosenFiles) {
      status.textContent = `Adding ${(seen += 1).toLocaleString()} of ${count(chosenFiles.length, "file")}…`;
      const where = file.webkitRelativePath.split("/").slice(1).join("/") || file.name;
      const why = left(file, where);
      const text = why ? "" : await file.text();
      if (why || text.includes("\0") || text.includes("\ufffd")) {
        out.push([where, why || "not a text"]);
        continue;
      }
      const more = new Blob([JSON.stringify(text)]).size;
      if (files.length === FILES || size + more > BYTES) await flush();
      files.push({ path: where, text });
      size += more;
    }
    await flush();
    status.textContent = `${count(tally.added, "file")} added, ${tally.changed} changed, ${tally.unchanged} as before.`;
  } catch (error) {
    status.replaceWith(trouble(error, () => addFolder(name, chosenFiles, said, done)));
  }
  if (out.length) {
    said.append(box("details", "", [
      make("summary", "", `${count(out.length, "file")} left out, or with a remark`),
      box("ul", "", out.slice(0, 500).map(([where, why]) => make("li", "", `${where}: ${why}`))),
    ]));
  }
  done();
}

function code(name) {
  const rows = make("div");
  const said = make("div");
  const load = async () => {
    try {
      const files = await all(at(name, "code", "files"), { limit: 1000 });
      rows.replaceChildren(files.length ? table("Code", ["File", "Pieces", ""], files.map(({ path: where, chunks }) => () => [
        where, chunks.toLocaleString(), box("div", "row end", [button("Delete", () => removeFile(where), "pill", `Delete ${where}`)]),
      ])) : make("p", "soft", "No files yet. Add a folder, and chats in this project can cite its code by line."));
    } catch (error) {
      rows.replaceChildren(trouble(error, load));
    }
  };
  const removeFile = async (where) => {
    try {
      await call(address(at(name, "code", "files"), { path: where }), { method: "DELETE" });
      tell("projects", name);
      load();
    } catch (error) {
      toast(error.message);
    }
  };
  const folder = make("input", "", "", { type: "file", webkitdirectory: true, hidden: true });
  folder.addEventListener("change", () => addFolder(name, [...folder.files], said, () => {
    tell("projects", name);
    load();
  }));
  load();
  const hint = box("p", "soft", ["For a repository, ", make("code", "", "ibid index code"), " also keeps to .gitignore and masks secrets in texts."]);
  return box("section", "", [box("div", "row", [make("h2", "grow", "Code"), folder, button("Add a folder", () => folder.click())]), hint, said, rows]);
}

async function removeAll(name, { conversations, dreams, code: pieces, knowledge: words }) {
  const parts = [words && "knowledge", pieces && "code", conversations && "conversations", dreams && "dreams"].filter(Boolean);
  if (!(await confirmed(`Delete ${name}: its ${parts.join(", ")}?`, "Delete"))) return;
  try {
    for (const part of parts) await call(at(name, part), { method: "DELETE" });
    if (chosen.get() === name) chosen.set("");
    go(path("projects"));
  } catch (error) {
    toast(error.message);
  }
  tell("projects");
}

function showOne(place, name) {
  const content = frame(place, name, KNOWN[name] ?? PURPOSE, [button("Use in chat", () => use(name), "strong")], ["projects", "Projects"]);
  const facts = make("p", "facts");
  const end = make("p", "row end");
  const count = async () => {
    const one = (await all("/projects")).find(({ project }) => project === name);
    facts.textContent = one ? `Holds ${holds(one)}` : "";
    end.replaceChildren(one ? button("Delete this project", () => removeAll(name, one), "bad") : "");
  };
  return async function load(what) {
    try {
      await count();
      if (what === name) return; // what was changed here is shown already
      const none = { overview: "", rules: "", notes: [] };
      const known = await json(at(name, "knowledge")).catch((error) => {
        if (error.status === 404) return none;
        throw error;
      });
      content.replaceChildren(facts, make("h2", "", "What the model is told"), knowledge(name, known), code(name), end);
    } catch (error) {
      content.replaceChildren(trouble(error, load));
    }
  };
}

let ends = [];

register("projects", (place, [name]) => {
  const load = name ? showOne(place, name) : showAll(place);
  ends.forEach((end) => end());
  ends = [on("projects", load), on("settings", (changed) => changed === "key" && load())];
  load();
  return () => ends.forEach((end) => end());
});
