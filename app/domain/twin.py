"""Near duplicates: memories that say the same with other marks and fillers. The best stays, once. Pure.

Two are twins if the same words stand in the same order in both, what says nothing (`FILLERS`) aside:
neither then holds a number, date, name or `not` that the other lacks. A guess (shared words, close vectors)
would merge the red pill with the blue one. Words of time count as the days they mean: `yesterday` of two days
is two days. One pass, a key a text. Why: docs/decisions/0051. Nothing here raises.
"""

import re
from collections import Counter
from collections.abc import Hashable, Sequence

from app.domain.passage import Candidate, Passage
from app.domain.ranking import dedupe
from app.domain.said import SAID, days
from app.domain.text import once
from app.domain.tongue import words

FILLERS = words(
    "a an the just really very truly actually simply indeed definitely oh hey hi ok okay yeah please that"
    " der das den dem ein eine einen einem einer eines sehr wirklich einfach eben halt bitte"
    " el la los las un una unos unas muy realmente pues le les une vraiment"
)
"""In English, German, Spanish and French; none that means something in another of them (`die`, `mal`)."""
TOKEN = re.compile(r"(?<!\w)[-+]\d+(?:[.,:/-]\d+)*|\d+(?:[.,:/-]\d+)*|\w+|[^\w\s.,;:!¡¿'’\"“”„«»()…–—-]")
"""Words, numbers with their marks, and signs that mean something: `€`, `%`, `?`, a face."""
SHORT = (("n't", " not"), ("'m", " am"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"))
LONGEST = 1_000
"""Characters: longer ones are texts, and seldom said twice."""
PAIRS = ("ou", "mo", "or", "ti", "wa", "co", "ro", "ng")
"""Frequent pairs of letters that no filler holds, nor what SHORT adds; none ends in `n`, as `don't` does."""
NOTED = 5
"""Pairs that are told."""

Pair = tuple[Candidate, Candidate]
"""A twin, and the one that stays for it."""


def marked(text: str) -> tuple[int, ...]:
    """What twins share and few others do, at a tenth of the price: only such texts are compared."""
    low = text.casefold()
    return tuple([low.count(pair) for pair in PAIRS])


@once
def told(text: str) -> tuple[str, ...]:
    """Its words in their order, without fillers."""
    low = text.casefold().replace("’", "'")
    for mark, whole in SHORT if "'" in low else ():
        low = low.replace(mark, whole)
    every = TOKEN.findall(low)
    return tuple(word for word in every if word not in FILLERS) or tuple(every)


def whose(passage: Passage) -> Hashable:
    """Twins are of one source, one namespace and one kind, and mean the same days."""
    _, *of = (*days(passage),) or (None,)
    return (passage.source, passage.fields.get("vantage_id"), passage.fields.get("kind"), *of)


def single(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate], list[str]]:
    """(kept, duplicates and twins, what is told of the twins), of each source alone: give the best first."""
    first, same = dedupe(candidates, across=False)
    kept, pairs = twins(first)
    return kept, [*same, *(item for item, _ in pairs)], notes(pairs)


def twins(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Pair]]:
    """(kept, twins of them with the one that stays), each in the order given: give the best first."""
    marks = [marked(item.passage.text) if compared(item.passage) else None for item in candidates]
    alike = Counter(marks)
    kept: list[Candidate] = []
    pairs: list[Pair] = []
    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for item, mark in zip(candidates, marks, strict=True):
        alone = mark is None or alike[mark] < 2
        group = [] if alone else groups.setdefault(told(item.passage.text), [])
        stays = next((each for each in group if whose(each.passage) == whose(item.passage)), None)
        if stays:
            pairs.append((item, stays))
        else:
            kept.append(item)
            group.append(item)
    return kept, pairs


def compared(passage: Passage) -> bool:
    """Whether it may have a twin."""
    return passage.source in SAID and len(passage.text) <= LONGEST


def notes(pairs: Sequence[Pair]) -> list[str]:
    """What stays for what, by label."""
    return [f"{item.passage.label} is a duplicate of {stays.passage.label}" for item, stays in pairs[:NOTED]]
