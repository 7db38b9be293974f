// The rail: new chat, the library with its counts, the chats by day, and at the foot model and settings.

import { address, all, json, send, total } from "./api.js";
import { remove } from "./deletion.js";
import { $, box, button, dialog, field, make, menu, toast } from "./dom.js";
import { drop, unfinished } from "./exchange.js";
import { chatModel, modelNames, readiness } from "./service.js";
import { freshSession, on, tell, user } from "./state.js";
import { go, parts, path } from "./router.js";

const LIBRARY = [["documents", "Documents"], ["memories", "Memories"], ["projects", "Projects"], ["texts", "Reference texts"]];
const CHATS = 100; // shown at once
const PHONE = matchMedia("(max-width: 699px)"); // there the rail is behind a button
const numbers = {}; // the places of the counts
let chats = [];
let listed = []; // those that the service knows
const begun = new Map(); // chats that the service lists once their first answer has ended
let reach = CHATS; // chats that the reader has asked for
let more = false; // there are older ones
const gone = new Set(); // deleted, while it can be undone

export function newChat() {
  go(path("c", freshSession()));
  shut();
  dispatchEvent(new CustomEvent("ibid:compose"));
}

/** Opens or closes the rail on a phone. What is closed there can be reached by no key; elsewhere it is always there. */
function disclose(open) {
  const rail = $("rail");
  const was = rail.classList.contains("open");
  rail.classList.toggle("open", open);
  rail.inert = PHONE.matches && !open;
  $("open-rail").setAttribute("aria-expanded", String(open));
  if (open) rail.querySelector("a, button").focus();
  else if (was && (document.activeElement === document.body || rail.contains(document.activeElement))) $("open-rail").focus();
}

const shut = () => disclose(false);

function link(hash, text, aside = "") {
  const made = box("a", "", [make("span", "", text), aside]);
  made.href = hash;
  return box("li", "", [made]);
}

function library() {
  const list = make("ul");
  for (const [name, text] of LIBRARY) {
    numbers[name] = make("span", "number");
    list.append(link(path(name), text, numbers[name]));
  }
  return list;
}

/** Counts of the library; a list that cannot be had shows none. */
async function countLibrary(name) {
  const found = {
    documents: () => total("/api/documents", { limit: 1 }),
    memories: () => total("/memories", { user_id: user.get(), limit: 1 }),
    projects: () => total("/projects"),
    texts: () => total("/corpus"),
  }[name];
  try {
    numbers[name].textContent = (await found()) || "";
  } catch {
    numbers[name].textContent = "";
  }
}

function day(moment) {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const age = (midnight - new Date(moment)) / 86_400_000;
  if (age <= 0) return "Today";
  if (age <= 1) return "Yesterday";
  if (age <= 7) return "Last week";
  return new Date(moment).toLocaleDateString([], { month: "long", year: "numeric" });
}

function chat({ session_id: id, title, state }) {
  const item = link(path("c", id), title || "New chat", state && make("span", "number", "interrupted"));
  item.firstChild.title = title || "";
  const more = button("⋯", () => menu(more, state ? [{ text: "Remove", act: () => forgetChat(id), danger: true }] : [
    { text: "Rename", act: () => rename(id, title) },
    { text: "Export", act: () => exportChat(id, title) },
    { text: "Delete", act: () => removeChat(id, title), danger: true },
  ]), "icon", `More for ${title || "this chat"}`);
  more.setAttribute("aria-haspopup", "menu");
  item.append(more);
  return item;
}

const nameOf = (one) => one.getAttribute("href") ?? one.getAttribute("aria-label");

/** What had the focus has it again, or what is in its place. */
function showChats() {
  const place = $("rail").querySelector(".chats");
  const all = () => [...place.querySelectorAll("a, button")];
  const at = all().indexOf(document.activeElement);
  const focused = at >= 0 && nameOf(document.activeElement);
  place.replaceChildren();
  let last = "";
  let list;
  for (const entry of chats) {
    if (gone.has(entry.session_id)) continue;
    const now = day(entry.last_active_at);
    if (now !== last) {
      list = make("ul");
      place.append(make("h2", "caps", now), list);
      last = now;
    }
    list.append(chat(entry));
  }
  if (more) place.append(button("Show more", showOlder, "quiet"));
  if (focused) (all().find((one) => nameOf(one) === focused) ?? all().at(Math.min(at, all().length - 1)) ?? $("rail").querySelector(".new")).focus();
  current();
}

async function showOlder() {
  const shown = $("rail").querySelectorAll(".chats a").length;
  reach += CHATS;
  await listChats();
  $("rail").querySelectorAll(".chats a")[shown]?.focus();
}

/** Sessions in which something was asked, the newest first, and whether there are more than `most`. */
async function asked(most) {
  const found = [];
  let cursor;
  do {
    const page = await json(address("/api/sessions", { limit: CHATS, cursor }));
    found.push(...page.items.filter(({ turns }) => turns));
    cursor = page.next;
  } while (cursor && found.length < most);
  return [found, Boolean(cursor)];
}

/** `news`: the chat whose first answer is being written, or the id of one in which an answer has ended. */
async function listChats(news) {
  if (news?.session_id) begun.set(news.session_id, news);
  else if (news) begun.delete(news);
  try {
    [listed, more] = await asked(reach);
  } catch {
    // without them the rest of the page still works; what is wrong is said where one asks
  }
  const known = new Set(listed.map(({ session_id: id }) => id));
  const left = unfinished().map(([id, { question, state, at }]) => ({ session_id: id, title: question, state, last_active_at: at ?? new Date() }));
  const here = new Map([...left, ...begun.values()].map((entry) => [entry.session_id, entry]));
  chats = [...[...here.values()].filter(({ session_id: id }) => !known.has(id)), ...listed];
  showChats();
}

/** A chat of which the service has nothing. */
function forgetChat(id) {
  if (parts()[1] === id) newChat();
  drop(id);
  tell("dropped", id);
  listChats();
}

async function rename(id, title) {
  const name = await dialog("Rename this chat", (form, close) => {
    const input = make("input", "", "", { value: title, maxLength: 200, required: true });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      close(input.value.trim());
    });
    form.append(field("Title", input), box("div", "row end", [
      button("Cancel", () => close()), Object.assign(make("button", "strong", "Rename"), { type: "submit" }),
    ]));
  });
  if (!name) return;
  try {
    await send("PATCH", `/api/sessions/${encodeURIComponent(id)}`, { title: name });
    await listChats();
    tell("sessions", id);
  } catch (error) {
    toast(error.message);
  }
}

/** The chat as a Markdown file. */
async function exportChat(id, title) {
  try {
    const turns = await all(`/api/sessions/${encodeURIComponent(id)}/turns`);
    const text = turns.map(({ role, content }) => (role === "user" ? `## ${content}` : content)).join("\n\n");
    const file = make("a", "", "", { href: URL.createObjectURL(new Blob([`# ${title}\n\n${text}\n`], { type: "text/markdown" })) });
    file.download = `${title.replace(/[^\p{L}\p{N} ._-]+/gu, " ").trim().slice(0, 80) || "chat"}.md`;
    file.click();
    URL.revokeObjectURL(file.href);
  } catch (error) {
    toast(error.message);
  }
}

function removeChat(id, title) {
  const open = parts()[1] === id;
  remove({
    id, hidden: gone, draw: showChats, undone: () => open && go(path("c", id)), text: `Deleted “${title || "this chat"}”.`, address: `/api/sessions/${encodeURIComponent(id)}`,
    deleted() {
      drop(id);
      listed = listed.filter((entry) => entry.session_id !== id);
      chats = chats.filter((entry) => entry.session_id !== id);
      gone.delete(id);
      tell("documents");
    },
  });
  if (open) newChat();
}

/** On a phone the head has the title of the chat; a press shows all of a long one. */
function showTitle() {
  const [view, id] = parts();
  const title = view === "c" && chats.find(({ session_id: each }) => each === id)?.title;
  const place = $("bar-title");
  if (!title) return place.replaceChildren("ibid", make("span", "", ".", { ariaHidden: "true" }));
  if (place.textContent === title) return undefined;
  const all = button("", () => all.setAttribute("aria-expanded", String(all.ariaExpanded !== "true")));
  all.setAttribute("aria-expanded", "false");
  all.append(make("span", "", title));
  return place.replaceChildren(all);
}

function current() {
  showTitle();
  const here = location.hash.split("/").slice(0, 3).join("/");
  for (const one of $("rail").querySelectorAll("li > a")) {
    if (one.getAttribute("href") === here) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
}

/** The model that answers, Vantage where it is on, and the settings. */
function foot() {
  const model = make("span", "number");
  const vantage = link(path("vantage"), "Vantage");
  vantage.hidden = true;
  async function look() {
    const [{ ok, quotes, name }, names] = await Promise.all([readiness().then(chatModel), modelNames().catch(() => [])]);
    model.textContent = quotes ? "quotes only · connect" : ok ? name : "does not answer";
    vantage.hidden = !names.includes("ibid/vantage");
  }
  look();
  on("settings", (name) => name === "key" && look());
  const models = link(path("settings", "model"), "Model", model);
  models.classList.add("model");
  return box("div", "foot", [make("h2", "caps", "This service"), box("ul", "", [models, vantage, link(path("settings"), "Settings")])]);
}

export function setUp() {
  const brand = box("a", "brand", ["ibid", make("span", "", ".")]);
  brand.href = "#/";
  const begin = button("", newChat, "new");
  begin.append("+ New chat");
  const find = button("", () => {
    shut();
    dispatchEvent(new CustomEvent("ibid:find"));
  }, "quiet find");
  find.append(make("span", "", "Search"), make("kbd", "", navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K"));
  $("rail").append(brand, begin, find, make("h2", "caps", "Library"), library(), make("div", "chats"), foot());
  $("open-rail").addEventListener("click", () => disclose(!$("rail").classList.contains("open")));
  $("rail").addEventListener("focusout", ({ relatedTarget: next }) => next?.closest("#main, #panel") && shut());
  PHONE.addEventListener("change", shut);
  shut();
  $("bar-new").addEventListener("click", newChat);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("#rail, #open-rail") || event.target.closest("#rail a")) shut();
  });
  addEventListener("keydown", (event) => event.key === "Escape" && shut());
  addEventListener("ibid:address", current);
  for (const [name] of LIBRARY) {
    on(name, () => countLibrary(name));
    countLibrary(name);
  }
  on("sessions", listChats);
  on("settings", (name) => {
    if (name === "user") countLibrary("memories");
    if (name !== "key") return;
    for (const [each] of LIBRARY) countLibrary(each);
    listChats();
  });
  listChats();
}
