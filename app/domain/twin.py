"""Near duplicates: memories that say the same but for how it is written. The best stays, once. Pure.

Twins are equal once Unicode (NFC), case, white space, and the forms of quotes and dashes are unified, English
contractions spelled out, an interjection that opens and the full stops or exclamation marks that close left
out. Nothing else is: no words that say nothing, for each says something somewhere ("not just a toy", "Le
called", "plan A"). So no digit, letter or sign in the middle is lost. Words of time count as the days that
they mean (`ranking.py`). One pass, a key a text. Why: docs/decisions/0051. Nothing here raises.
"""

import re
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from unicodedata import normalize

from app.domain.passage import SAID, Candidate, Passage
from app.domain.ranking import dedupe, meant
from app.domain.text import once

FORMS = {
    "'": "\u2018\u2019\u02bc",
    '"': "\u201c\u201d\u201e\u00ab\u00bb",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212",
}
"""Quotes and dashes, by the one that all are read as."""
STRAIGHT = str.maketrans({form: plain for plain, forms in FORMS.items() for form in forms})
NEGATED = re.compile(r"n(?<=[a-z]n)'t(?!\w)")
CONTRACTED = re.compile(r"'(?<=[a-z]')(?:m|re|ve|ll)(?!\w)")
"""Each begins with its sign, which is found at a fifth of the price of what stands before it."""
WHOLE = {"'m": " am", "'re": " are", "'ve": " have", "'ll": " will"}
"""What contractions stand for; `'s` and `'d` stand for several."""
OPENING = re.compile(r"(?:oh|hey|hi|well|ok|okay), (?=\S+ \S+ \S)")
"""An interjection, where a sentence follows: `oh, no` is one by itself."""
LONGEST = 1_000
"""Characters: longer ones are texts, and seldom said twice."""
OPENED, BEGINNING = 8, 4
"""Words that are read, and compared, to tell that two texts are no twins."""
NOTED = 5
"""Pairs that are told."""
STAYS = " is a duplicate of "
"""Between the labels of a pair that is told."""

Pair = tuple[Candidate, Candidate]
"""A twin, and the one that stays for it."""


@once
def begun(text: str) -> str:
    """How it begins: of twins the same, at a fifth of the price of all that it says. Of OPENED words one may
    be an interjection and one a mark that closes."""
    return " ".join(told(" ".join(text.split(None, OPENED)[:OPENED])).split()[:BEGINNING])


@once
def told(text: str) -> str:
    """What it says: of twins the same."""
    low = text.lower() if text.isascii() else normalize("NFC", text).lower().translate(STRAIGHT)
    low = " ".join(low.split())
    if "'" in low:
        low = CONTRACTED.sub(lambda found: WHOLE[found[0]], NEGATED.sub(" not", low))
    return ended(OPENING.sub("", low, count=1) if OPENING.match(low) else low)


def ended(text: str) -> str:
    """Without the full stops, or the exclamation marks, behind its last word; behind a digit or another sign
    they may be a part of it (`am 5.`, `3!`, `:).`)."""
    for mark in ".!":
        if text.endswith(mark):
            bare = text.rstrip(mark).rstrip()
            return bare if bare[-1:].isalpha() else text
    return text


def whose(passage: Passage) -> Hashable:
    """Twins are of one source, one namespace and one kind, and mean the same days."""
    fields = passage.fields
    return passage.source, fields.get("vantage_id"), fields.get("kind"), meant(passage)


def single(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate], list[str]]:
    """(kept, duplicates and twins, what is told of the twins), of each source alone: give the best first.
    Identical content is told once whatever its kind and namespace, near duplicates within theirs."""
    first, same = dedupe(candidates, across=False)
    kept, pairs = twins(first)
    return kept, [*same, *(item for item, _ in pairs)], notes(pairs)


def twins(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Pair]]:
    """(kept, twins of them with the one that stays), each in the order given: give the best first."""
    kept: list[Candidate] = []
    pairs: list[Pair] = []
    groups: dict[str, list[Candidate]] = {}
    firsts = [begun(item.passage.text) if compared(item.passage) else None for item in candidates]
    if all(first is None for first in firsts):
        return list(candidates), []
    alike = Counter(firsts)
    for item, first in zip(candidates, firsts, strict=True):
        group = (
            groups.setdefault(told(item.passage.text), []) if first is not None and alike[first] > 1 else []
        )
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
    return [f"{item.passage.label}{STAYS}{stays.passage.label}" for item, stays in pairs[:NOTED]]


def noted(note: str, labels: Collection[str]) -> bool:
    """Whether a note tells that of two of these labels."""
    one, between, other = note.partition(STAYS)
    return bool(between) and one in labels and other in labels
