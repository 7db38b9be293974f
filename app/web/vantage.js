// Vantage, where it is on: a question within the policy, what was decided and why, and the mix of sources, to be tried.

import { MOST_TEXT, json, send } from "./api.js";
import { box, count, field, make } from "./dom.js";
import { table, trouble } from "./library.js";
import { register } from "./router.js";
import { on, user } from "./state.js";
import { verdictWords } from "./why.js";

const CLASSES = {
  COMPLY: "Answered", REDIRECT: "Led to what helps", CLARIFY: "Asks back", NEGOTIATE: "Answered under conditions", REFUSE: "Refused",
};
const SLIDERS = [
  ["memory_cards", "Memories"], ["corpus", "Reference texts"], ["recency_bias", "Prefer what is new"], ["similarity_threshold", "Least similarity"],
];
const OFF = "It is off here. ENABLE_VANTAGE_ENDPOINTS=1 in the service's settings turns it on.";
const PAUSE_MS = 90;

// --- the decision --------------------------------------------------------------------------------

function decided({ decision, params }, policy) {
  const said = decision.rules.map((id) => policy.rules.find((rule) => rule.id === id)?.says ?? "No rule speaks against it.");
  return box("section", "card decided", [
    box("p", "row", [make("strong", `class ${decision.class.toLowerCase()}`, CLASSES[decision.class] ?? decision.class),
      make("code", "soft", decision.class)]),
    box("ul", "", said.map((line, n) => box("li", "", [make("span", "", line), make("small", "soft", ` ${decision.rules[n]}`)]))),
    make("p", "facts", `At most ${count(params.token_target, "token")}, ${count(params.question_budget, "question")},`
      + ` ${count(params.hedge_budget, "hedge")} in 100 tokens. Directness ${percent(params.directness)}, warmth ${percent(params.warmth)}.`),
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

function candidate(one) {
  const cell = (text) => make("span", one.place ? "" : "soft", text);
  return [
    cell(one.place ? String(one.place) : "–"), cell(one.label), cell(one.similarity === null ? "words only" : one.similarity.toFixed(2)),
    cell(one.score.toFixed(2)), cell(one.verdict === "packed" ? "shown to the model" : verdictWords(one.verdict)), make("span", "moved", moved(one)),
  ];
}

function slider([name, text], mix, changed) {
  const input = make("input", "", "", { type: "range", min: 0, max: 1, step: 0.01, value: mix[name] });
  const shown = make("output", "", mix[name].toFixed(2));
  input.addEventListener("input", () => {
    mix[name] = Number(input.value);
    shown.textContent = mix[name].toFixed(2);
    changed();
  });
  return box("label", "slider", [make("span", "", text), input, shown]);
}

/** Sliders over the candidates of an answer, which are ranked again while one moves: nothing is searched or generated. */
async function mixer(id) {
  const ranked = make("div", "scrolled", "", { tabIndex: 0 });
  const status = make("p", "soft");
  status.setAttribute("role", "status");
  let newest = 0;
  async function rank(mix) {
    const mine = ++newest;
    const found = await send("POST", "/vantage/mix", { answer_id: id, mix });
    if (mine !== newest) return null;
    const seen = found.candidates.filter((one) => one.place);
    status.textContent = `${count(seen.length, "passage")} of ${found.candidates.length} would be shown to the model.`;
    ranked.replaceChildren(table("Candidates", ["Place", "Passage", "Similarity", "Score", "Verdict", "Moved"],
      found.candidates.map((one) => () => candidate(one)), Infinity));
    return found;
  }
  const first = await rank({});
  if (!first.candidates.length) return make("p", "soft", "Nothing was found for this question, so there is no mix to try.");
  const mix = { ...first.mix, similarity_threshold: first.threshold };
  let timer = 0;
  const sliders = SLIDERS.map((each) => slider(each, mix, () => {
    clearTimeout(timer);
    timer = setTimeout(() => rank(mix).catch((error) => (status.textContent = error.message)), PAUSE_MS);
  }));
  return box("section", "", [make("h2", "", "Mix"), box("div", "sliders", sliders), status, ranked]);
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

async function answered(body, policy, place) {
  place.replaceChildren(make("p", "soft", "Asking…"));
  try {
    const answer = await send("POST", "/vantage/query", body);
    place.replaceChildren(decided(answer, policy));
    if (answer.answer) place.append(make("p", "said", answer.answer));
    place.append(await mixer(answer.answer_id));
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
