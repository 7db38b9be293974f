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
_FREE = frozenset(place for place, rule in enumerate(RULES) if not rule.raised)
"""Places of rules that may hold whatever is 0."""
_RAISED = {
    name: frozenset(place for place, rule in enumerate(RULES) if name in rule.raised)
    for name in frozenset().union(*(rule.raised for rule in RULES))
}
"""By descriptor, those that it alone may make hold when it is above 0: most are 0."""
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
    places = _FREE.union(*[_RAISED[name] for name, level in seen.items() if level and name in _RAISED])
    hold = {rule.id: rule for rule in map(RULES.__getitem__, sorted(places)) if rule.holds(seen, facts)}
    return [rule for rule in hold.values() if not rule.unless or hold.keys().isdisjoint(rule.unless)]


def _facts(sd: Descriptors, params: Params, limits: Limits) -> set[str]:
    """What rules need beside descriptors: topics of the asker and emergencies that the message names, how it
    was found, whether the answer may ask."""
    facts = {found_by(finding.evidence) for finding in sd.findings}
    for name, topics in (("limits.refuse", limits.refuse), ("limits.negotiate", limits.negotiate)):
        if topics and met(topics, sd.terms):
            facts.add(naming(name))
    if alarmed(sd.terms):
        facts.add(naming("emergencies"))
    if params.question_budget >= 1:
        facts.add(MAY_ASK)
    return facts
