"""How many distinct things a message asks: questions, commands, items of a list.

`1 − 1/n` for n asks: 0 for one, .5 for two, .67 for three. The same ask twice is one. Sentences and lines are
those of `vantage/words.py`. Nothing here raises.
"""

from collections.abc import Sequence
from itertools import filterfalse, pairwise

from app.domain.tongue import ASKING, QUESTIONS, words
from app.vantage.argument import POLITE
from app.vantage.hollow import EITHER, VERBS
from app.vantage.words import Text

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


def breadth(text: Text) -> float:
    """In [0, 1)."""
    sentences = Text(text.cased[:LONGEST], text.tokens[:LONGEST]).sentences
    listed = {after for before, after in pairwise(sentences) if _number(before)}
    asks = sum(_asks(said, said in listed) for said in dict.fromkeys(sentences) if not _number(said))
    return 1 - 1 / asks if asks > 1 else 0.0


def _number(sentence: Sequence[str]) -> bool:
    """`2.`: what follows is an item."""
    return len(sentence) == 2 and sentence[0].isdecimal() and sentence[1] == "."


def _asks(sentence: Sequence[str], listed: bool) -> int:
    """How many asks a sentence is; 0: it tells something."""
    first, begun = _begins(sentence)
    if first < 0:
        return 0
    asked = not MARK.isdisjoint(sentence)
    ordered = sentence[begun] in ORDERS or tuple(sentence[first : first + 2]) in WISHES
    if not (asked or ordered or listed or _item(sentence)):
        return 0
    if FURTHER.isdisjoint(sentence):
        return 1
    joints = [n for n, token in enumerate(sentence) if token in FURTHER and n > begun]
    return 1 + sum([_further(sentence, n, asked) for n in joints])


def _begins(sentence: Sequence[str]) -> tuple[int, int]:
    """Where its first word stands, and the first that is no mere opening; -1: it has no word."""
    first = -1
    for n, token in enumerate(sentence):
        if token[0].isalnum():
            if token not in OPENING:
                return (n if first < 0 else first), n
            first = n if first < 0 else first
    return first, first


def _item(sentence: Sequence[str]) -> bool:
    """An item of a list: a bullet, or a number and a bracket."""
    return sentence[0] in BULLETS or (sentence[0].isdecimal() and sentence[1:2] == (")",))


def _further(sentence: Sequence[str], n: int, asked: bool) -> bool:
    """Whether another ask begins behind this joining word."""
    after = next(filterfalse(SKIPPED.__contains__, sentence[n + 1 : n + 4]), "")
    if after in ASKERS or (after in ASKING and sentence[n] != "or"):
        return True
    return not asked and after in TASKS
