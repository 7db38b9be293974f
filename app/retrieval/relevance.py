"""What counts as a match, and when a message needs no search (docs/contract.md).

The threshold applies to similarity, never to fused or boosted scores. On public question sets lexical
evidence accepted a passage of an unrelated text for 0-3 % of questions.
"""

from collections.abc import Iterable

from app.types import Candidate, Hit

SHORT_CHARACTERS = 10
"""Shorter messages may skip retrieval."""
MOST_OF_IT = 0.6
"""Coverage of the query's IDF mass that suffices without rare words, as in a reach of one passage."""
CONTENT = 0.35
"""Share of the query's content that suffices while nothing is embedded."""


def vouched(hit: Hit) -> bool:
    """True if lexical evidence suffices: the passage has the query's rare words, or most of its words; or, if
    the query was not embedded, enough of its content."""
    return hit.rare or hit.coverage > MOST_OF_IT or hit.content > CONTENT


def similar(candidate: Candidate, threshold: float) -> bool:
    return candidate.passage.similarity is not None and candidate.passage.similarity > threshold


def by_words(candidate: Candidate) -> bool:
    return candidate.words is not None and vouched(candidate.words)


def is_match(candidate: Candidate, threshold: float) -> bool:
    return similar(candidate, threshold) or by_words(candidate)


def skipped(message: str, candidates: Iterable[Candidate], threshold: float) -> bool:
    """A short message without a similar passage: the model answers without context. Lexical evidence decides
    if nothing was embedded."""
    if len(message.strip()) >= SHORT_CHARACTERS:
        return False
    return not any(
        by_words(candidate) if candidate.passage.similarity is None else similar(candidate, threshold)
        for candidate in candidates
    )
