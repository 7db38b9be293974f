"""Which act on which object is which harm: the policy of risk, first part continued, one rule a line.

As app/vantage/pairs.py: the noun the verb takes decides its sense. What is added here is mostly soft: it
negotiates, and refuses only what leaves no doubt. Class names: acts, objects, matters, marks, hints, targets.
"""

from app.vantage.harm import Harm

COUPLES = (
    Harm("hide-hurt", "selfharm", 0.65, "conceal", "wounds", unless="guard"),
    Harm(
        "because-group",
        "hate",
        0.7,
        "exclude bully hurt strike",
        "person relation",
        groups=("because", "group rights"),
        made=1,
    ),
    Harm(
        "invent-source",
        "misinformation",
        0.6,
        "invent forge",
        "source",
        groups=("claiming public name relation group",),
        made=1,
        know=0.2,
        unless="tale",
    ),
    Harm("invent-quote", "misinformation", 0.55, "invent forge", "quoted", made=1, know=0.2, unless="tale"),
    Harm(
        "read-theirs",
        "privacy",
        0.6,
        "peruse enter",
        "writing",
        groups=("relation others name covert",),
        know=0.2,
        told=0.3,
        unless="mine guard shared",
    ),
    Harm("unmask", "privacy", 0.6, "unmask", "faceless", know=0.2, told=0.3, unless="guard tale past"),
    Harm(
        "ruin-standing",
        "harassment",
        0.6,
        "wreck harsh break bully",
        "standing",
        groups=("person relation minor name",),
        unless="guard mine",
        made=1,
        know=0.2,
        told=0.3,
    ),
    Harm(
        "plunge",
        "violence",
        0.75,
        "hurl",
        "person relation minor group name",
        groups=("plunge",),
        know=0.2,
        told=0.3,
    ),
    Harm(
        "for-good", "violence", 0.65, "oust", "person relation name", groups=("for_good",), know=0.2, told=0.3
    ),
    Harm(
        "run-camp",
        "extremism",
        0.7,
        "operate repeat",
        "deathworks",
        unless="guard tale learn past",
        made=0.9,
        know=0.2,
    ),
    Harm("buy-paper", "fraud", 0.5, "purchase", "bought", know=0.2, told=0.3),
    Harm("rig", "fraud", 0.6, "rigging", "contest", know=0.2, told=0.3, made=0.9, unless="guard"),
    Harm("poison-point", "weapons", 0.6, "poison", "weapon point", know=0.2, told=0.3),
    Harm("get-past", "cyber", 0.5, "pry evade", "ward", know=0.2, told=0.3, unless="mine guard"),
    Harm("harm-another-self", "selfharm", 0.6, "kill hurt", "selves", unless="guard", know=0.4, told=0.7),
    Harm("obstruct", "violence", 0.65, "obstruct", "lifeline", know=0.2, told=0.3),
    Harm("abduct", "violence", 0.7, "abduct", "", know=0.2, told=0.3, unless="guard"),
    Harm("embezzle", "fraud", 0.65, "embezzle", "", know=0.2, told=0.3, unless="guard"),
    Harm("recreate-bomb", "weapons", 0.8, "repeat", "bomb toxin", know=0.2, told=0.3),
    Harm("batter-animal", "violence", 0.55, "batter", "animal", know=0.2, told=0.3),
)
"""What an act does to the object it takes."""
