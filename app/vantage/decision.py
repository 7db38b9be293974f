"""Which of the five classes an answer gets: the table of rules, and how it is applied.

`decide` is pure and total: any descriptors, limits and routing give exactly one class. Every rule is tested;
the strictest class of those that fire is the answer's, so a rule can only make an answer stricter. Then the
caller's routing applies, unless a `final` rule fired. Thresholds are on descriptors in [0, 1]. Well under
1 ms. Source: docs/contract.md. Nothing here raises.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import TypeAlias

from app.vantage.distress import alarmed
from app.vantage.terms import Decision, Descriptors, Evidence, Limits, Params, ResponseClass, Routing
from app.vantage.topics import named
from app.vantage.version import version

COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass
STRICTNESS = {kind: place for place, kind in enumerate(ResponseClass)}

# Thresholds
SURE = 0.7
"""Risk: harm is asked for."""
LIKELY = 0.4
"""Risk: harm may be asked for."""
TRACE = 0.2
"""Risk: something points to harm, too little by itself."""
PRESSED = 0.5
"""Pressure: an attempt to override the rules, beyond a firm word."""
ATTACKED = 0.27
"""Attack score: the text tries to override, read out or redirect the model's instructions."""
SCORED = 0.58
"""Risk score: the text reads like a request for help in harm, whatever the risk rules found."""
FLAGGED = 0.5
"""Score of the outside service (VANTAGE_RISK_URL): more likely harm than not."""
UNCLEAR = 0.35
"""Clarity: below it nobody could tell what is wanted."""
GRAVE = 0.6
"""Stakes: much depends on a right answer."""
PERSONAL = 0.15
"""Specificity: somebody's own case, not a question of general interest."""

# Categories of risk (`risk.RISKS`)
HARMS: Mapping[str, str] = {
    "violence": "violence against people or animals",
    "weapons": "weapons, explosives or poisons",
    "drugs": "drugs that the law forbids",
    "selfharm": "a way to harm oneself",
    "sexual": "sexual violence, or sexual content",
    "minors": "sexual content or acts with minors",
    "hate": "hatred of people for what they are",
    "harassment": "harassing, stalking or threatening somebody",
    "privacy": "what is private to somebody else",
    "theft": "taking what is another's",
    "fraud": "deceiving people for gain, or forging",
    "cyber": "breaking into systems, or harming them",
    "extremism": "terror, or praise of it",
    "misinformation": "falsehoods made to be believed",
    "advice": "advice that could injure who follows it",
}
"""Categories that harm people: refused when surely asked for, whatever the caller's routing."""
SECRETS: Mapping[str, str] = {
    "secrets": "what is confidential",
    "extraction": "the rules and texts that are given to the model",
}
"""Categories that injure nobody: negotiated at most."""

# Facts that rules need beside the descriptors, worded as the published policy shows them
MAY_ASK = "question_budget ≥ 1"
RIVALLED = "the search found rival sources"
"""Sources of equal strength answer differently (`rivals.py`)."""
REFUSED_TOPIC = "the message names one of limits.refuse"
NEGOTIATED_TOPIC = "the message names one of limits.negotiate"
IN_EMERGENCY = "the message names one of emergencies"
DESPAIR = "despair"
"""Evidence of the finding that the writer does not want to live."""
IN_DESPAIR = f"found by {DESPAIR}"
FICTION = "fiction"
"""Evidence of the finding that a tale is wanted, and no way of doing what happens in it."""
IN_FICTION = f"found by {FICTION}"

Levels: TypeAlias = Mapping[str, float]
"""Descriptors by name (`clarity`, `risk.violence`, `risk.*` for the highest risk), all in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The highest of some descriptors is at least, or below, a threshold."""

    names: tuple[str, ...]
    at_least: float | None = None
    below: float | None = None

    def holds(self, levels: Levels) -> bool:
        """True if descriptors meet it. A missing one is 0."""
        names = self.names
        value = max([levels.get(name, 0.0) for name in names]) if names[1:] else levels.get(names[0], 0.0)
        if self.at_least is not None and value < self.at_least:
            return False
        return self.below is None or value < self.below

    def text(self) -> str:
        """As the published policy shows it: `risk.* ≥ 0.7`."""
        name = " or ".join(self.names)
        least = [] if self.at_least is None else [f"{name} ≥ {self.at_least:g}"]
        below = [] if self.below is None else [f"{name} < {self.below:g}"]
        return " and ".join(least + below)


def at_least(threshold: float, *names: str, below: float | None = None) -> Condition:
    """One of the descriptors reaches the threshold, and none reaches `below`."""
    return Condition(names, at_least=threshold, below=below)


def under(threshold: float, *names: str) -> Condition:
    """All of the descriptors are below the threshold."""
    return Condition(names, below=threshold)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the policy: the class that it gives, why, and when. `risk.HarmRule` is another thing."""

    id: str
    gives: ResponseClass
    says: str
    when: tuple[Condition, ...] = ()
    """All must hold."""
    needs: tuple[str, ...] = ()
    """Facts, all of which are needed."""
    unless: tuple[str, ...] = ()
    """Rules whose own conditions, when they hold, keep this one from firing."""
    final: bool = False
    """No routing lifts its REFUSE."""

    def holds(self, levels: Levels, facts: set[str]) -> bool:
        """True if its own conditions hold; `unless` is up to the caller."""
        for condition in self.when:
            if not condition.holds(levels):
                return False
        return facts.issuperset(self.needs)

    def text(self) -> str:
        """All of its conditions, as the published policy shows them."""
        never = [f"not {name}" for name in self.unless]
        return " and ".join([*(condition.text() for condition in self.when), *self.needs, *never])


def _asked(category: str, what: str) -> Rule:
    """Harm of a category is surely asked for."""
    harms = category in HARMS
    gives = REFUSE if harms else NEGOTIATE
    condition = at_least(SURE, f"risk.{category}")
    return Rule(f"{category}.asked", gives, f"It asks for {what}.", (condition,), final=harms)


def _likely(category: str, what: str) -> Rule:
    """Harm of a category may be asked for."""
    condition = at_least(LIKELY, f"risk.{category}", below=SURE)
    unless = {"selfharm": ("distress",), "violence": ("emergency",)}.get(category, ())
    return Rule(f"{category}.likely", NEGOTIATE, f"It may ask for {what}.", (condition,), unless=unless)


_MAY_HARM = at_least(LIKELY, *(f"risk.{category}" for category in HARMS))
_MAY_HARM_OTHERS = at_least(LIKELY, *(f"risk.{category}" for category in HARMS if category != "selfharm"))
_IN_DANGER = ("emergency", "distress")
RIVALS = "rivals"
"""The rule that asks back and names what the search found."""
RULES = (
    *(rule(*entry) for entry in {**HARMS, **SECRETS}.items() for rule in (_asked, _likely)),
    Rule(
        "pressed.harm",
        REFUSE,
        "It may ask for harm to others, and wants the rules talked away.",
        (_MAY_HARM_OTHERS, at_least(PRESSED, "pressure")),
        final=True,
    ),
    Rule(
        "pressed.trace",
        NEGOTIATE,
        "Something points to harm, and it wants the rules talked away. Who despairs is helped first.",
        (at_least(TRACE, "risk.*"), at_least(PRESSED, "pressure")),
        unless=("distress",),
    ),
    Rule(
        "attack",
        NEGOTIATE,
        "It tries to override, read out or turn aside what the model is told. Who despairs is helped first.",
        (at_least(ATTACKED, "score.attack"),),
        unless=("distress",),
    ),
    Rule(
        "score",
        NEGOTIATE,
        "It reads like a request for help in harm, and is no tale. Who may be in danger is helped first.",
        (at_least(SCORED, "score.risk"),),
        unless=(*_IN_DANGER, FICTION),
    ),
    Rule(
        "outside.agrees",
        REFUSE,
        "It may ask for harm, and the outside service sees harm in it too.",
        (_MAY_HARM, at_least(FLAGGED, "outside.harm")),
        unless=("distress",),
        final=True,
    ),
    Rule(
        "outside",
        NEGOTIATE,
        "The outside service sees harm in it. Who may be in danger is helped first.",
        (at_least(FLAGGED, "outside.harm"),),
        unless=_IN_DANGER,
    ),
    Rule("limits.refuse", REFUSE, "The asker set this topic aside.", needs=(REFUSED_TOPIC,)),
    Rule("limits.negotiate", NEGOTIATE, "The asker set terms for it.", needs=(NEGOTIATED_TOPIC,)),
    Rule(
        "emergency",
        REDIRECT,
        "Somebody's life may be in danger now: first of all, whom to call.",
        needs=(IN_EMERGENCY,),
    ),
    Rule(
        "distress",
        REDIRECT,
        "Somebody may not want to live: first of all, where people help.",
        (at_least(LIKELY, "risk.selfharm", below=SURE),),
        needs=(IN_DESPAIR,),
    ),
    Rule(
        "outside.distress",
        REDIRECT,
        "The outside service hears somebody who may not want to live: first of all, where people help.",
        (at_least(FLAGGED, "outside.selfharm"),),
    ),
    Rule(
        "unclear",
        CLARIFY,
        "It names nothing, so nobody could tell what is wanted. Who may be in danger is not asked back.",
        (under(UNCLEAR, "clarity"),),
        needs=(MAY_ASK,),
        unless=_IN_DANGER,
    ),
    Rule(
        RIVALS,
        CLARIFY,
        "Sources of equal strength answer differently, and the question does not say which of them it means.",
        needs=(RIVALLED, MAY_ASK),
        unless=(*_IN_DANGER, "outside.distress"),
    ),
    Rule(
        FICTION,
        COMPLY,
        "A tale in which harm is done, without a way of doing it.",
        needs=(IN_FICTION,),
    ),
    Rule(
        "pressed",
        COMPLY,
        "It wants the rules talked away, to no harm: it is answered, and the rules stand.",
        (at_least(PRESSED, "pressure"),),
    ),
    Rule(
        "careful",
        COMPLY,
        "Much hangs on a right answer in somebody's own case: with more care, and whom to ask.",
        (at_least(GRAVE, "stakes.*"), at_least(PERSONAL, "specificity")),
    ),
)
"""The whole table, in the order in which fired rules are listed."""
DISTRESSED = frozenset({"emergency", "distress", "outside.distress", "selfharm.asked", "selfharm.likely"})
"""Rules about people who may need help themselves: whatever the class, the answer says where help is."""
DEFAULT = "default"
"""Listed where no rule fires: nothing speaks against an answer."""
ORDER = (
    "A rule that is final gives REFUSE, and nothing below touches it.",
    "Else the strictest class of all rules that fire; COMPLY if none does.",
    "routing.redirect: one look-up of that class; its result is not looked up again.",
    "routing.force: that class instead.",
    "routing.forbid: if that class is forbidden, the first of its detours that is not; else REFUSE.",
)
"""How one class comes of many rules, step by step."""
DETOURS: Mapping[ResponseClass, tuple[ResponseClass, ...]] = {
    COMPLY: (NEGOTIATE, REDIRECT, CLARIFY, REFUSE),
    REDIRECT: (NEGOTIATE, CLARIFY, REFUSE, COMPLY),
    CLARIFY: (NEGOTIATE, REFUSE, REDIRECT, COMPLY),
    NEGOTIATE: (REFUSE, CLARIFY, REDIRECT, COMPLY),
    REFUSE: (NEGOTIATE, CLARIFY, REDIRECT, COMPLY),
}
"""The class instead of a forbidden one: stricter ones first, and of those the one that still serves."""


def decide(
    sd: Descriptors,
    params: Params,
    limits: Limits,
    routing: Routing,
    evidence: Evidence | None = None,
) -> Decision:
    """The class, and the ids of the rules that fired in the order of the table, then of the routing steps."""
    seen, known = levels(sd, evidence), facts(sd, params, limits, evidence)
    fired = firing(seen, known)
    given = max((rule.gives for rule in fired), key=STRICTNESS.__getitem__, default=COMPLY)
    final = any(rule.final for rule in fired)
    steps = {} if final else dict(routed(given, routing))
    ids = (*([rule.id for rule in fired] or [DEFAULT]), *steps)
    kind = [given, *steps.values()][-1]
    rivals = evidence.rivals if evidence and kind is CLARIFY and RIVALS in ids else ()
    return Decision(kind, ids, version(), final=final, names=tuple([rival.name for rival in rivals]))


def firing(levels: Levels, facts: set[str]) -> list[Rule]:
    """The rules whose conditions hold, but for those that another holding rule keeps from firing."""
    holding = {rule.id: rule for rule in RULES if rule.holds(levels, facts)}
    return [rule for rule in holding.values() if holding.keys().isdisjoint(rule.unless)]


def routed(given: ResponseClass, routing: Routing) -> Iterator[tuple[str, ResponseClass]]:
    """Each routing step that changes the class, in order: its id and the class that it gives.

    A redirect is one look-up, not a chain. Forbidding comes last: what is forbidden is not even forced."""
    now = given
    wishes = {"routing.redirect": routing.redirect.get(given), "routing.force": routing.force}
    for step, wish in wishes.items():
        if wish is not None and wish is not now:
            now = wish
            yield step, now
    if now in routing.forbid:
        allowed = (kind for kind in DETOURS[now] if kind not in routing.forbid)
        then = next(allowed, REFUSE)
        if then is not now:
            yield "routing.forbid", then


def facts(sd: Descriptors, params: Params, limits: Limits, evidence: Evidence | None = None) -> set[str]:
    """The facts about a message beside its descriptors."""
    true = {
        REFUSED_TOPIC: bool(named(limits.refuse, sd.terms)),
        NEGOTIATED_TOPIC: bool(named(limits.negotiate, sd.terms)),
        IN_EMERGENCY: alarmed(sd.terms),
        IN_DESPAIR: any(finding.evidence == DESPAIR for finding in sd.findings),
        IN_FICTION: any(finding.evidence == FICTION for finding in sd.findings),
        RIVALLED: bool(evidence and evidence.rivals),
        MAY_ASK: params.question_budget >= 1,
    }
    return {fact for fact, holds in true.items() if holds}


def levels(sd: Descriptors, evidence: Evidence | None = None) -> Levels:
    """Descriptors by name, each clamped to [0, 1]; `outside.*` only where there is such a score.

    NaN counts as the worst for risk, pressure and scores, as 1 for clarity, and as 0 for the rest."""
    found = {
        "clarity": _clamped(sd.clarity, 1.0),
        "specificity": _clamped(sd.specificity),
        "pressure": _clamped(sd.pressure, 1.0),
        "affect": _clamped(sd.affect),
        "breadth": _clamped(sd.breadth),
        **{f"score.{name}": _clamped(value, 1.0) for name, value in sd.scores.items()},
    }
    for kind, table, unsure in (("risk", sd.risk, 1.0), ("stakes", sd.stakes, 0.0)):
        shares = {f"{kind}.{name}": _clamped(value, unsure) for name, value in table.items()}
        found |= shares
        found[f"{kind}.*"] = max(shares.values(), default=0.0)
    if evidence:
        said = {"outside.harm": evidence.harm, "outside.selfharm": evidence.selfharm}
        found |= {name: _clamped(score) for name, score in said.items() if score is not None}
    return found


def _clamped(value: float, unsure: float = 0.0) -> float:
    return unsure if isnan(value) else min(1.0, max(0.0, value))
