"""What counts as a match, and when a message is not worth searching for (docs/contract.md).

The threshold looks at similarity, never at fused or boosted scores. Measured on public question sets: words
vouched for a passage of another subject's texts in 0-3 % of questions.
"""

from collections.abc import Iterable

from app.types import Candidate, Hit

SHORT_CHARACTERS = 10
"""A message under this may be skipped."""
MOST_OF_IT = 0.6
"""Share of the query's IDF mass that vouches where no word is rare, as in a reach of one passage."""
CONTENT = 0.35
"""Share of the query's content that vouches while nothing is embedded."""


def vouched(hit: Hit) -> bool:
    """True if words vouch for a passage: it holds the query's rare words, or most of all its words; or, where
    the query could not be embedded and words alone decide, enough of what it is about."""
    return hit.rare or hit.coverage > MOST_OF_IT or hit.content > CONTENT


def similar(candidate: Candidate, threshold: float) -> bool:
    """True if its similarity is above the threshold."""
    return candidate.passage.similarity is not None and candidate.passage.similarity > threshold


def by_words(candidate: Candidate) -> bool:
    """True if words vouch for it."""
    return candidate.words is not None and vouched(candidate.words)


def is_match(candidate: Candidate, threshold: float) -> bool:
    """Similar enough, or vouched for by words."""
    return similar(candidate, threshold) or by_words(candidate)


def skipped(message: str, candidates: Iterable[Candidate], threshold: float) -> bool:
    """A short message, and nothing similar enough: the model answers without context. Where nothing could be
    compared by meaning, words decide."""
    if len(message.strip()) >= SHORT_CHARACTERS:
        return False
    return not any(
        by_words(candidate) if candidate.passage.similarity is None else similar(candidate, threshold)
        for candidate in candidates
    )
