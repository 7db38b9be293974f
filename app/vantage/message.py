"""A short message as the rules of clarity read it: cut into words once, with what is told by its look.

Whether it asks, whether it is made of empty words, how many of its words name something, whether a text to
work on stands in it. Nothing here raises.
"""

import re
from functools import cached_property

from app.domain.followup import tokenised
from app.domain.pointing import MARKS
from app.domain.tongue import COURTESY, ENGLISH, PREPOSITIONS, QUESTIONS, SOCIAL, words
from app.vantage.argument import MENTIONING, OPERANDS, mentions
from app.vantage.hollow import EITHER, LANGUAGES, VERBS, empty, hollow

STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
"""`heeelp`, `pleaseee`."""
CODE = "_={}<>\\@`$|#"
"""Signs of a name or a line of code, which is about something."""
GREETED = (SOCIAL | COURTESY) - words("you there again so all")
"""What may stand before a request."""
PERSONS = words("i we he she they you i'm i've")
TELLING = words("it this that there my our his her their your everybody nobody it's that's")
"""How a statement begins: with a person, or with these and a verb."""
VERBAL = ENGLISH.verbs | VERBS | EITHER | words("it's that's")
FEW = 2
"""Empty words behind a colon: with more of them they are a text."""
SHOWN = re.compile(r":\s|\s[-–—]\s")
"""What stands before a text: a colon, a dash."""
JUDGING = words("grammatical spelt spelled correct right")
"""Behind these stands what is to be judged."""
SHOWING = words("this these that it following word words phrase phrases sentence here")
"""Who writes one of these before it shows what is meant."""
POINTED = words("it this that these those them one")
TROUBLE = words(
    "need needs want wants help problem problems issue issues trouble wrong broken error errors question"
    " questions doesn't doesnt not isn't won't can't stuck something thing fails failed know mean urgent"
    " asap don't dont cant"
)
"""A statement of nothing but empty words that holds one of these is meant as a request."""


def _lengthy(behind: list[str]) -> bool:
    """Whether empty words behind a colon are many, and neither ask nor tell of a trouble."""
    if behind[0] in QUESTIONS | ENGLISH.verbs | VERBS | EITHER:
        return False
    return len(behind) > FEW and (TROUBLE.isdisjoint(behind) or behind[0] not in PERSONS | TELLING)


def lowered(text: str) -> list[str]:
    """Its words in lower case, without marks."""
    return [token.lower() for token in tokenised(text) if token not in MARKS]


class Message:
    """A short message, cut into words once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenised(STRETCHED.sub(r"\1", text))
        self.lower = [token.lower() for token in self.tokens if token not in MARKS]
        self.said = [word for word in self.lower if word not in GREETED]

    @cached_property
    def asks(self) -> bool:
        """Whether it is a question or a command, told by its mark or its first word."""
        first = self.said[0] if self.said else ""
        begins = (QUESTIONS, ENGLISH.verbs, ENGLISH.openings, PREPOSITIONS, VERBS, EITHER)
        wishes = (
            first in ("i", "we")
            and self.said[1:2] in (["need"], ["want"])
            and POINTED.issuperset(self.said[2:3])
        )
        return wishes or "?" in self.text or any(first in group for group in begins)

    @cached_property
    def hollow(self) -> bool:
        """Whether no word of it says what it is about; a statement must hold a word of trouble."""
        if not hollow(self.lower) or self.meant or self.given:
            return False
        said = self.lower[0] in PERSONS or (self.lower[0] in TELLING and not VERBAL.isdisjoint(self.lower))
        tells = said and "?" not in self.text
        return not tells or not TROUBLE.isdisjoint(self.lower)

    @cached_property
    def own(self) -> int:
        """How many of its words name something, in the language that leaves the fewest."""
        english = sum(not empty(self.lower, n) for n in range(len(self.lower)))
        return min([english, *(sum(word not in own for word in self.lower) for own in LANGUAGES)])

    @cached_property
    def meant(self) -> bool:
        """Whether a word of it is meant as a word."""
        return mentions(self.lower)

    @cached_property
    def given(self) -> bool:
        """Whether a text stands in it to work on: quoted, behind a colon, on its own line; or code."""
        if any(sign in self.text for sign in CODE) or "--" in self.text:
            return True
        if "Quotation" in self.tokens:
            return True
        if self._shown:
            return True
        head, sign, behind = self.text.replace("\n", ":").partition(":")
        if not sign:
            return False
        pasted = any(word not in SOCIAL | COURTESY for word in lowered(behind))
        worked = not (OPERANDS | MENTIONING).isdisjoint(lowered(head))
        return pasted and worked

    @property
    def _shown(self) -> bool:
        """`What does this mean: carpe diem`, `put this in French - where is the station`."""
        sign = SHOWN.search(self.text)
        if not sign:
            return False
        head, behind = lowered(self.text[: sign.start()]), lowered(self.text[sign.end() :])
        if not behind or SHOWING.isdisjoint(head) or head[0] in PERSONS | TELLING:
            return False
        if ":" in sign[0] and not (MENTIONING | JUDGING).isdisjoint(head):
            return True
        if all(word in SOCIAL | COURTESY for word in behind):
            return False
        if ":" not in sign[0]:
            return not hollow(behind) and behind[0] not in PERSONS | TELLING
        return not hollow(behind) or _lengthy(behind)
