"""Identical content is told once: the first of equal texts stays, the others are listed as duplicates."""

from collections.abc import Sequence

from app.domain.passage import Candidate
from app.domain.text import once


@once
def content(text: str) -> str:
    """What two texts share that differ in white space and case alone."""
    return " ".join(text.split()).casefold()


def dedupe(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """(kept, duplicates), each in the order given: give the best first."""
    kept: list[Candidate] = []
    duplicates: list[Candidate] = []
    seen: set[str] = set()
    for candidate in candidates:
        text = content(candidate.passage.text)
        (duplicates if text in seen else kept).append(candidate)
        seen.add(text)
    return kept, duplicates
