// Settings: key, user, theme, the model, the state of the service, and a person's own data. The key is asked for here too.

import { address, all, call, json, key, setKey } from "./api.js";
import { box, button, count, dialog, field, make, toast, when } from "./dom.js";
import { register } from "./router.js";
import { chatModel, connectCard, copyable, modelNames, readiness } from "./service.js";
import { on, personalKey, tell, theme, user } from "./state.js";

const SLOW_MS = 500;
const NAMES = 3; // of files
const THEMES = [["", "System"], ["light", "Light"], ["dark", "Dark"]];
const PARTS = {
  postgres: ["Postgres", "keeps documents, memories and chats"],
  chat: ["Chat model", "writes the answers"],
  embedding: ["Embedding model", "finds passages by their meaning"],
  chroma: ["Chroma", "searches documents"],
  qdrant: ["Qdrant", "searches memories and reference texts"],
  cache: ["Cache", "is shared by all copies of the service"],
  limits: ["Limits", "are counted for each key"],
  memory_service: ["Memory service", "keeps votes and activity"],
  rerank: ["Reranker", "puts the best passages first"],
  moderation: ["Moderation", "looks at messages for Vantage"],
  answers: ["Record of answers", "keeps how each answer was made"],
};
const KEPT = {
  memories: "memory|memories", votes: "vote|votes", chat_log: "chat turn|chat turns", answers: "answer|answers",
  activity: "note of activity|notes of activity", vantage_traces: "Vantage trace|Vantage traces",
  vantage_cards: "card|cards", vantage_facts: "fact|facts", conversations: "conversation|conversations",
  code: "piece of code|pieces of code", documents: "document|documents", history: "entry of the history|entries of the history",
};

function section(title, children) {
  return box("section", "setting", [make("h2", "", title), box("div", "", children)]);
}

// --- the key -----------------------------------------------------------------------------------

/** What the service says to a key: "" if it is good for this user, "user" if it is another user's, else a sentence.
 *  Without a name: "user" if it is one user's. */
async function refusal(text, name = "") {
  const response = await fetch(address("/memories", { limit: 1, user_id: name }), { headers: { Authorization: `Bearer ${text}` } }).catch(() => null);
  if (!response) return "The service cannot be reached just now. Please try again.";
  if (response.status === 401) return "The service does not know this key. Was it copied whole? It may also have been revoked.";
  return response.status === 403 || (response.ok && !name) ? "user" : "";
}

function askForKey() {
  return dialog("A key, please", (form, close) => {
    const input = make("input", "", "", { type: "password", required: true, autocomplete: "off" });
    const name = make("input", "", "", { autocomplete: "off" });
    const whose = field("Name of the user", name, "This key belongs to one user: the name with which it was made.");
    whose.hidden = true;
    const wrong = make("p", "bad");
    wrong.setAttribute("role", "alert");
    form.append(
      make("p", "soft", "This service is for people with a key. Whoever runs it can make one for you. It stays in this tab and is"
        + " forgotten when the tab is closed."),
      field("Key", input), whose, wrong,
      box("div", "row end", [button("Not now", () => close(false)), Object.assign(make("button", "strong", "Use this key"), { type: "submit" })]),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const given = input.value.trim();
      const kind = await refusal(given);
      const personal = kind === "user";
      const who = whose.hidden ? user.get() : name.value.trim();
      const said = personal ? await refusal(given, who) : kind;
      wrong.textContent = "";
      if (said === "user" && whose.hidden) {
        whose.hidden = false;
        name.required = true;
        name.focus();
        return;
      }
      wrong.textContent = said === "user" ? `The key is not ${who}'s.` : said;
      if (said) return;
      setKey(given);
      personalKey.set(personal);
      if (personal && who !== user.get()) user.set(who);
      close(true);
      tell("settings", "key");
    });
  });
}

let asking = false;
let declined = false; // until the next click or key: a view that asks again and again must not
addEventListener("ibid:key", async () => {
  if (asking || declined || document.querySelector("dialog[open]")) return;
  asking = true;
  declined = !(await askForKey());
  asking = false;
});
for (const kind of ["click", "keydown"]) addEventListener(kind, () => (declined = false), true);

function keySection() {
  const place = make("div");
  const show = () => {
    const enter = button(key() ? "Change" : "Enter a key", askForKey);
    const forget = key() && button("Forget it", () => {
      setKey("");
      personalKey.set(false);
      tell("settings", "key");
    });
    place.replaceChildren(
      make("p", "", key() ? "A key is in use in this tab." : "No key is in use. A service without keys is open to its own machine alone."),
      box("div", "row", [enter, forget]),
    );
  };
  show();
  return { shown: section("Key", [place]), show };
}

// --- look and person ---------------------------------------------------------------------------

function themeSection() {
  const choices = THEMES.map(([value, text]) => {
    const one = button(text, () => {
      theme.set(value);
      document.documentElement.dataset.theme = value;
      press();
    }, "pill");
    one.value = value;
    return one;
  });
  const press = () => choices.forEach((one) => one.setAttribute("aria-pressed", String(one.value === theme.get())));
  press();
  const group = box("div", "row", choices);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Theme");
  return section("Theme", [group]);
}

function userSection() {
  const input = make("input", "", "", { value: user.get(), maxLength: 200, autocomplete: "off" });
  input.addEventListener("change", () => {
    user.set(input.value.trim() || "me");
    input.value = user.get();
    toast(`Memories of “${user.get()}” are read and kept from now on.`);
  });
  return section("You", [field("Name", input, "Memories and files are kept under this name.")]);
}

// --- the service -------------------------------------------------------------------------------

function modelSection(found, names) {
  const { ok, quotes, name } = chatModel(found);
  return section("Model", [
    quotes ? connectCard(true) : make("p", ok ? "" : "bad", ok ? `${name} writes the answers.` : "The chat model does not answer just now."),
    names.length && make("p", "soft", `Other programs reach Ibid by OpenAI's protocol at ${location.origin}/v1, as ${names.join(", ")}.`),
  ]);
}

/** "works", "is slow" or "is down", and why. */
function condition({ ok, ms, reason, needed, facts }) {
  if (ok && facts.model === "extractive") return ["good", "none is connected: answers are quotes"];
  if (ok) return ms > SLOW_MS ? ["slow", `slow (${ms} ms)`] : ["good", `works (${ms} ms)`];
  return ["bad", `${reason === "timeout" ? "does not answer" : `is down (${(reason ?? "no reason").replaceAll("-", " ")})`}${needed ? "; answers need it" : ""}`];
}

function part(check) {
  const [name, does] = PARTS[check.name] ?? [check.name, ""];
  const [kind, said] = condition(check);
  const { version, model } = check.facts;
  const about = model && model !== "extractive" ? model : version ?? "";
  return box("li", "", [
    make("span", `dot ${kind}`, "", { ariaHidden: "true" }),
    box("span", "grow", [make("strong", "", name), make("span", "soft", ` ${does}${about ? ` · ${about}` : ""}`)]),
    make("span", kind === "bad" ? "bad" : "soft", said),
  ]);
}

function serviceSection(found, version, again) {
  const docs = make("a", "", "Reference of the API", { href: "/docs" });
  const list = found ? box("ul", "checks", found.checks.map(part)) : make("p", "bad", "The service cannot be reached.");
  return section("This service", [
    list, box("div", "row", [button("Look again", again), docs, make("span", "soft", version && `Ibid ${version}`)]),
  ]);
}

function keysSection() {
  return section("Keys for others", [
    make("p", "soft", "Keys are made on the machine where Ibid runs. The first one closes the service to everybody without a key."),
    copyable("ibid keys create --tenant NAME"),
    copyable("ibid keys create --tenant NAME --user USER"),
    copyable("ibid keys list"),
  ]);
}

// --- my data -----------------------------------------------------------------------------------

const mine = (rest = "") => `/users/${encodeURIComponent(user.get())}${rest}`;

async function save(event) {
  const pressed = event.currentTarget;
  pressed.disabled = true;
  try {
    const file = make("a", "", "", { href: URL.createObjectURL(await (await call(mine("/export"))).blob()), download: "ibid-export.json" });
    file.click();
    URL.revokeObjectURL(file.href);
  } catch (error) {
    toast(error.message);
  }
  pressed.disabled = false;
}

const listed = (counts) => Object.entries(counts).filter(([, number]) => number).map(([name, number]) => {
  const [one, many] = (KEPT[name] ?? `${name}|${name}`).split("|");
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
});

/** The receipt of an erasure, in sentences. */
function receipt({ user_id: name, erased_at: at, counts, files, engines, cached_until: cached, notes }) {
  const gone = listed(counts);
  return [
    gone.length ? `Erased at ${when(at)}: ${gone.join(", ")}.` : `Nothing was kept about “${name}”.`,
    files.compacted ? "No file of the service has any of it any more."
      : files.by ? `No search finds any of it. The files are rewritten by ${when(files.by)}.` : "No search finds any of it.",
    files.pending.length && `Numbers without text stay longer in: ${files.pending.join(", ")}.`,
    files.external.length && `These servers have files of their own, which Ibid cannot rewrite: ${files.external.join(", ")}.`,
    engines.length && `Still to delete their entries, which nobody is shown: ${engines.join(", ")}.`,
    cached && `The shared cache forgets the last of it by ${when(cached)}.`,
    ...notes,
  ].filter(Boolean);
}

/** What all share and is still there, as a sentence. */
async function staying() {
  const [documents, texts] = await Promise.all([json("/api/documents?limit=1"), json("/corpus")]).then(
    ([one, two]) => [one.total, two.items.length], () => [0, 0]);
  const parts = [documents && count(documents, "document"), texts && `${count(texts, "collection")} of reference texts`];
  const said = parts.filter(Boolean).join(" and ");
  return said && `There stay, as not yours alone: ${said}. Their own views can remove them.`;
}

/** The documents that belong to nobody: no erasure takes them. A key of one user may not see whose they are. */
const ownerless = async () => (personalKey.get() ? [] : (await all("/api/documents").catch(() => [])).filter(({ user_id: whose }) => !whose));

/** What belongs to nobody, and the choice to delete it too. */
function ownerlessChoice(found) {
  const also = make("input", "", "", { type: "checkbox" });
  const names = found.slice(0, NAMES).map(({ filename }) => filename).join(", ");
  const more = found.length > NAMES ? ` and ${(found.length - NAMES).toLocaleString()} more` : "";
  const one = found.length === 1;
  return [also, box("div", "", [
    make("p", "", `${count(found.length, "document")} ${one ? "belongs" : "belong"} to nobody: ${names}${more}. ${one ? "It was" : "They were"} added without`
      + ` a name, so an erasure leaves ${one ? "it" : "them"}.`),
    box("label", "row", [also, make("span", "", `Delete ${one ? "it" : "them"} too, for everybody`)]),
  ])];
}

/** Deletes documents one after another; a sentence about how that went. */
async function deleteAll(found) {
  let left = 0;
  for (const { id } of found) {
    await call(`/api/documents/${id}`, { method: "DELETE" }).catch(({ status }) => (left += status !== 404));
  }
  return left ? `${count(left, "document")} that belong to nobody could not be deleted. The view of documents can try again.`
    : `Deleted ${count(found.length, "document")} that belonged to nobody.`;
}

async function erase() {
  const name = user.get();
  const found = await ownerless();
  const [also, choice] = found.length ? ownerlessChoice(found) : [];
  const sure = await dialog(`Erase everything about “${name}”?`, (form, close) => {
    const typed = make("input", "", "", { autocomplete: "off", autofocus: true });
    const yes = button("Erase everything", () => close(true), "strong danger");
    yes.disabled = true;
    typed.addEventListener("input", () => (yes.disabled = typed.value !== name));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.append(
      make("p", "", "Memories, chats, answers, votes, and the documents that were added under this name alone are deleted. Nobody can bring"
        + " them back."),
      make("p", "soft", "What all share stays: reference texts, projects, and documents that others added."),
      ...(choice ? [choice] : []),
      field(`Type ${name} to confirm`, typed), box("div", "row end", [button("Cancel", () => close(false)), yes]),
    );
  });
  if (!sure) return;
  try {
    const lines = receipt(await json(mine(), { method: "DELETE" }));
    if (also?.checked) lines.push(await deleteAll(found));
    const stays = await staying();
    if (stays) lines.push(stays);
    for (const changed of ["documents", "memories", "sessions", "projects"]) tell(changed);
    await dialog("What was erased", (form, close) => form.append(
      ...lines.map((line) => make("p", "", line)), box("div", "row end", [button("Close", () => close(), "strong")])));
  } catch (error) {
    toast(error.message);
  }
}

function dataSection() {
  return section("Your data", [
    make("p", "soft", "Everything that is kept under your name, as one file; or nothing of it any more."),
    box("div", "row", [button("Export my data", save), button("Erase everything…", erase, "bad")]),
  ]);
}

register("settings", (place, [wanted], again) => {
  const reach = () => wanted === "model" && place.querySelector(".model")?.scrollIntoView();
  if (again) return reach();
  const { shown: keys, show: showKey } = keySection();
  const model = make("div", "model");
  const service = make("div");
  async function look() {
    const [found, version, names] = await Promise.all([
      readiness(), json("/healthz").then(({ version }) => version, () => ""), modelNames().catch(() => []),
    ]);
    model.replaceChildren(modelSection(found, names));
    service.replaceChildren(serviceSection(found, version, look));
  }
  const person = make("div");
  const showPerson = () => person.replaceChildren(userSection());
  showPerson();
  place.append(box("div", "page", [
    make("h1", "", "Settings"), themeSection(), person, keys, model, service, dataSection(), keysSection(),
  ]));
  look().then(reach);
  return on("settings", (name) => {
    if (name !== "key") return;
    showKey();
    showPerson();
    look();
  });
});
