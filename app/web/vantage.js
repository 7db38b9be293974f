// Vantage, where it is on: a question within the policy, what was decided and why, and the mix of sources, to be tried.

import { MOST_TEXT, json, send } from "./api.js";
import { box, button, count, dialog, field, make } from "./dom.js";
import { search, table, trouble } from "./library.js";
import { name } from "./marks.js";
import { path, register } from "./router.js";
import { on, user } from "./state.js";
import { begin, cited, opened, write } from "./turn.js";
import { verdictWords } from "./why.js";

const CLASSES = {
  COMPLY: "Answered", REDIRECT: "Led to what helps", CLARIFY: "Asks back", NEGOTIATE: "Answered under conditions", REFUSE: "Refused",
};
const SLIDERS = [
  ["memory_cards", "Memories"], ["corpus", "Reference texts"], ["recency_bias", "Prefer what is new"], ["similarity_threshold", "Least similarity"],
];
const OFF = "It is off here. ENABLE_VANTAGE_ENDPOINTS=1 in the service's settings turns it on.";
const NO_MEMORIES = "Memories are off in Vantage: VANTAGE_PERSONAL_MEMORY=1 in the service's settings turns them on.";
const PAUSE_MS = 90;
const MOST_FOUND = 40; // reference texts of a search
const WORDS = 0.75; // in a token, about
const SHOWN = 90; // characters of a text in the table

// --- the decision --------------------------------------------------------------------------------

function decided({ decision, params }, policy) {
  const said = decision.rules.map((id) => policy.rules.find((rule) => rule.id === id)?.says ?? "No rule speaks against it.");
  return box("section", "card decided", [
    make("p", `class ${decision.class.toLowerCase()}`, CLASSES[decision.class] ?? decision.class, { title: `Class ${decision.class}` }),
    box("ul", "", said.map((line, n) => box("li", "", [make("span", "", line), make("small", "soft", ` ${decision.rules[n]}`)]))),
    make("p", "facts", `The answer may have about ${count(Math.round(params.token_target * WORDS), "word")} and ask ${count(params.question_budget, "question")};`
      + ` “perhaps” and its like at most ${count(params.hedge_budget, "time")} in ${100 * WORDS} words. How plainly it is to be said:`
      + ` ${percent(params.directness)}; how warmly: ${percent(params.warmth)}.`),
  ]);
}

const percent = (share) => `${Math.round(share * 100)} %`;

// --- the mix -------------------------------------------------------------------------------------

function moved({ place, was }) {
  if (place === was.place) return "";
  if (!was.place) return "▲ new";
  if (!place) return "▼ out";
  return `${place < was.place ? "▲" : "▼"} was ${was.place}`;
}

/** What is known of the passages, by label: {title, text}. Memories that the model was not shown are fetched, reference
 *  texts found by the question once more. */
async function fetchTexts(candidates, known, question) {
  const texts = candidates.filter(({ source, label }) => source === "corpus" && !known.has(label));
  if (texts.length) {
    const { results } = await search(question, ["corpus"], { top_k: MOST_FOUND })
      .catch(() => search(question, ["corpus"])).catch(() => ({ results: [] })); // a service may allow less
    for (const { label } of texts) known.set(label, results.find((one) => one.label === label) ?? {});
  }
  await Promise.all(candidates.filter(({ source, label }) => source === "memories" && !known.has(label)).map(async ({ id, label }) => {
    known.set(label, {});
    const found = await json(`/memories/${encodeURIComponent(id.split("/").at(-1))}`).catch(() => null);
    if (found) known.set(label, { text: found.text });
  }));
}

function words(label, known) {
  const { title, text = "" } = known.get(label) ?? {};
  const cut = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  const name = title || (!text && label.slice(0, label.lastIndexOf("#")));
  return box("span", "", [name && make("b", "", name), name && " · ", cut || make("span", "soft", "its text cannot be shown")]);
}

function candidate(one, known) {
  const cell = (text) => make("span", one.place ? "" : "soft", text);
  return [
    cell(one.place ? String(one.place) : "–"), words(one.label, known), cell(one.similarity === null ? "words only" : one.similarity.toFixed(2)),
    cell(one.score.toFixed(2)), cell(one.verdict === "packed" ? "shown to the model" : verdictWords(one.verdict)), make("span", "moved", moved(one)),
  ];
}

function slider([name, text], mix, changed, off) {
  const input = make("input", "", "", { type: "range", min: 0, max: 1, step: 0.01, value: off ? 0 : mix[name], disabled: off });
  const shown = make("output", "", off ? "off" : mix[name].toFixed(2));
  input.addEventListener("input", () => {
    mix[name] = Number(input.value);
    shown.textContent = mix[name].toFixed(2);
    changed();
  });
  return box("label", "slider", [make("span", "", text), input, shown]);
}

/** Sliders over the candidates of an answer, which are ranked again while one moves: nothing is searched or generated. */
async function mixer(id, known, question) {
  const ranked = make("div", "scrolled", "", { tabIndex: 0 });
  const status = make("p", "soft");
  status.setAttribute("role", "status");
  let newest = 0;
  async function rank(mix) {
    const mine = ++newest;
    const found = await send("POST", "/vantage/mix", { answer_id: id, mix });
    if (mine !== newest) return null;
    await fetchTexts(found.candidates, known, question);
    if (mine !== newest) return null;
    const seen = found.candidates.filter((one) => one.place);
    status.textContent = `Of ${count(found.candidates.length, "passage")} that the question found, ${seen.length} would be shown to the model.`;
    ranked.replaceChildren(table("Candidates", ["Place", "Passage", "Similarity", "Score", "Verdict", "Moved"],
      found.candidates.map((one) => () => candidate(one, known)), Infinity));
    return found;
  }
  const first = await rank({});
  const off = first.mix.memory_cards > 0 && !first.split.personal; // whatever the mix says
  const note = off && make("p", "soft", NO_MEMORIES);
  if (!first.candidates.length) return box("div", "", [note, make("p", "soft", "Nothing was found for this question, so there is no mix to try.")]);
  const mix = { ...first.mix, similarity_threshold: first.threshold };
  let timer = 0;
  const sliders = SLIDERS.map((each) => slider(each, mix, () => {
    clearTimeout(timer);
    timer = setTimeout(() => rank(mix).catch((error) => (status.textContent = error.message)), PAUSE_MS);
  }, off && each[0] === "memory_cards"));
  return box("section", "mix", [make("h2", "", "Mix"), note, box("div", "sliders", sliders), status, ranked]);
}

// --- the view ------------------------------------------------------------------------------------

function policyPart(policy) {
  const rules = policy.rules.map((rule) => () => [
    box("span", "", [rule.says, make("small", "soft", ` ${rule.when}`)]), CLASSES[rule.class] ?? rule.class,
  ]);
  const tongues = Object.entries(policy.languages).map(([tongue, how]) => make("li", "", `${tongue === "*" ? "others" : tongue}: ${how}`));
  return box("details", "policy", [
    make("summary", "", `The policy: ${count(policy.rules.length, "rule")}`),
    make("p", "soft", policy.scope), box("ul", "soft", tongues),
    make("p", "soft", `All rules that apply are listed; the strictest decides. Version ${policy.version}.`),
    table("Rules", ["Rule", "Class"], rules, Infinity),
  ]);
}

/** The answer as the chat shows one; a mark or card opens the text it stands for. */
function answerPart(body, answer, known) {
  const open = (_, n) => {
    const cite = n && answer.citations[n - 1];
    if (!cite) return document.querySelector(".mix")?.scrollIntoView();
    return dialog(name(cite), (form, close) => form.append(
      make("p", "said", known.get(cite.label)?.text ?? "Its text cannot be shown here."),
      box("div", "row end", [button("Close", () => close(), "strong")]),
    ));
  };
  const turn = begin("", body.message, { open });
  opened(turn, answer);
  write(turn, answer.answer);
  cited(turn, answer);
  for (const card of turn.after.querySelectorAll("a.source")) card.href = path("vantage");
  return box("div", "turn", [turn.answer, turn.after]);
}

async function answered(body, policy, place) {
  place.replaceChildren(make("p", "soft", "Asking…"));
  try {
    const answer = await send("POST", "/vantage/query", body);
    place.replaceChildren(decided(answer, policy));
    const known = new Map(answer.memory_used.map((one) => [one.label, one]));
    if (answer.answer) place.append(answerPart(body, answer, known));
    place.append(await mixer(answer.answer_id, known, body.message));
  } catch (error) {
    place.replaceChildren(make("p", "bad", error.message));
  }
}

function asker(policy) {
  const text = make("textarea", "", "", { rows: 2, required: true, maxLength: MOST_TEXT });
  const dry = make("input", "", "", { type: "checkbox" });
  const found = make("div");
  found.setAttribute("aria-live", "polite");
  const form = box("form", "", [
    field("Question", text),
    box("div", "row", [Object.assign(make("button", "strong", "Ask"), { type: "submit" }),
      box("label", "row", [dry, make("span", "", "Only decide, ask no model")])]),
  ]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    answered({ message: text.value, user_id: user.get(), inspect_only: dry.checked }, policy, found);
  });
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  return box("div", "", [form, found]);
}

register("vantage", (place) => {
  const page = box("div", "page", [
    make("h1", "", "Vantage"),
    make("p", "soft", "Answers from memories and reference texts, within a policy: published rules decide what a question gets before a model is asked."),
  ]);
  const content = make("div");
  page.append(content);
  place.append(page);
  async function fill() {
    try {
      const policy = await json("/vantage/policy");
      content.replaceChildren(asker(policy), policyPart(policy));
    } catch (error) {
      content.replaceChildren(error.status === 404 ? make("p", "", OFF) : trouble(error, fill));
    }
  }
  fill();
  return on("settings", (name) => name === "key" && fill());
});
