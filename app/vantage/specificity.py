"""How much of a message narrows the answer down: numbers, names, quotations, conditions, constraints.

In [0, 1): `n / (n + 4)` over weighted signs, so a further condition never lowers it. Names are told by their
capital within a sentence; scripts without capitals have fewer signs. Nothing here raises.
"""

from app.domain.tongue import MONTHS
from app.domain.tongue import words as wordset
from app.vantage.kinds import ALNUM, DECIMAL, Table
from app.vantage.words import CAPITALS, ENDS, Text

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
FIRST = ENDS | {":"}
"""Behind these a sentence begins."""
OPENING, PAIRED = "“„«", '"`'
"""Signs that open a quotation, and signs of which two make one."""
LONGEST = CAPITALS
"""Tokens looked at: beyond, it is 1 as good as."""
_CONDITIONS, _CONSTRAINTS = Table(CONDITIONS), Table(CONSTRAINTS)
_WORDS, _NUMBERS = Table(look=ALNUM), Table(look=DECIMAL)


def specificity(message: str, text: Text) -> float:
    """In [0, 1)."""
    kinds = text.kinds[:LONGEST]
    cased = text.cased
    # Whether a capital is more than a sentence's first.
    capitals = [n for n in text.written if n and cased[n][0].isupper() and cased[n - 1] not in FIRST]
    names = sum([len(cased[n]) > 1 for n in capitals])
    quoted = sum(message.count(sign) for sign in OPENING) + sum(message.count(sign) // 2 for sign in PAIRED)
    signs = _NUMBERS.count(kinds) + names + 1.5 * quoted
    signs = signs + 0.75 * _CONDITIONS.count(kinds) + 0.4 * _CONSTRAINTS.count(kinds)
    signs += 0.1 * _WORDS.count(kinds)
    return signs / (signs + 4)
