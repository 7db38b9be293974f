// The tab "Why": what was searched, every passage that was seen, and what became of it.

import { call } from "./api.js";
import { box, button, count, make } from "./dom.js";
import { documentPart, pageAndSheet, read } from "./passage.js";

/** What became of a candidate: in its line, and above its group. */
const VERDICTS = {
  cited: ["cited"],
  packed: ["read, not cited"],
  over_limit: ["over the limit", "Over the limit: found, but enough better ones were there"],
  over_budget: ["over the token budget", "Over the token budget: found, but there was no room left"],
  duplicate: ["duplicate", "Duplicates: the same text as a passage above"],
  skipped: ["not considered", "Not considered"],
  below_threshold: ["below the threshold", "Below the threshold: too little in common with the question"],
};
const BOOSTS = {
  feedback: "your ratings", format: "the form asked for", vb_desire: "your preferences", gravity: "your focus", tags: "tags",
  recency: "age",
};
/** Why nothing was searched or found. */
export const REASONS = {
  small_talk: "This was small talk, so nothing was searched.",
  greeting: "This was a greeting, so nothing was searched.",
  empty: "Nothing has been added that could be searched.",
  processing: "Nothing matched, and files were still being read.",
  timeout: "The sources did not answer in time, so this was answered without them.",
  unavailable: "The sources could not be searched just then, so this was answered without them.",
  skipped_short_query: "The question was too short to be looked up.",
  no_match: "Nothing that you added fits this question, so it was answered without sources.",
  not_asked: "This kind of answer searches nothing.",
  cancelled: "It was stopped before the sources had answered.",
};
const CHANGES = {
  ranking: "Passages are ranked in a new way since.",
  prompt: "The prompt is put together in another way since.",
  policy: "The policy has a new version.",
  policy_sha256: "The policy's text has changed.",
  instructions: "The instructions to the model have changed.",
  persona: "The user's profile has changed.",
  gravity: "The user's profile has changed.",
  cards: "A card that the model was shown has changed.",
  knowledge: "The project's knowledge has changed.",
  project_notes: "The project's notes have changed.",
  thread: "The earlier conversation has changed.",
  turn: "The earlier conversation has changed.",
};
const NUMBERS = [
  ["similarity", "how near the passage's meaning is to the question's: 1 is the same, 0 unrelated."],
  ["words", "what the question's words, names and dates add to it if the passage has them; with a minus, what it loses without them."],
  ["evidence", "what the threshold looks at: the similarity, and more or less of it by the question's words."],
  ["threshold", "the least evidence with which a passage is read."],
  ["read, not cited", "others answered better: a model cites what it used; without one, the sentences that fit the question best are quoted."],
  ["×1.05", "a boost: ratings, preferences, age."],
  ["the last number", "the score, by which passages are ordered. Boosts never lift one above the threshold."],
];
const OWN = /^(Retrieved|Left out|Searched with|No context)\b|did not answer|answered in part/; // notes that are said otherwise
const READERS = 4;
const LEAST = 0.005; // that two decimals show

/** ".83" */
const figure = (number) => (number ?? 0).toFixed(2).replace(/^(-?)0\./, "$1.");
const seconds = (ms) => `${(ms / 1000).toFixed(ms < 950 ? 2 : 1)}\u00a0s`;
export const verdictWords = (kind) => VERDICTS[kind][0];
const verdict = (entry, answer) => (answer.cited.includes(entry.label) ? "cited" : entry.verdict);

/** A candidate as a line: number and first words, verdict, score; with `details` its figures, `named` its file. Its words
 *  are put in by `fill`. */
export function line(entry, answer, onClick, { details = false, named = false } = {}) {
  const number = documentPart(entry) ? entry.label.slice(entry.label.lastIndexOf("#")) : "";
  const name = make("span", "what", number || entry.title || entry.label);
  const made = button("", onClick, "candidate");
  made.append(name, make("span", "verdict", verdictWords(verdict(entry, answer))), make("span", "score", figure(entry.score)));
  const numbers = make("span", "figures", figures(entry, named));
  if (details) made.append(numbers);
  made.entry = entry;
  made.classList.toggle("out", entry.verdict !== "packed");
  made.fill = async (from) => {
    if (made.words !== undefined) return;
    made.words = "";
    try {
      const found = await read(entry, from);
      numbers.textContent = figures(entry, named);
      made.words = `${found.heading ?? ""} ${found.text}`.toLowerCase();
      name.textContent = `${number} ${found.text.slice(0, 200).replace(/\s*\|[\s|-]*/g, " ")}`.trim();
    } catch {
      name.textContent = `${number || entry.label} (not stored any more)`;
    }
  };
  return made;
}

function figures({ label, similarity, score, relevance, boosts, evidence, ...entry }, named) {
  const added = (relevance ?? score) - similarity;
  const near = similarity === null ? ["found by its words alone"] : [`similarity ${figure(similarity)}`];
  if (similarity !== null && Math.abs(added) >= LEAST) near.push(`words ${added < 0 ? "−" : "+"}${figure(Math.abs(added))}`);
  if (Math.abs(evidence ?? 1) < 1) near.push(`evidence ${figure(evidence)}`);
  const factors = Object.entries(boosts).filter(([, factor]) => Math.abs(factor - 1) >= LEAST)
    .map(([name, factor]) => `${BOOSTS[name] ?? name} ×${factor.toFixed(2)}`);
  return [named && label.slice(0, label.lastIndexOf("#")), pageAndSheet(entry), ...near, ...factors].filter(Boolean).join(" · ");
}

/** Three candidates in comparison: this one, the best that was read in vain, the best that was left out. */
export function few(entry, { answer, entries }) {
  const others = entries.filter((each) => each !== entry && !answer.cited.includes(each.label));
  const chosen = [entry, others.find((each) => each.verdict === "packed"), others.find((each) => each.verdict !== "packed")];
  return chosen.filter((each) => each?.verdict);
}

const said = (name, ...children) => box("div", "said", [make("dt", "", name), box("dd", "", children)]);

/** Fills the tab. `from`: {answer, entries, trace, session, project}; `onPick(entry)` opens a candidate. */
export function showWhy(tab, from, onPick) {
  const { trace } = from;
  const facts = box("dl", "", [
    said("Asked", trace.question),
    trace.searched !== trace.question && said("Searched for", trace.searched),
    said("Searched", ...searched(trace)),
    trace.rag.used && said("Read", ...budget(trace)),
    trace.degraded.length > 0 && said("Incomplete", trace.degraded.map(({ source, reason }) => `${source}: ${reason}`).join(", ")),
    ...ruling(trace.ruling),
  ]);
  const notes = trace.notes.filter((note) => !OWN.test(note));
  if (notes.length) facts.append(said("Notes", notes.join(" ")));
  tab.replaceChildren(facts, today(trace.answer_id));
  if (from.entries.length) tab.append(...list(from, onPick));
}

function searched({ rag, sources, timings }) {
  const names = Object.keys(sources).map((name) => (name === "corpus" ? "reference texts" : name)).join(", ");
  const took = rag.cached ? "found a moment before" : `in ${seconds(rag.took_ms)}`;
  const where = names && `${names}, ${took}; the whole answer took ${seconds(timings.total ?? 0)}`;
  return [where, !rag.used && (REASONS[rag.reason] ?? rag.reason)].filter(Boolean).map((each) => make("div", "", each));
}

function budget({ rag, candidates }) {
  const meter = make("meter", "", "", { max: rag.budget || 1, value: rag.tokens });
  meter.setAttribute("aria-label", "Tokens used of the budget");
  return [`${rag.passages} of ${count(candidates.length, "passage")}, ${rag.tokens.toLocaleString()} of ${rag.budget.toLocaleString()} tokens`, meter];
}

/** What the policy decided. */
function ruling(found) {
  if (!found) return [];
  const { response_class: kind, rules = [], policy_version: version, class_check: check, limits, mix } = found;
  const settings = (values) => Object.entries(values ?? {}).filter(([, value]) => ["number", "string"].includes(typeof value))
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", ");
  const kept = check && (check.held ? "The answer keeps to it." : `The model broke it: ${check.broken.join(", ")}.`);
  return [
    said("Decision", [kind, rules.length ? `by ${rules.join(", ")}` : "no rule applied", version && `policy ${version}`].filter(Boolean).join(" · ")),
    kept && said("Contract", `${kept}${check.replaced ? " The policy's own text was sent instead." : ""}`),
    settings(limits) && said("Limits", settings(limits)),
    settings(mix) && said("Mix", settings(mix)),
  ].filter(Boolean);
}

// --- compared with today -------------------------------------------------------------------------

function changeInWords({ what, before, after }) {
  const [kind, ...rest] = what.split(" ");
  if (kind === "source") return `${rest.join(" ")} ${after === null ? "was deleted" : "has another text now"}.`;
  if (after === "not asked") return "It was stopped before the model was asked, so there is nothing to compare.";
  if (after === "not kept") return "What would be needed to compare was not kept.";
  if (kind === "response_class") return `The policy would decide ${after} now, not ${before}.`;
  return CHANGES[kind] ?? `Changed: ${what.replaceAll("_", " ")}.`;
}

function today(id) {
  const found = make("div", "found");
  found.setAttribute("role", "status");
  const ask = button("Compare with today", async () => {
    ask.disabled = true;
    try {
      const { identical, changes } = await (await call(`/answers/${id}/replay`, { method: "POST" })).json();
      const lines = [...new Set(changes.map(changeInWords))].map((each) => make("li", "", each));
      found.replaceChildren(identical ? make("p", "good", "Identical: with this question, the model would be given the same text today.")
        : box("div", "", [make("p", "", "Since this answer:"), box("ul", "", lines)]));
    } catch (error) {
      found.replaceChildren(make("p", "bad", error.message));
    }
    ask.disabled = false;
  }, "pill");
  return box("div", "today", [ask, found]);
}

// --- the candidates ------------------------------------------------------------------------------

/** The least that was read, as what the threshold let pass. */
function bound(entries) {
  const passed = entries.filter(({ verdict: each }) => each !== "below_threshold" && each !== "duplicate" && each !== "skipped");
  const least = Math.min(...passed.map(({ evidence, similarity }) => evidence ?? similarity ?? 2));
  return least <= 1 ? ` (those above it have an evidence of ${figure(least)} or more)` : "";
}

function list(from, onPick) {
  const { answer, entries } = from;
  const rows = make("div", "candidates");
  const named = new Set(entries.map(({ label }) => label.slice(0, label.lastIndexOf("#")))).size > 1;
  const lines = entries.map((entry) => line(entry, answer, () => onPick(entry), { details: true, named }));
  for (const [kind, [, heading]] of Object.entries(VERDICTS)) {
    const own = lines.filter(({ entry }) => entry.verdict === kind);
    if (heading && own.length) rows.append(make("h3", "line", `${heading}${kind === "below_threshold" ? bound(entries) : ""}`));
    rows.append(...own);
  }
  const seen = new IntersectionObserver((found) => {
    for (const { isIntersecting, target } of found) if (isIntersecting) target.fill(from);
  });
  lines.forEach((each) => seen.observe(each));
  const none = make("p", "soft", "No passage has these words.", { hidden: true });
  return [search(rows, lines, none, from), explained(), none, rows];
}

function search(rows, lines, none, from) {
  const input = make("input", "", "", { type: "search", placeholder: `Find in ${count(lines.length, "passage")}` });
  input.setAttribute("aria-label", "Find in the passages");
  const sift = () => {
    const wanted = input.value.trim().toLowerCase().split(/\s+/);
    let some = false;
    for (const each of lines) {
      const text = `${each.textContent.toLowerCase()} ${each.words ?? ""}`;
      each.hidden = !wanted.every((word) => text.includes(word));
      some ||= !each.hidden;
    }
    none.hidden = some;
    for (const head of rows.querySelectorAll("h3")) head.hidden = input.value.trim() !== "" && !some;
  };
  let begun = false;
  input.addEventListener("input", async () => {
    sift();
    if (begun) return;
    begun = true; // the words of those that were not in view yet
    const rest = [...lines];
    await Promise.all(Array.from({ length: READERS }, async () => {
      while (rest.length && input.isConnected) await rest.shift().fill(from);
    }));
    sift();
  });
  return input;
}

function explained() {
  const made = make("details", "explained");
  made.append(make("summary", "", "What the numbers mean"),
    box("dl", "", NUMBERS.map(([name, text]) => said(name, text))));
  return made;
}

