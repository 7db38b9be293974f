"""How many distinct things a message asks: questions, commands, items of a list.

`1 − 1/n` for n asks: 0 for one, .5 for two, .67 for three. The same ask twice is one. Sentences and lines are
those of `vantage/words.py`. Nothing here raises.
"""

from collections.abc import Iterator, Sequence
from itertools import filterfalse
from typing import TypeAlias

from app.domain.tongue import ASKING, QUESTIONS, words
from app.vantage.argument import POLITE
from app.vantage.hollow import EITHER, VERBS
from app.vantage.kinds import ALNUM, DECIMAL, Shape, Table
from app.vantage.words import ENDS, Text

Tokens: TypeAlias = tuple[str, ...]

ORDERS = VERBS | EITHER
"""How a command begins."""
WISHES = (("i", "need"), ("i", "want"), ("i", "would"), ("i", "'d"))
FURTHER = words("and also plus then or as well , ; additionally furthermore moreover & und et y")
"""After one of these a question word begins a further ask…"""
TASKS = words(
    "list explain describe compare contrast summarise summarize translate write rewrite rephrase draft"
    " give tell show find make create suggest recommend fix check send book remind add remove delete"
    " calculate convert analyse analyze evaluate define generate build propose name order schedule"
    " cancel plan draw correct proofread keep"
)
"""… and in a command one of these: verbs that are seldom nouns or names."""
SKIPPED = words("also then please finally")
OPENING = POLITE | SKIPPED | words("and now next first")
ASKERS = QUESTIONS | words(
    "wer was wann warum wie qui que quand pourquoi comment quien cuando donde como por"
)
LONGEST = 1500
"""Tokens looked at: what is asked behind a text so long is one more among many."""
MARK = frozenset("?？")
BULLETS = frozenset("-*•–")


_WORD, _END, _FURTHER = Table(look=ALNUM), Table(ENDS), Table(FURTHER)
_TELLING = Table(MARK | ORDERS | BULLETS | {"i"}, DECIMAL)
"""Nothing asks where none of these stands."""
_OWN = {
    "W": _WORD,
    "E": _END,
    "P": Table(frozenset(filter(str.isalnum, OPENING))),
    "O": Table(frozenset(filter(str.isalnum, ORDERS))),
    "M": Table(MARK),
    "B": Table(BULLETS),
    "D": Table(look=DECIMAL),
    "R": Table(frozenset(")")),
    "S": Table(frozenset(".")),
    "I": Table(frozenset("i")),
    "V": Table(frozenset(second for _, second in WISHES)),
}
_OTHERS = {"F": (_END,), "N": (_WORD, _END)}
"""What letters stand for in the shapes below: a word, an end, what opens, an order, a question's mark, a
bullet, a number, a bracket, a stop, the two words of a wish; all but an end, all but words and ends."""
_LEAD = "(?>N*+(?:PN*+)*+(?=W)|N*+(?=P))"
"""What stands before a sentence's first word that opens nothing; before its first, where all of them do."""
_ASK = Shape(f"E(?:(?=B|DR|N*+IV)()|)({_LEAD})(?(1)F*+|(?:OF*+|WF*+(?=M)))", _OWN, _OTHERS)
"""The end of a sentence, and one that asks behind it: an item, a wish, an order, any with a word and a mark.
`(?>…)` and `*+` never go back: linear."""
_ITEM = Shape(f"D(?<=ED)(?=SE*+(?!DS)()({_LEAD})(F*+))", _OWN, _OTHERS)
"""A number by itself (`2.`), and the sentence behind it, if it has a word."""


def breadth(text: Text) -> float:
    """In [0, 1)."""
    kinds = text.kinds[:LONGEST]
    if not _TELLING.count(kinds):
        return 0.0
    tokens = text.tokens[:LONGEST]
    further = _FURTHER.marks(kinds)
    # The same sentence twice is one ask.
    counts: dict[Tokens, int] = {}
    for begun, opens, end in _asking(kinds):
        joint = further.find(1, opens + 1, end)
        counts[tokens[begun:end]] = 1 + (_joined(tokens, further, joint, end) if joint >= 0 else 0)
    asks = sum(counts.values())
    return 1 - 1 / asks if asks > 1 else 0.0


def _asking(kinds: bytes) -> Iterator[tuple[int, int, int]]:
    """Sentences that ask: where each begins, its first word that opens nothing, and where it ends."""
    # The first sentence is found as all are, by the end of one before it: so places are one further on.
    row = _END.own()[:1] + kinds
    for found in _ASK.found(row):
        yield found.start(), found.end(2) - 1, found.end()
    for found in _ITEM.found(row):
        yield found.start(1) - 1, found.end(2) - 1, found.end(3)


def _joined(tokens: Tokens, further: bytes, joint: int, end: int) -> int:
    """How many further asks begin behind joining words, of which the first is told."""
    found = 0
    end = min(end, len(tokens))
    asked = tokens[end - 1] in MARK
    while joint >= 0:
        found += _further(tokens, joint, end, asked)
        joint = further.find(1, joint + 1, end)
    return found


def _further(tokens: Sequence[str], n: int, end: int, asked: bool) -> bool:
    """Whether another ask begins behind this joining word."""
    after = tokens[n + 1] if n + 1 < end else ""
    if after in SKIPPED:
        after = next(filterfalse(SKIPPED.__contains__, tokens[n + 2 : min(n + 4, end)]), "")
    if after in ASKERS or (after in ASKING and tokens[n] != "or"):
        return True
    return not asked and after in TASKS
