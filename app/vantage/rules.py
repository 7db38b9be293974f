"""The table of rules: which class an answer has, by what the message is like. Readable as a policy document.

All rules that fire are told, in this order; the strictest class among them is the answer's (COMPLY, REDIRECT,
CLARIFY, NEGOTIATE, REFUSE). So a rule can only make an answer stricter, and raising a risk never makes one
laxer; but for one, which says so itself. Thresholds are on descriptors in [0, 1]. Source: CONTRACT §3.
"""

from collections.abc import Iterator, Mapping

from app.vantage.rule import MAY_ASK, RIVALLED, Rule, at_least, found_by, naming, under
from app.vantage.terms import ResponseClass

COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass
"""From the freest to the strictest."""

SURE = 0.7
"""Harm is asked for."""
LIKELY = 0.4
"""It may be."""
TRACE = 0.2
"""Something points that way: too little by itself."""
PRESSED = 0.5
"""An attempt to override the rules, beyond a firm word."""
ATTACKED = 0.4
"""Score of an attack: somebody tries to override, read out or turn aside what the model is told."""
SCORED = 0.65
"""Score of risk: it reads like a request for help in harm, whatever the table of acts and objects says."""
FLAGGED = 0.5
"""Scores of the outside service (VANTAGE_RISK_URL): more likely harm than not."""
UNCLEAR = 0.35
"""Below: nobody could tell what is wanted."""
GRAVE = 0.6
"""Stakes: much hangs on a right answer…"""
PERSONAL = 0.15
"""… and it is somebody's case, not a question of general interest."""
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
"""Categories of risk (`features.RISKS`) whose harm is to people, and what is asked for."""
SECRETS: Mapping[str, str] = {
    "secrets": "what is confidential",
    "extraction": "the rules and texts that are given to the model",
}
"""Those that are negotiated at most: nobody is injured."""
DESPAIR = "despair"
"""The finding of somebody who says that they do not want to live."""
RIVALS = "rivals"
"""The rule that asks back, naming what the search found."""
OUTSIDE_DISTRESS = "outside.distress"
DISTRESSED = frozenset({"emergency", "distress", OUTSIDE_DISTRESS, "selfharm.asked", "selfharm.likely"})
"""Rules that fire for people who may need help themselves: whatever the class, the answer says where."""

EMERGENCY = Rule(
    "emergency",
    REDIRECT,
    "Somebody's life may be in danger now: first of all, whom to call.",
    needs=(naming("emergencies"),),
)
DISTRESS = Rule(
    "distress",
    REDIRECT,
    "Somebody may not want to live: first of all, where people help.",
    (at_least(LIKELY, "risk.selfharm", below=SURE),),
    needs=(found_by(DESPAIR),),
)


def _risks() -> Iterator[Rule]:
    """Of each category: surely asked for, or perhaps."""
    for category, what in {**HARMS, **SECRETS}.items():
        sure = at_least(SURE, f"risk.{category}")
        maybe = at_least(LIKELY, f"risk.{category}", below=SURE)
        gives, final = (REFUSE, True) if category in HARMS else (NEGOTIATE, False)
        calm = (DISTRESS.id,) if category == "selfharm" else ()
        yield Rule(f"{category}.asked", gives, f"It asks for {what}.", (sure,), final=final)
        yield Rule(f"{category}.likely", NEGOTIATE, f"It may ask for {what}.", (maybe,), unless=calm)


RULES = (
    *_risks(),
    Rule(
        "pressed.harm",
        REFUSE,
        "It may ask for harm, and wants the rules talked away.",
        (at_least(LIKELY, *(f"risk.{category}" for category in HARMS)), at_least(PRESSED, "pressure")),
        final=True,
    ),
    Rule(
        "pressed.trace",
        NEGOTIATE,
        "Something points to harm, and it wants the rules talked away.",
        (at_least(TRACE, "risk.*"), at_least(PRESSED, "pressure")),
    ),
    Rule(
        "attack",
        NEGOTIATE,
        "It tries to override, read out or turn aside what the model is told.",
        (at_least(ATTACKED, "score.attack"),),
    ),
    Rule(
        "score",
        NEGOTIATE,
        "It reads like a request for help in harm. Who may be in danger is helped first.",
        (at_least(SCORED, "score.risk"),),
        unless=(EMERGENCY.id, DISTRESS.id),
    ),
    Rule(
        "outside.agrees",
        REFUSE,
        "It may ask for harm, and the outside service sees harm in it too.",
        (at_least(LIKELY, *(f"risk.{category}" for category in HARMS)), at_least(FLAGGED, "outside.harm")),
        final=True,
    ),
    Rule("outside", NEGOTIATE, "The outside service sees harm in it.", (at_least(FLAGGED, "outside.harm"),)),
    Rule("limits.refuse", REFUSE, "The asker set this topic aside.", needs=(naming("limits.refuse"),)),
    Rule(
        "limits.negotiate",
        NEGOTIATE,
        "The asker set terms for it.",
        needs=(naming("limits.negotiate"),),
    ),
    EMERGENCY,
    DISTRESS,
    Rule(
        OUTSIDE_DISTRESS,
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
        unless=(EMERGENCY.id, DISTRESS.id),
    ),
    Rule(
        RIVALS,
        CLARIFY,
        "Sources of equal strength answer differently, and the question does not say which of them it means.",
        needs=(RIVALLED, MAY_ASK),
        unless=(EMERGENCY.id, DISTRESS.id, OUTSIDE_DISTRESS),
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
"""The whole table."""
