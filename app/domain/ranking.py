"""Identical content is told once: the first of equal texts stays, the others are listed as duplicates."""

from collections import Counter
from collections.abc import Sequence

from app.domain.passage import Candidate
from app.domain.text import once


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


def dedupe(
    candidates: Sequence[Candidate], *, across: bool = True
) -> tuple[list[Candidate], list[Candidate]]:
    """(kept, duplicates), each in the order given: give the best first. Not `across`: each source alone,
    since a person's own memory and a copy of it elsewhere are two things until one of them is told."""
    kept: list[Candidate] = []
    duplicates: list[Candidate] = []
    seen: set[tuple[str, str]] = set()
    firsts = [beginning(candidate.passage.text) for candidate in candidates]
    alike = Counter(firsts)
    for candidate, first in zip(candidates, firsts, strict=True):
        text = candidate.passage.text
        same = ("" if across else candidate.passage.source, content(text) if alike[first] > 1 else first)
        (duplicates if same in seen else kept).append(candidate)
        seen.add(same)
    return kept, duplicates


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
