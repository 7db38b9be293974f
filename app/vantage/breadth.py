"""How many distinct things a message asks: questions, commands, items of a list.

`1 − 1/n` for n asks: 0 for one, .5 for two, .67 for three. The same ask twice is one. Sentences and lines are
those of `vantage/words.py`. Nothing here raises.
"""

from collections.abc import Sequence, Set
from itertools import filterfalse
from typing import NamedTuple, TypeAlias

from app.domain.tongue import ASKING, QUESTIONS, words
from app.vantage.argument import POLITE
from app.vantage.hollow import EITHER, VERBS
from app.vantage.kinds import ALNUM, DECIMAL, Table
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


_WORD, _NUMBER, _END = Table(look=ALNUM), Table(look=DECIMAL), Table(ENDS)
_TELLING = Table(MARK | ORDERS | BULLETS | {"i"}, DECIMAL)
"""No sentence asks that has none of these, unless it stands behind a number."""
_OPENING, _ORDER, _FURTHER, _MARK = Table(OPENING), Table(ORDERS), Table(FURTHER), Table(MARK)
_READ = (_WORD, _OPENING, _ORDER, _FURTHER, _MARK, Table(BULLETS, DECIMAL))


def breadth(text: Text) -> float:
    """In [0, 1)."""
    kinds = text.kinds[:LONGEST]
    tokens = text.tokens[:LONGEST]
    read = _Read(tokens, *(table.marks(kinds) for table in _READ))
    ends = _END.marks(kinds)
    listed = _listed(tokens, kinds, ends)
    telling = b"\1" * len(kinds) if listed else _TELLING.marks(kinds)
    # The same sentence twice is looked for among those that ask alone: most texts have few.
    counts: dict[Tokens, int] = {}
    place = telling.find(1)
    while place >= 0:
        begun, end = ends.rfind(1, 0, place) + 1, ends.find(1, place) + 1 or len(ends)
        if count := _asks(read, begun, end, listed):
            counts[tokens[begun:end]] = count
        place = telling.find(1, end)
    asks = sum(counts.values())
    return 1 - 1 / asks if asks > 1 else 0.0


class _Read(NamedTuple):
    """Tokens, and by place 1 where a word stands, one of OPENING, of ORDERS, of FURTHER, of MARK, and what an
    item begins with."""

    tokens: Tokens
    words: bytes
    opening: bytes
    orders: bytes
    further: bytes
    marks: bytes
    heads: bytes


def _listed(tokens: Tokens, kinds: bytes, ends: bytes) -> frozenset[Tokens]:
    """The items behind numbers (`2.`)."""
    found: set[Tokens] = set()
    for place in _NUMBER.places(kinds):
        if tokens[place + 1 : place + 2] == (".",) and (not place or ends[place - 1]):
            begun = ends.find(0, place + 2)
            if begun >= 0:
                found.add(tokens[begun : ends.find(1, begun) + 1 or len(ends)])
    return frozenset(found)


def _number(sentence: Sequence[str]) -> bool:
    """`2.`: what follows is an item."""
    return len(sentence) == 2 and sentence[0].isdecimal() and sentence[1] == "."


def _asks(read: _Read, begun: int, end: int, listed: Set[Tokens]) -> int:
    """How many asks a sentence is; 0: it tells something."""
    _, words, opening, orders, further, marks, _ = read
    first = opens = words.find(1, begun, end)
    if first < 0:
        return 0
    while opens >= 0 and opening[opens]:
        opens = words.find(1, opens + 1, end)
    opens = first if opens < 0 else opens
    asked = marks.find(1, begun, end) >= 0
    if not (asked or orders[opens] or _otherwise(read, first, begun, end, listed)):
        return 0
    joint = further.find(1, opens + 1, end)
    return 1 + (_joined(read, joint, end, asked) if joint >= 0 else 0)


def _otherwise(read: _Read, first: int, begun: int, end: int, listed: Set[Tokens]) -> bool:
    """Whether a sentence is a wish, told by its first word, or an item of a list."""
    tokens = read.tokens
    if tokens[first] == "i" and tokens[first : min(first + 2, end)] in WISHES:
        return True
    return bool(read.heads[begun] or listed) and _item(tokens, begun, end, listed)


def _item(tokens: Tokens, begun: int, end: int, listed: Set[Tokens]) -> bool:
    """An item of a list: a bullet, or a number and a bracket; or behind its number."""
    head = tokens[begun]
    if head in BULLETS or (head.isdecimal() and tokens[begun + 1 : end][:1] == (")",)):
        return True
    return bool(listed) and (said := tokens[begun:end]) in listed and not _number(said)


def _joined(read: _Read, joint: int, end: int, asked: bool) -> int:
    """How many further asks begin behind joining words, of which the first is told."""
    found = 0
    while joint >= 0:
        found += _further(read.tokens, joint, end, asked)
        joint = read.further.find(1, joint + 1, end)
    return found


def _further(tokens: Sequence[str], n: int, end: int, asked: bool) -> bool:
    """Whether another ask begins behind this joining word."""
    after = tokens[n + 1] if n + 1 < end else ""
    if after in SKIPPED:
        after = next(filterfalse(SKIPPED.__contains__, tokens[n + 2 : min(n + 4, end)]), "")
    if after in ASKERS or (after in ASKING and tokens[n] != "or"):
        return True
    return not asked and after in TASKS
