"""Which of the five classes an answer has. Pure, total: any descriptors, limits and routing give exactly one.

The strictest class of the rules that fire (`rules.py`), then the asker's routing (`routes.py`). A REFUSE of
the risk rules is final: no routing touches it. Under 1 ms. Source: CONTRACT §3. Nothing here raises.
"""

from app.vantage.alarm import alarmed
from app.vantage.policy import policy, version
from app.vantage.reading import levels
from app.vantage.routes import routed
from app.vantage.rule import MAY_ASK, Rule, found_by, naming
from app.vantage.rules import COMPLY, REFUSE, RULES
from app.vantage.terms import Decision, Descriptors, Limits, Params, ResponseClass, Routing
from app.vantage.topics import named as met

__all__ = ["decide", "policy"]

STRICTNESS = {kind: place for place, kind in enumerate(ResponseClass)}
_RAISED = tuple((rule, rule.raised) for rule in RULES)
"""Most rules need a descriptor above 0, and most descriptors are 0."""
DEFAULT = "default"
"""Told where no rule fires: nothing speaks against an answer."""


def decide(sd: Descriptors, params: Params, limits: Limits, routing: Routing) -> Decision:
    """The class, and all rules that fired, in the order of the policy; then what routing did to it."""
    fired = _fired(sd, params, limits)
    given = max((rule.gives for rule in fired), key=STRICTNESS.__getitem__, default=COMPLY)
    final = any(rule.final and rule.gives is REFUSE for rule in fired)
    steps = [] if final else list(routed(given, routing))
    ids = (*([rule.id for rule in fired] or [DEFAULT]), *(name for name, _ in steps))
    return Decision(steps[-1][1] if steps else given, ids, version(), final=final)


def _fired(sd: Descriptors, params: Params, limits: Limits) -> list[Rule]:
    """The rules that hold, in their order."""
    seen, facts = levels(sd), _facts(sd, params, limits)
    raised = {name for name, level in seen.items() if level}
    hold = {
        rule.id: rule
        for rule, names in _RAISED
        if not (names and names.isdisjoint(raised)) and rule.holds(seen, facts)
    }
    return [rule for rule in hold.values() if hold.keys().isdisjoint(rule.unless)]


def _facts(sd: Descriptors, params: Params, limits: Limits) -> set[str]:
    """What rules need beside descriptors: topics of the asker and emergencies that the message names, how it
    was found, whether the answer may ask."""
    sets = {"limits.refuse": limits.refuse, "limits.negotiate": limits.negotiate}
    named = {naming(name) for name, topics in sets.items() if topics and met(topics, sd.terms)}
    if alarmed(sd.terms):
        named.add(naming("emergencies"))
    facts = named | {found_by(finding.evidence) for finding in sd.findings}
    return facts | {MAY_ASK} if params.question_budget >= 1 else facts
