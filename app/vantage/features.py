"""What a message is like, from its text alone: `extract_sd_features`, the first step of the policy.

Risk by category, stakes, pressure, and (app/vantage/clarity.py) clarity, specificity, affect, breadth; all
in [0, 1]. No model, no clock, no randomness, no hash order. Earlier turns lend their risk to a message that
only points back to them. Source: CONTRACT §3, seed 003 (3.3). Nothing here raises.
"""

from collections.abc import Sequence
from functools import reduce
from operator import attrgetter, or_

from app.vantage import clarity, disguise, topics, words
from app.vantage.clause import Clause, split
from app.vantage.decision import ATTACKED, DESPAIR
from app.vantage.distress import Despair, despair
from app.vantage.harms import RISKS
from app.vantage.lexicon import BITS, bits
from app.vantage.pressing import PRESSING
from app.vantage.risk import Found, mapping, weigh
from app.vantage.score import score
from app.vantage.stakes import STAKES_WORDS
from app.vantage.terms import Descriptors, Finding
from app.vantage.words import Text

__all__ = ["RISKS", "STAKES", "extract_sd_features"]

STAKES = tuple(STAKES_WORDS)
"""medical, legal, money."""

PRESSED = 0.5
"""From here on it is an attempt to override the rules, and nothing in the text lowers its risk."""

EXTRACTED = 0.6
"""How surely the rules are asked for where the words of it are used."""

TOLD, METHOD = 0.6, 0.8
"""Self-harm where somebody tells that they do not want to live, and where they ask for a way, too."""

TURNS = 6
"""Earlier turns that are looked at, the latest."""

DECAY = 0.85
"""What is left of a turn's risk, a turn later, for a message that points back to it."""

SHORT = 25
"""Words: a longer message says itself what it is about."""

POINTING = bits("it covert")
_PRESS = tuple((kind, weight, BITS[f"press_{kind}"]) for kind, (weight, _) in PRESSING.items())
_PRESSES = bits(" ".join(f"press_{kind}" for kind in PRESSING))
_STAKES = bits(" ".join(f"stake_{kind} weak_{kind}" for kind in STAKES))
_TOGETHER = attrgetter("whole")
_STAKE = tuple((kind, BITS[f"stake_{kind}"], BITS[f"weak_{kind}"]) for kind in STAKES)


def extract_sd_features(message: str, thread: Sequence[str] = (), overlay: str = "") -> Descriptors:
    """The descriptors of a message, after the user's turns `thread`, oldest first, and under an `overlay`."""
    text = words.read(message)
    plain, clauses = _clauses(text)
    whole = _whole(clauses)
    pressure, pressing = _pressure(whole)
    scores = score(plain.folded)
    found = weigh(plain, clauses, pressure >= PRESSED)
    _despair(found, despair(plain.tokens), pressure)
    if any(finding.evidence == "press.extract" for finding in pressing):
        found.take("extraction", "press.extract", EXTRACTED)
    if overlay:
        pressure, pressing = _under(overlay, found, pressure, pressing)
        scores = scores._replace(attack=max(scores.attack, score(words.fold(overlay)).attack))
    if scores.attack >= ATTACKED:
        pressure = max(pressure, scores.attack)
        pressing += (Finding("pressure", "score.attack", scores.attack),)
    if thread and _points_back(plain, clauses):
        _lend(found, thread)
    stakes, weighed = _stakes(clauses if whole & _STAKES else ())
    reading = clarity.read(message, text, thread)
    return Descriptors(
        clarity=reading.clarity,
        specificity=reading.specificity,
        risk=mapping(found, RISKS),
        stakes=stakes,
        pressure=pressure,
        affect=reading.affect,
        breadth=reading.breadth,
        terms=topics.terms(message, text),
        scores=scores._asdict(),
        findings=(*found.findings(), *pressing, *weighed, *reading.findings),
    )


def _despair(found: Found, told: Despair, pressure: float) -> None:
    """Who only tells of it is sent to help; this alone lowers a risk; overlay and thread come later."""
    if told is Despair.ASKED:
        found.take("selfharm", DESPAIR, METHOD)
    elif told is Despair.TOLD and pressure < PRESSED:
        found.settle("selfharm", DESPAIR, TOLD)
    elif told is not Despair.NONE:
        found.take("selfharm", DESPAIR, TOLD)


def _clauses(text: Text) -> tuple[Text, list[Clause]]:
    """What was disguised in it written plainly, and its clauses."""
    plain = disguise.plainly(text)
    return plain, split(plain)


def _pressure(whole: int) -> tuple[float, tuple[Finding, ...]]:
    """Each kind counts once."""
    if not whole & _PRESSES:
        return 0.0, ()
    kinds = [(kind, weight) for kind, weight, bit in _PRESS if whole & bit]
    findings = tuple(Finding("pressure", f"press.{kind}", weight) for kind, weight in kinds)
    return min(1.0, round(sum(weight for _, weight in kinds), 4)), findings


def _whole(clauses: list[Clause]) -> int:
    """All classes of the text together."""
    return reduce(or_, map(_TOGETHER, clauses), 0)


def _under(
    overlay: str, found: Found, pressure: float, pressing: tuple[Finding, ...]
) -> tuple[float, tuple[Finding, ...]]:
    """An overlay adds what it presses and asks for; it takes nothing away."""
    plain, clauses = _clauses(words.read(overlay))
    more, why = _pressure(_whole(clauses))
    extra = weigh(plain, clauses, more >= PRESSED)
    for category, weight in extra.risk.items():
        found.take(category, extra.by[category], weight)
    return (max(pressure, more), pressing + why) if more else (pressure, pressing)


def _points_back(plain: Text, clauses: list[Clause]) -> bool:
    return len(plain.tokens) <= SHORT and any(clause.whole & POINTING for clause in clauses)


def _lend(found: Found, thread: Sequence[str]) -> None:
    left = 1.0
    for turn in reversed(thread[-TURNS:]):
        left *= DECAY
        earlier, clauses = _clauses(words.read(turn))
        for category, weight in weigh(earlier, clauses, False).risk.items():
            found.take(category, "earlier-turn", weight * left)


def _stakes(clauses: Sequence[Clause]) -> tuple[dict[str, float], tuple[Finding, ...]]:
    """One strong word .6, each further .2; a weak one .2, each further .1."""
    stakes = dict.fromkeys(STAKES, 0.0)
    staked = [have for clause in clauses if clause.whole & _STAKES for have in clause.masks if have & _STAKES]
    if not staked:
        return stakes, ()
    for kind, strong, weak in _STAKE:
        stakes[kind] = _stake(staked, strong, weak)
    findings = tuple(
        Finding(f"stakes.{kind}", f"{kind}-words", weight) for kind, weight in stakes.items() if weight
    )
    return stakes, findings


def _stake(staked: list[int], strong: int, weak: int) -> float:
    """Of the words of one kind."""
    heavy = len([1 for have in staked if have & strong])
    light = len([1 for have in staked if have & weak])
    if heavy:
        return min(1.0, round(0.4 + 0.2 * heavy + 0.1 * light, 4))
    return min(1.0, round(0.1 + 0.1 * light, 4)) if light else 0.0
