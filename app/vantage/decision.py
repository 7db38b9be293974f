"""Which of the five classes an answer has. Pure, total: any descriptors, limits and routing give exactly one.

The strictest class of the rules that fire (`rules.py`), then the asker's routing (`routes.py`). A REFUSE of
the risk rules is final: no routing touches it. Under 1 ms. Source: CONTRACT §3. Nothing here raises.
"""

from collections.abc import Iterator
from math import inf

from app.vantage.alarm import alarmed
from app.vantage.policy import policy, version
from app.vantage.reading import Levels, levels
from app.vantage.routes import routed
from app.vantage.rule import MAY_ASK, RIVALLED, found_by, naming
from app.vantage.rules import CLARIFY, REFUSE, RIVALS, RULES
from app.vantage.terms import Decision, Descriptors, Evidence, Limits, Params, ResponseClass, Routing
from app.vantage.topics import named as met

__all__ = ["decide", "policy"]

CLASSES = tuple(ResponseClass)
STRICTNESS = {kind: place for place, kind in enumerate(ResponseClass)}
_GIVES = tuple(STRICTNESS[rule.gives] for rule in RULES)
_FREE = sum(1 << place for place, rule in enumerate(RULES) if not rule.raised)
"""Rules that may hold whatever is 0, a bit for each place."""


def _raising() -> dict[str, list[tuple[float, float, int]]]:
    found: dict[str, list[tuple[float, float, int]]] = {}
    for place, rule in enumerate(RULES):
        if (bound := rule.raised) and bound.at_least:
            below = inf if bound.below is None else bound.below
            for name in bound.names:
                found.setdefault(name, []).append((bound.at_least, below, 1 << place))
    return found


_RAISED = _raising()
"""By descriptor, from which level on, and below which, it may make a rule hold, and that one's bit."""
_FOUND = {
    need.removeprefix(found_by("")): need
    for rule in RULES
    for need in rule.needs
    if need.startswith(found_by(""))
}
"""By evidence, the facts that rules need."""
_ALARMED = naming("emergencies")
DEFAULT = "default"
"""Told where no rule fires: nothing speaks against an answer."""


def decide(
    sd: Descriptors,
    params: Params,
    limits: Limits,
    routing: Routing,
    evidence: Evidence | None = None,
) -> Decision:
    """The class, and all rules that fired, in the order of the policy; then what routing did to it."""
    rivals = evidence.rivals if evidence else ()
    fired = _fired(levels(sd, evidence), _facts(sd, params, limits) | ({RIVALLED} if rivals else set()))
    given = CLASSES[max([_GIVES[place] for place in fired], default=0)]
    final = given is REFUSE and any(RULES[place].final and RULES[place].gives is REFUSE for place in fired)
    steps = [] if final else list(routed(given, routing))
    ids = (*([RULES[place].id for place in fired] or [DEFAULT]), *(name for name, _ in steps))
    kind = steps[-1][1] if steps else given
    asks = kind is CLARIFY and RIVALS in ids
    names = tuple(rival.name for rival in rivals) if asks else ()
    return Decision(kind, ids, version(), final=final, names=names)


def _fired(seen: Levels, facts: set[str]) -> list[int]:
    """The places of the rules that hold, in their order."""
    hold: dict[str, int] = {}
    for place in _places(seen):
        rule = RULES[place]
        if rule.holds(seen, facts):
            hold[rule.id] = place
    return [place for place in hold.values() if hold.keys().isdisjoint(RULES[place].unless)]


def _places(seen: Levels) -> Iterator[int]:
    """Of the rules that may hold, in their order."""
    bits = _FREE
    for name, level in seen.items():
        if level and name in _RAISED:
            for least, below, bit in _RAISED[name]:
                if least <= level < below:
                    bits |= bit
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _facts(sd: Descriptors, params: Params, limits: Limits) -> set[str]:
    """What rules need beside descriptors: topics of the asker and emergencies that the message names, how it
    was found, whether the answer may ask."""
    facts = {_FOUND[finding.evidence] for finding in sd.findings if finding.evidence in _FOUND}
    for name, topics in (("limits.refuse", limits.refuse), ("limits.negotiate", limits.negotiate)):
        if topics and met(topics, sd.terms):
            facts.add(naming(name))
    if alarmed(sd.terms):
        facts.add(_ALARMED)
    if params.question_budget >= 1:
        facts.add(MAY_ASK)
    return facts
