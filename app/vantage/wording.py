"""The policy's own texts: what is said where no chat model is configured, or its text broke its class.

English alone, whatever the language of the message: a text that nobody can check in forty languages is better
read in one. They name what they cannot help with in general terms, never in the message's words. Each keeps
its class's contract (`contract.py`). Nothing here raises.
"""

import unicodedata
from collections.abc import Mapping

from app.vantage.rules import DISTRESSED, HARMS
from app.vantage.terms import Decision, ResponseClass

HELP = (
    "If you or somebody near you is in danger, call your local emergency number now (112 in Europe, 911 or"
    " 988 in the United States, 999 or 116 123 in Britain); findahelpline.com lists people to talk to in"
    " other countries."
)
"""Where people help. Numbers: EU directive 2018/1972 (112), 988lifeline.org, samaritans.org, as of 2026."""
HELP_ASKED = (
    "Are you or somebody near you in danger right now, and can you call the local emergency number (112 in"
    " Europe, 911 or 988 in the United States, 999 or 116 123 in Britain; findahelpline.com lists others)?"
)
"""The same where only questions may be asked."""
EMERGENCY = "This may be an emergency, and it should not wait for an answer of mine."
DISTRESS = "I'm sorry that it is this hard for you right now. You don't have to go through it alone."

HARMFUL = (
    "I can't help with this, because it could bring harm to people. I'm glad to help with a safe side of it,"
    " such as how it is prevented."
)
REFUSALS: Mapping[str, str] = {
    **dict.fromkeys([*(f"{category}.asked" for category in HARMS), "pressed.harm"], HARMFUL),
    "selfharm.asked": f"{DISTRESS} I won't help with a way to hurt yourself. {HELP}",
    "minors.asked": "I can't help with this: it would harm children. I'm glad to help with something else.",
    "limits.refuse": (
        "I can't help with this here: this topic has been set aside. I'm glad to help with something else."
    ),
    "": "I can't help with this here. I'm glad to help with something else.",
}
"""By the rule that gave the REFUSE; "": routing alone gave it, and nobody said that it was harmful."""
QUESTIONS: Mapping[str, str] = {
    "unclear": "What would you like to know or have done, and what is it about?",
    "": "What exactly would you like to know?",
}
"""What is asked where a model asks nothing."""
LEADS: Mapping[ResponseClass, str] = {
    ResponseClass.NEGOTIATE: (
        "I can help with a part of this only, and leave out what could do harm or was set aside."
    ),
    ResponseClass.REDIRECT: "For this there is better help than I can give.",
}
"""What stands before an answer of which the model did not say so itself."""


LONGEST = 60
"""Characters of a name that is shown."""


def refusal(decision: Decision) -> str:
    """A REFUSE in the policy's own words; who may be in danger is told where help is, too."""
    told = _first(REFUSALS, decision)
    return f"{told} {HELP}" if DISTRESSED.intersection(decision.rules) and HELP not in told else told


def question(decision: Decision) -> str:
    """A CLARIFY in the policy's own words: one question, which names the rival sources if there are any; who
    may be in danger is told where help is by it."""
    if DISTRESSED.intersection(decision.rules):
        return HELP_ASKED
    names = [f"“{name}”" for name in dict.fromkeys(map(plain, decision.names)) if name]
    if len(names) < 2:
        return _first(QUESTIONS, decision)
    return f"Do you mean {', '.join(names[:-1])} or {names[-1]}?"


def plain(name: str) -> str:
    """A name that was retrieved, as data: letters, digits and a few signs, of one line."""
    kinds = ((sign, unicodedata.category(sign)) for sign in name if unicodedata.category(sign) != "Cf")
    kept = (sign if kind[0] in "LNM" or sign in "+-" else " " for sign, kind in kinds)
    return " ".join("".join(kept).split())[:LONGEST].strip()


def lead(decision: Decision) -> str:
    """The sentences that open an answer of this class; "" where none are needed."""
    if decision.response_class is ResponseClass.CLARIFY or not DISTRESSED.intersection(decision.rules):
        return LEADS.get(decision.response_class, "")
    return f"{EMERGENCY if 'emergency' in decision.rules else DISTRESS} {HELP}"


def _first(texts: Mapping[str, str], decision: Decision) -> str:
    """Of the first rule that has one."""
    return next((texts[rule] for rule in decision.rules if rule in texts), texts[""])
