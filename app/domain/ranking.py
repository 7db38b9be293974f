"""Identical content is told once: the first of equal texts stays, the others are listed as duplicates.

But `I ran yesterday` of two days tells of two runs: memories whose words of time mean other days are not
identical, nor those of two days that speak of `now` or of a weekday. Nothing here raises. Why:
docs/decisions/0051.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from app.domain.almanac import WEEKDAYS, WORD, bare
from app.domain.days import days
from app.domain.passage import SAID, Candidate, Passage
from app.domain.text import once
from app.domain.tongue import words
from app.domain.when import expressions


@once
def content(text: str) -> str:
    """What two texts share that differ in white space and case alone."""
    return " ".join(text.split()).casefold()


BEGINNING = 8
"""Words that are looked at first: few texts share them, and only those are compared whole."""


@once
def beginning(text: str) -> str:
    """Of texts with equal content the same, at a tenth of its price."""
    return " ".join(text.split(None, BEGINNING)[:BEGINNING]).casefold()


FLEETING = words(WEEKDAYS.replace("|", " ")) | words(
    "now currently morning noon jetzt momentan morgen mittag ahora actualmente manana mediodia"
    " maintenant actuellement matin midi"
)
"""Words that mean another time on another day, and of themselves no day that can be told. Without accents."""


def dedupe(
    candidates: Sequence[Candidate], *, across: bool = True
) -> tuple[list[Candidate], list[Candidate]]:
    """(kept, duplicates), each in the order given: give the best first. Not `across`: each source alone,
    since a person's own memory and a copy of it elsewhere are two things until one of them is told."""
    kept: list[Candidate] = []
    duplicates: list[Candidate] = []
    seen: defaultdict[tuple[str, str], list[Passage]] = defaultdict(list)
    firsts = [
        ("" if across else candidate.passage.source, beginning(candidate.passage.text))
        for candidate in candidates
    ]
    alike = Counter(firsts)
    if len(alike) == len(firsts):
        return list(candidates), []
    for candidate, first in zip(candidates, firsts, strict=True):
        if alike[first] == 1:
            kept.append(candidate)
            continue
        passage = candidate.passage
        name = (first[0], content(passage.text))
        if any(identical(passage, other) for other in seen[name]):
            duplicates.append(candidate)
        else:
            kept.append(candidate)
            seen[name].append(passage)
    return kept, duplicates


def identical(one: Passage, other: Passage) -> bool:
    """Whether equal texts mean the same, as far as anybody knows."""
    times = meant(one), meant(other)
    return None in times or times[0] == times[1]


def meant(passage: Passage) -> tuple[Hashable, ...] | None:
    """The days that a memory speaks of, and its own where it is fleeting. (): a text without words of time;
    None: nobody knows, for want of the day on which it was said, or since nobody said it."""
    if passage.source not in SAID:
        return None
    now = fleeting(passage.text)
    if passage.said_on is None:
        return None if now or expressions(passage.text) else ()
    _, *spans = days(passage)
    return (*((passage.said_on,) if now else ()), *spans)


@once
def fleeting(text: str) -> bool:
    """Whether it has such a word."""
    return not FLEETING.isdisjoint(WORD.findall(bare(text).lower()))


def apart(
    candidates: Sequence[Candidate], told: Sequence[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    """(others, copies of what is `told`), each in the order given."""
    texts = {content(item.passage.text) for item in told}
    others: list[Candidate] = []
    copies: list[Candidate] = []
    for candidate in candidates:
        (copies if content(candidate.passage.text) in texts else others).append(candidate)
    return others, copies
