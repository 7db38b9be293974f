// The empty chat: what can be done here, a sample to try it with, and how a chat model is connected.

import { address, call, json } from "./api.js";
import { box, button, count, make, toast } from "./dom.js";
import { chatModel, connectCard, readiness } from "./service.js";
import { parts } from "./router.js";
import { on, personalKey } from "./state.js";
import { choose, upload } from "./uploads.js";

const SAMPLE = "Lighthouse of Skarholm.pdf";
const QUESTIONS = [
  "How many steps lead up to the lantern room?",
  "When was the light automated, and why?",
  "How long does the ferry take?",
];

/** A button that opens the choice of files. Files that are dropped are taken by the whole window. */
function dropArea(small) {
  const area = button("", () => choose(parts()[1]), small ? "drop small" : "drop");
  const mouse = matchMedia("(pointer: fine)").matches;
  area.append(make("strong", "", mouse ? "Drop PDFs here" : "Add PDFs"),
    make("span", "soft", `${mouse ? "or choose files. " : ""}${personalKey.get() ? "They are for this chat alone." : "They are kept by this service."}`));
  return area;
}

async function trySample(event) {
  const pressed = event.currentTarget;
  pressed.disabled = true;
  try {
    upload([new File([await (await call("/web/sample.pdf")).blob()], SAMPLE, { type: "application/pdf" })], parts()[1]);
  } catch (error) {
    toast(error.message);
    pressed.disabled = false;
  }
}

function sampleOffer() {
  return box("p", "sample", [
    make("span", "soft", "Nothing at hand?"),
    button("Try with a sample", trySample, "pill"),
    make("span", "soft", "four pages about a lighthouse"),
  ]);
}

function examples(ask) {
  return box("div", "examples", [
    make("p", "soft", "Ask the sample:"),
    ...QUESTIONS.map((question) => button(question, () => ask(question), "quiet")),
  ]);
}

function heading(documents, total) {
  if (!total) return ["What would you like to know?", "Ask anything. Answers name the page they come from."];
  const reading = documents.filter(({ state }) => state === "processing").length;
  const names = documents.slice(0, 3).map(({ filename }) => filename).join(", ");
  return [
    `Ask about ${count(total, "document")}`,
    `${names}${total > 3 ? ` and ${total - 3} more` : ""}${reading ? ` · ${reading} still being read` : ""}`,
  ];
}

/** Fills the empty chat. `ask(question)` asks a question as if it had been typed. */
export function fill(place, ask) {
  const view = make("div", "welcome");
  const head = make("div");
  const body = make("div");
  const model = make("div");
  view.append(head, body, model);
  place.append(view);

  let shown = ""; // what stands there: it is only made anew when that changes
  async function look() {
    if (!view.isConnected) return;
    const found = await json(address("/api/documents", { session_id: parts()[1], limit: 50 })).catch(() => null);
    if (!found) return;
    const documents = found.items.filter(({ state }) => state !== "failed");
    const [title, line] = heading(documents, Math.max(documents.length, found.total));
    const sample = documents.find(({ filename }) => filename === SAMPLE);
    const now = JSON.stringify([title, line, sample?.state]);
    if (now === shown) return;
    shown = now;
    head.replaceChildren(make("h2", "", title), make("p", "soft", line));
    body.replaceChildren(...[
      dropArea(documents.length > 0),
      sample?.state === "ready" && examples(ask),
      !documents.length && sampleOffer(),
    ].filter(Boolean));
  }
  const ends = [on("documents", look), on("uploads", look), on("settings", (name) => name === "key" && look())];
  new MutationObserver((_, observer) => {
    if (view.isConnected) return;
    observer.disconnect();
    for (const end of ends) end();
  }).observe(document.getElementById("main"), { childList: true, subtree: true });
  look();
  readiness().then((found) => chatModel(found).quotes && model.append(connectCard()));
}
