// What the service says of itself, and how a chat model is connected to it.

import { json } from "./api.js";
import { box, button, make } from "./dom.js";

/** {ready, checks}, also of a service that is not ready; null: it cannot be reached. */
export async function readiness() {
  try {
    return await json("/readyz");
  } catch (error) {
    return error.body?.checks ? error.body : null;
  }
}

/** Who writes the answers: {ok, quotes, name, ms}. `quotes`: nobody, sentences are quoted. */
export function chatModel(found) {
  const { ok = false, facts = {}, ms = 0 } = found?.checks.find(({ name }) => name === "chat") ?? {};
  return { ok, quotes: facts.model === "extractive", name: facts.model ?? "", ms };
}

/** The names under which other programs reach the service. */
export const modelNames = async () => (await json("/v1/models")).data.map(({ id }) => id);

/** Lines to copy. Where the browser keeps the clipboard from a page, they are selected instead. */
export function copyable(lines) {
  const code = make("pre", "lines", lines, { tabIndex: 0 });
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(lines);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected";
    }
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  }, "quiet");
  return box("div", "copyable", [code, copy]);
}

const KINDS = {
  Ollama: "CHAT_BASE_URL=http://127.0.0.1:11434/v1\nCHAT_MODEL=llama3.2",
  OpenAI: "OPENAI_API_KEY=sk-…",
  vLLM: "CHAT_BASE_URL=http://127.0.0.1:8001/v1\nCHAT_MODEL=the name vLLM serves it by",
};

/** How to connect a chat model: the lines of three kinds, and a test. */
export function connectCard(open = false) {
  const chosen = make("div");
  const choices = Object.entries(KINDS).map(([name, lines]) => button(name, () => choose(name, lines), "pill"));
  function choose(name, lines) {
    for (const one of choices) one.setAttribute("aria-pressed", String(one.textContent === name));
    chosen.replaceChildren(copyable(lines));
  }
  const result = make("span", "soft");
  result.setAttribute("role", "status");
  const test = button("Test", async () => {
    result.textContent = "Asking…";
    result.textContent = verdict(await readiness());
  });
  choose(...Object.entries(KINDS)[0]);
  const kinds = box("div", "row", choices);
  kinds.setAttribute("role", "group");
  kinds.setAttribute("aria-label", "Kind of model server");
  const card = box("details", "card connect", [
    box("summary", "", ["Answers are quotes, since no chat model is connected. ", make("strong", "", "Connect one")]),
    make("p", "soft", "Put these lines into the file .env in the folder where you start Ibid, start it again, then test."),
    kinds, chosen, box("div", "row", [test, result]),
  ]);
  card.open = open;
  return card;
}

function verdict(found) {
  const { ok, quotes, name, ms } = chatModel(found);
  if (!found) return "The service cannot be reached. Is it still starting?";
  if (quotes) return "No model is set yet. Ibid reads its settings when it starts.";
  return ok ? `${name} answers (${ms} ms).` : "A model is set, but its server does not answer.";
}
