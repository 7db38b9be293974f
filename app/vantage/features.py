"""The descriptors of a message, from its text alone: `extract_sd_features`, the first step of the policy.

Risk by category, stakes, pressure, two learned scores, and clarity, specificity, affect and breadth; all in
[0, 1]. Tables and bundled weights: no clock, no randomness, no remote model. An overlay adds to risk and
pressure and takes nothing away; earlier turns lend risk, scores and pressure to a message that only continues
them. Nothing here raises.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import NamedTuple

from app.text.greeting import is_assent
from app.vantage import clarity, topics
from app.vantage.decision import ATTACKED, DESPAIR, FICTION, PRESSED, SURE
from app.vantage.distress import Despair, despair, goes_on, pattern, slots
from app.vantage.lexicon import LEXICON, NO_CLASSES, Hit, entries, hits, sections
from app.vantage.risk import OPERATIVE, PLAYABLE, RISKS, RULES, THINGS, VERBS, Harm, find_harm, is_the_askers
from app.vantage.score import score
from app.vantage.terms import Descriptors, Finding
from app.vantage.text import CUTS, ENDS, Text, read, reveal

__all__ = ["RISKS", "STAKES", "extract_sd_features"]

STAKES = ("medical", "legal", "money")
PRESSURE: Mapping[str, float] = {
    "override": 0.6,
    "persona": 0.45,
    "extract": 0.45,
    "suppress": 0.35,
    "threat": 0.35,
    "roleplay": 0.2,
    "authority": 0.2,
    "urgency": 0.15,
    "flattery": 0.1,
}
"""Pressure that each kind of phrase of `words.txt` adds; each kind counts once."""
OVERRIDING = frozenset({"override", "persona", "extract", "suppress"})
"""Kinds of pressure on the rules. Begging and threats do not cancel the help offered in despair."""
EXTRACTED = 0.6
"""Risk of `extraction` where a phrase of the kind `extract` is used."""
DESPAIR_TOLD, DESPAIR_ASKED = 0.6, 0.8
"""Risk of self-harm where somebody says that they do not want to live, and where they ask for a way."""
HINTED = 0.2
"""Attack score from which such a phrase counts: `the text above` alone asks for no rules."""
DOUBTFUL = 0.3
"""Score of risk below which the table's rules refuse nothing: a rule that would refuse negotiates, so that no
story around a request frees it, and one that would negotiate is not held."""
NOT_HELD, NEGOTIATED = 0.35, 0.4
"""The risk that such a veto leaves: below what negotiates, and just that."""
GRAVITY = {rule.id: rule.weight for rule in RULES}
SPREADING = frozenset(rule.id for rule in RULES if "written" in rule.full)
"""Rules about texts that do harm when they are read."""
LONG_TALE = 60
"""Tokens of a request for a tale: a longer one may set up more than a tale."""
UNVETOED = frozenset({"selfharm", "minors"})
TURNS = 6
"""Earlier turns that are looked at, the latest."""
DECAY = 0.85
"""Share of a turn's risk that is left one turn later."""
SHORT = 25
"""Words: a longer message says itself what it is about."""
FEW = 4
"""Words of a message that is only a part of a sentence."""
UNSURE = 0.6
"""The highest risk that an earlier turn lends where the message may be about something else: negotiated."""
FRAGMENT = re.compile(
    r"(?:(?:and|but|or|so|then|ok|okay|please) )*(?:(?:with|in|at|for|from|of|on) )?"
    r"(?:which|what|how|where|when|why)"
    r"(?: (?!(?:is|are|was|were|'s|'re|do|does|did|can|could|will|would|should|has|have|had|to) )[a-z0-9]+)*"
    r" $"
)
"""A question without a verb: `how many grams?`"""
QUOTING = frozenset('":')
"""A message with one of these brings its own text."""
_FOLLOW_UPS, _PARTS = sections("follow_ups.txt"), slots("follow_ups.txt")
ASIDE = frozenset(entries(_FOLLOW_UPS["lists"])["aside"])
"""Words of everyday subjects: a short message with one has left what was asked."""
POINTS_BACK = re.compile(
    f" (?:{pattern(chain(*(_FOLLOW_UPS[name] for name in ('in part', 'pleas', 'once more'))), _PARTS)}) $"
)
"""Part of what was asked, a plea for it, or a change to its answer."""
ASSISTANT = re.compile(
    r"\W*(?:who are|how are|what are|what (?:else )?can|what(?:'s| is)) you", re.IGNORECASE
)
"""`who are you`, `what is your name`"""
MEANS = frozenset(
    ["weapon", "bomb", "toxin", "noxious", "medicine", "drug", "hard_drug", "malware", "contraband"]
)
"""`and the detonator?`"""
WAYS = frozenset({"how", "how_i", "recipe", "covert", "code_of"})
"""Classes that ask for a way of doing it, whatever tale is around."""
STORY = re.compile(r"(?<!news )(?<!cover )(?<!true )\b(?:story|tale|novel) (?:about|where|in which|of) ")
NEAR_ASKER = frozenset({"person", "relation", "minor"})
DETAILED = frozenset(entries(_FOLLOW_UPS["lists"])["detailed"])
"""Words that ask for more than a tale."""
FURTHER = frozenset({"more", "recipe"})
"""`step by step`"""


class Parsed(NamedTuple):
    """A text whose disguises are undone, with its known words."""

    text: Text
    known: Sequence[Hit]
    counts: Mapping[str, int]
    """How many of the known words are of each class."""


def parse(text: Text) -> Parsed:
    """Its known words, for every table."""
    plain = reveal(text, LEXICON)
    known = hits(plain)
    return Parsed(plain, known, Counter(chain.from_iterable([hit.classes for hit in known])))


class TextRisk(NamedTuple):
    """The risk, scores and pressure of one text, without the turns before it."""

    found: Harm
    scores: Mapping[str, float]
    pressure: float
    pressing: tuple[Finding, ...]


def extract_sd_features(message: str, thread: Sequence[str] = (), overlay: str = "") -> Descriptors:
    """The descriptors of a message, after the user's turns `thread`, oldest first, and under an `overlay`."""
    text = read(message)
    parsed = parse(text)
    seen = _look(parsed)
    fiction = _free_fiction(seen, parsed)
    if overlay:
        seen = _under(parse(read(overlay)), seen)
    carried_over = _continues(message, text, parsed) if thread else 0.0
    if carried_over:
        seen = _with_earlier_turns(seen, thread, carried_over)
    if carried_over or (thread and goes_on(text.words, clarity.lists()["empty"])):
        _despaired(seen.found, parsed, thread)
    attack = seen.scores["attack"]
    pressing = (Finding("pressure", "score.attack", attack),) if attack >= ATTACKED else ()
    stakes, weighed = _stakes(parsed.counts)
    reading = clarity.describe(message, text, thread)
    told = (Finding("score.risk", FICTION, seen.scores["risk"]),) if fiction and not carried_over else ()
    return Descriptors(
        clarity=reading.clarity,
        specificity=reading.specificity,
        risk=seen.found.levels(),
        stakes=stakes,
        pressure=max(seen.pressure, attack) if pressing else seen.pressure,
        affect=reading.affect,
        breadth=reading.breadth,
        terms=topics.terms(message, text),
        scores=seen.scores,
        findings=(*seen.found.findings(), *seen.pressing, *pressing, *told, *weighed, *reading.findings),
    )


def _look(parsed: Parsed) -> TextRisk:
    """Of a text alone."""
    pressure, pressing = _pressure(parsed)
    found, scores = _harm(parsed, pressure)
    _despair(found, despair(parsed.text.tokens), parsed)
    if "press_extract" in parsed.counts and scores["attack"] >= HINTED:
        found.take("extraction", "press.extract", EXTRACTED)
    return TextRisk(found, scores, pressure, pressing)


def _harm(parsed: Parsed, pressure: float) -> tuple[Harm, Mapping[str, float]]:
    """The harm that the table finds in a text, as far as its scores agree, and the scores."""
    found = find_harm(parsed.text, parsed.known, pressed=pressure >= PRESSED)
    scores = score(parsed.text, parsed.known, _fired(found))
    if pressure < PRESSED and scores["attack"] < ATTACKED and scores["risk"] < DOUBTFUL:
        _veto(found, parsed.text)
    return found, scores


def _veto(found: Harm, text: Text) -> None:
    """Lowers the risk of a category where the sentence in which its rule fired has a low score, too."""
    sentences: dict[int, float] = {}
    for category, weight in found.risk.items():
        if weight > NOT_HELD and category not in UNVETOED:
            start, end = _sentence(text, found.at[category])
            if start not in sentences:
                sentences[start] = _risk(Text("", text.cased[start:end], text.tokens[start:end]), found)
            if sentences[start] < DOUBTFUL:
                sure = max(weight, GRAVITY.get(found.by[category], 1.0)) >= SURE
                found.risk[category] = min(weight, NEGOTIATED if sure else NOT_HELD)


def _sentence(text: Text, at: int) -> tuple[int, int]:
    """Where the sentence of a token begins and ends."""
    start = end = at
    while start and text.tokens[start - 1] not in ENDS:
        start -= 1
    while end < len(text.tokens) and text.tokens[end] not in ENDS:
        end += 1
    return start, end + 1


def _risk(sentence: Text, found: Harm) -> float:
    """The risk score of one sentence."""
    return score(sentence, hits(sentence), _fired(found))["risk"]


def _fired(found: Harm) -> Mapping[str, float]:
    """The rules that fired, with their risk."""
    return {rule: found.risk[category] for category, rule in found.by.items()}


def _free_fiction(seen: TextRisk, parsed: Parsed) -> bool:
    """True if the harm of a message happens in a tale, as it does in games, and no way of doing it is wanted:
    its risk is lowered below what negotiates. A tale about the asker's own people is none."""
    found, tokens = seen.found, parsed.text.tokens
    if PLAYABLE.isdisjoint(found.risk) or len(tokens) > LONG_TALE or not DETAILED.isdisjoint(tokens):
        return False
    if seen.pressure >= PRESSED or seen.scores["attack"] >= ATTACKED or _names_own_people(parsed):
        return False
    if not all(_is_told(parsed, found, name) for name in found.risk):
        return False
    for name, weight in found.risk.items():
        found.risk[name] = min(weight, NOT_HELD)
    return True


def _is_told(parsed: Parsed, found: Harm, category: str) -> bool:
    """True if the clause in which a harm was found tells or wants a tale that harms nobody who reads it, and
    neither orders nor asks for a way of doing what happens in it."""
    if category not in PLAYABLE or found.by[category] in SPREADING:
        return False
    at = found.at[category]
    end = _clause_ends(parsed.text.tokens, at)
    hits = [hit for hit in parsed.known if at <= hit.start < end]
    classes = NO_CLASSES.union(*(hit.classes for hit in hits))
    if "tale" not in classes and not STORY.search(" ".join(parsed.text.tokens[at:end])):
        return False
    if any(not WAYS.isdisjoint(hit.classes) and "carry_out" not in hit.classes for hit in hits):
        return False  # `plans` is a verb, too
    return "make_me" in classes or ("want" not in classes and not _orders(hits, at))


def _clause_ends(tokens: Sequence[str], at: int) -> int:
    return next((n for n in range(at, len(tokens)) if tokens[n] in CUTS), len(tokens))


def _orders(hits: Sequence[Hit], at: int) -> bool:
    return bool(hits) and hits[0].start == at and not VERBS.isdisjoint(hits[0].classes)


def _names_own_people(parsed: Parsed) -> bool:
    """True for `my boss`, and for a full name."""
    return any(
        "name" in hit.classes or (not NEAR_ASKER.isdisjoint(hit.classes) and is_the_askers(parsed.text, hit))
        for hit in parsed.known
    )


def _pressure(parsed: Parsed) -> tuple[float, tuple[Finding, ...]]:
    """Each kind counts once."""
    kinds = {kind: weight for kind, weight in PRESSURE.items() if f"press_{kind}" in parsed.counts}
    findings = tuple([Finding("pressure", f"press.{kind}", weight) for kind, weight in kinds.items()])
    return min(1.0, round(sum(kinds.values()), 4)), findings


def _despair(found: Harm, told: Despair, parsed: Parsed) -> None:
    """A writer who only says that they do not want to live is sent to help: this alone lowers a risk."""
    if told is Despair.ASKED:
        found.take("selfharm", DESPAIR, DESPAIR_ASKED)
    elif told is Despair.TOLD and not _overrides(parsed):
        found.settle("selfharm", DESPAIR, DESPAIR_TOLD)
    elif told is not Despair.NONE:
        found.take("selfharm", DESPAIR, DESPAIR_TOLD)


def _overrides(parsed: Parsed) -> bool:
    """True if it wants the rules talked away."""
    return sum(PRESSURE[kind] for kind in OVERRIDING if f"press_{kind}" in parsed.counts) >= PRESSED


def _under(overlay: Parsed, seen: TextRisk) -> TextRisk:
    """An overlay adds what it presses and asks for; being an instruction, it has no attack score."""
    more, why = _pressure(overlay)
    extra = find_harm(overlay.text, overlay.known, pressed=more >= PRESSED)
    for category, weight in extra.risk.items():
        seen.found.take(category, extra.by[category], weight)
    return seen._replace(pressure=max(seen.pressure, more), pressing=seen.pressing + why)


def _continues(message: str, text: Text, parsed: Parsed) -> float:
    """How much risk of earlier turns a message may take over: 1 if it names nothing of its own (`and then?`,
    `which chemicals?`), UNSURE if it may (`how do I mix it?`, `yes`), 0 if it is about something else."""
    if len(text.tokens) > SHORT:
        return 0.0
    if clarity.talks(message):
        return UNSURE if is_assent(message) else 0.0
    if ASSISTANT.match(text.folded):
        return 0.0
    if QUOTING.isdisjoint(text.folded) and POINTS_BACK.match(f" {' '.join(text.words)} ".replace(" '", "'")):
        return UNSURE
    if "covert" in parsed.counts or not clarity.names_something(text):
        return 1.0
    return _points_at(text, parsed.counts.keys())


def _points_at(text: Text, classes: AbstractSet[str]) -> float:
    """`_continues` for a message that names something: a means or a question without a verb in a few words,
    or a way of doing what a pronoun means."""
    if len(text.words) <= FEW:
        if not classes.isdisjoint(MEANS):
            return 1.0
        if not ASIDE.isdisjoint(text.words):
            return 0.0
        if FRAGMENT.match(f"{' '.join(text.words)} "):
            return 1.0
        if classes.isdisjoint(THINGS) and not classes.isdisjoint(FURTHER):
            return 1.0
    asks = "pronoun" in classes and not OPERATIVE.isdisjoint(classes)
    return UNSURE if asks and THINGS.isdisjoint(classes) else 0.0


def _with_earlier_turns(seen: TextRisk, thread: Sequence[str], carried_over: float) -> TextRisk:
    """Adds the risk, scores and pressure of earlier turns, weaker with each; risk at most `carried_over`."""
    left, pressure, scores = 1.0, seen.pressure, dict(seen.scores)
    for turn in reversed(thread[-TURNS:]):
        lent = _look(parse(read(turn)))
        for category, weight in lent.found.risk.items():
            if lent.found.by[category] != DESPAIR:
                seen.found.take(category, "earlier-turn", min(weight * left, carried_over))
        pressure = max(pressure, round(lent.pressure * left, 4))
        scores = {name: max(scores[name], round(score * left, 3)) for name, score in lent.scores.items()}
        left *= DECAY
    lends = (Finding("pressure", "earlier-turn", pressure),) if pressure > seen.pressure else ()
    return TextRisk(seen.found, scores, pressure, seen.pressing + lends)


def _despaired(found: Harm, parsed: Parsed, thread: Sequence[str]) -> None:
    """Adds the despair of earlier turns to a message that may be about dying, too."""
    left = DESPAIR_TOLD
    for turn in reversed(thread[-TURNS:]):
        earlier = reveal(read(turn), LEXICON).tokens
        if despair(earlier) is not Despair.NONE:
            found.take("selfharm", DESPAIR, left)
            if despair((*earlier, ".", *parsed.text.tokens)) is Despair.ASKED:
                found.take("selfharm", DESPAIR, DESPAIR_ASKED)
        left *= DECAY


def _stakes(counts: Mapping[str, int]) -> tuple[dict[str, float], tuple[Finding, ...]]:
    """One grave word .6, each further one .2; without any a weak word .2, each further .1."""
    stakes = dict.fromkeys(STAKES, 0.0)
    for kind in STAKES:
        grave, weak = counts.get(f"stake_{kind}", 0), counts.get(f"weak_{kind}", 0)
        level = 0.4 + 0.2 * grave + 0.1 * weak if grave else 0.1 + 0.1 * weak if weak else 0.0
        stakes[kind] = min(1.0, round(level, 4))
    return stakes, tuple(
        [Finding(f"stakes.{kind}", f"{kind}-words", level) for kind, level in stakes.items() if level]
    )
