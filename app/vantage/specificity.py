"""How much of a message narrows the answer down: numbers, names, quotations, conditions, constraints.

In [0, 1): `n / (n + 4)` over weighted signs, so a further condition never lowers it. Names are told by their
capital within a sentence; scripts without capitals have fewer signs. Nothing here raises.
"""

import re
from itertools import compress
from operator import ne

from app.domain.tongue import MONTHS
from app.domain.tongue import words as wordset
from app.vantage.words import ENDS, Text

CONDITIONS = MONTHS | wordset(
    "if unless when while until because since although though except without within given assuming"
    " provided where whose before after during between instead wenn falls ohne wahrend weil si sauf sans"
    " avant apres pendant cuando sin antes despues durante porque"
)
CONSTRAINTS = wordset(
    "only exactly must cannot least most maximum minimum max min under over per each every without avoid"
    " using such as like than not no limit budget words lines bullets step steps table json csv nur"
    " hochstens mindestens seulement solo maximo minimo"
)
NARROWING = CONDITIONS | CONSTRAINTS
DIGIT = re.compile(r"[0-9]")
OPENING, PAIRED = "“„«", '"`'
"""Signs that open a quotation, and signs of which two make one."""
LONGEST = 1000
"""Tokens looked at: beyond, it is 1 as good as."""


def specificity(message: str, text: Text) -> float:
    """In [0, 1)."""
    tokens, cased = text.tokens[:LONGEST], text.cased[:LONGEST]
    words = [token for token in tokens if token.isalnum()]
    plain = message.isascii() and not DIGIT.search(message)
    numbers = 0 if plain else sum(map(str.isdecimal, words))
    # Whole passes in C: what differs from its lower case has a capital, and few words narrow anything.
    written = compress(range(len(cased)), map(ne, cased, tokens))
    names = sum([_name(cased[n - 1], cased[n]) for n in written if n and cased[n][0].isupper()])
    quoted = sum(message.count(sign) for sign in OPENING) + sum(message.count(sign) // 2 for sign in PAIRED)
    narrowing = [word for word in words if word in NARROWING]
    conditions = sum(map(CONDITIONS.__contains__, narrowing))
    constraints = sum(map(CONSTRAINTS.__contains__, narrowing))
    signs = numbers + names + 1.5 * quoted + 0.75 * conditions + 0.4 * constraints + 0.1 * len(words)
    return signs / (signs + 4)


def _name(before: str, word: str) -> bool:
    """Whether a capital is more than a sentence's first."""
    return len(word) > 1 and before not in ENDS and before != ":"
