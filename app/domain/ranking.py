"""Identical content is told once: the first of equal texts stays, the others are listed as duplicates."""

from collections.abc import Sequence

from app.domain.passage import Candidate
from app.domain.text import once


@once
def content(text: str) -> str:
    """What two texts share that differ in white space and case alone."""
    return " ".join(text.split()).casefold()


def dedupe(
    candidates: Sequence[Candidate], *, across: bool = True
) -> tuple[list[Candidate], list[Candidate]]:
    """(kept, duplicates), each in the order given: give the best first. Not `across`: each source alone,
    since a person's own memory and a copy of it elsewhere are two things until one of them is told."""
    kept: list[Candidate] = []
    duplicates: list[Candidate] = []
    seen: set[tuple[str, str]] = set()
    for candidate in candidates:
        same = ("" if across else candidate.passage.source, content(candidate.passage.text))
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
