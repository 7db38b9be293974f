"""The descriptors of a message, from its text alone: `extract_sd_features`, the first step of the policy.

Risk by category, stakes, pressure, two learned scores, and clarity, specificity, affect and breadth; all in
[0, 1]. Tables and bundled weights: no clock, no randomness, no remote model. An overlay adds to risk and
pressure and takes nothing away; earlier turns lend their risk to a message that only points back to them.
Nothing here raises.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from app.vantage import clarity, topics
from app.vantage.decision import ATTACKED, DESPAIR, PRESSED, SURE
from app.vantage.distress import Despair, despair
from app.vantage.lexicon import LEXICON, Hit, hits
from app.vantage.risk import RISKS, RULES, Harm, find_harm
from app.vantage.score import score
from app.vantage.terms import Descriptors, Finding
from app.vantage.text import ENDS, Text, read, reveal

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
"""Pressure that each kind of phrase of `pressure.txt` adds; each kind counts once."""
OVERRIDING = frozenset({"override", "persona", "extract", "suppress"})
"""Kinds that want the rules talked away; who despairs may well beg or threaten, too."""
EXTRACTED = 0.6
"""How surely the rules are asked for where such phrases are used."""
DESPAIR_TOLD, DESPAIR_ASKED = 0.6, 0.8
"""Self-harm where somebody says that they do not want to live, and where they ask for a way, too."""
HINTED = 0.2
"""Attack score from which such a phrase counts: `the text above` alone asks for no rules."""
DOUBTFUL = 0.45
"""Score of risk below which the table's rules refuse nothing: a rule that would refuse negotiates, so that no
story around a request frees it, and one that would negotiate is not held."""
NOT_HELD, NEGOTIATED = 0.35, 0.4
"""The risk that such a veto leaves: below what negotiates, and just that."""
GRAVITY = {rule.id: rule.weight for rule in RULES}
UNVETOED = frozenset({"selfharm", "minors"})
TURNS = 6
"""Earlier turns that are looked at, the latest."""
DECAY = 0.85
"""Share of a turn's risk that is left one turn later."""
SHORT = 25
"""Words: a longer message says itself what it is about."""
POINTING = frozenset({"pronoun", "covert"})


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


def extract_sd_features(message: str, thread: Sequence[str] = (), overlay: str = "") -> Descriptors:
    """The descriptors of a message, after the user's turns `thread`, oldest first, and under an `overlay`."""
    text = read(message)
    parsed = parse(text)
    pressure, pressing = _pressure(parsed)
    found, scores = _harm(parsed, pressure)
    _despair(found, despair(parsed.text.tokens), parsed)
    if "press_extract" in parsed.counts and scores["attack"] >= HINTED:
        found.take("extraction", "press.extract", EXTRACTED)
    if overlay:
        pressure, pressing = _under(parse(read(overlay)), found, pressure, pressing)
    if scores["attack"] >= ATTACKED:
        pressure = max(pressure, scores["attack"])
        pressing += (Finding("pressure", "score.attack", scores["attack"]),)
    if thread and _points_back(message, text, parsed):
        _lend(found, thread)
    stakes, weighed = _stakes(parsed.counts)
    reading = clarity.describe(message, text, thread)
    return Descriptors(
        clarity=reading.clarity,
        specificity=reading.specificity,
        risk=found.levels(),
        stakes=stakes,
        pressure=pressure,
        affect=reading.affect,
        breadth=reading.breadth,
        terms=topics.terms(message, text),
        scores=scores,
        findings=(*found.findings(), *pressing, *weighed, *reading.findings),
    )


def _harm(parsed: Parsed, pressure: float) -> tuple[Harm, Mapping[str, float]]:
    """The harm that the table finds in a text, as far as its scores agree, and the scores."""
    found = find_harm(parsed.text, parsed.known, pressed=pressure >= PRESSED)
    scores = score(parsed.text, parsed.known, _fired(found))
    if pressure < PRESSED and scores["attack"] < ATTACKED and scores["risk"] < DOUBTFUL:
        _veto(found, parsed.text)
    return found, scores


def _veto(found: Harm, text: Text) -> None:
    """A low score of the sentence in which a rule fired, too, limits what the rule gives."""
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


def _under(
    overlay: Parsed,
    found: Harm,
    pressure: float,
    pressing: tuple[Finding, ...],
) -> tuple[float, tuple[Finding, ...]]:
    """An overlay adds what it presses and asks for; being an instruction, it has no attack score."""
    more, why = _pressure(overlay)
    extra = find_harm(overlay.text, overlay.known, pressed=more >= PRESSED)
    for category, weight in extra.risk.items():
        found.take(category, extra.by[category], weight)
    return max(pressure, more), pressing + why


def _points_back(message: str, text: Text, parsed: Parsed) -> bool:
    """True if a short message asks for what was asked before: it points back and names nothing itself."""
    if len(text.tokens) > SHORT or POINTING.isdisjoint(parsed.counts) or clarity.talks(message):
        return False
    return "covert" in parsed.counts or not clarity.names_something(text)


def _lend(found: Harm, thread: Sequence[str]) -> None:
    """The risk of earlier turns, weaker with each turn since."""
    left = 1.0
    for turn in reversed(thread[-TURNS:]):
        left *= DECAY
        earlier = parse(read(turn))
        for category, weight in _harm(earlier, pressure=0.0)[0].risk.items():
            found.take(category, "earlier-turn", weight * left)
        if despair(earlier.text.tokens) is not Despair.NONE:
            found.take("selfharm", DESPAIR, DESPAIR_TOLD * left)


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
