"""Relevance in [0, 1], from both legs of all sources: the one place where it is made.

Not ranks (RRF) but two scales: similarity as it is, and BM25 as a share of the best passage's. Similarity
keeps its own scale, never stretched to what this query found: where an embedder cannot tell texts apart (a
language it never learned), its similarities lie close together and words decide. Figures and what was
weighed: docs/decisions/0009. After Bruch, Gai, Ingber 2023, "An Analysis of Fusion Functions".
"""

from collections.abc import Sequence

from app.domain.passage import Candidate, Hit, Legs, Passage

MEANING = 2.5
WORDS = 1.0
"""Weights: the space between an unrelated and a related similarity is about half of the whole scale."""


def fuse(found: Sequence[Legs]) -> list[Candidate]:
    """Every passage of every source, most relevant first; equal ones in the order the sources gave them."""
    ceiling = max((strength(legs) for legs in found), default=0.0)
    candidates = [
        candidate(passage, hits.get(key), factor)
        for legs in found
        for hits, factor in [(word_view(legs), scale(legs, ceiling))]
        for key, passage in legs.passages.items()
    ]
    return sorted(candidates, key=lambda item: -item.passage.score)


def strength(legs: Legs) -> float:
    """The most of the query that a word hit of the source covers: comparable between sources, unlike BM25."""
    return max((hit.coverage for hit in legs.words), default=0.0)


def scale(legs: Legs, ceiling: float) -> float:
    """What a BM25 score of this source is multiplied by; the best hit of the best source comes to 1."""
    if not legs.words or legs.words[0].score <= 0:
        return 0.0
    return (strength(legs) / ceiling if ceiling > 0 else 1.0) / legs.words[0].score


def word_view(legs: Legs) -> dict[str, Hit]:
    """How the word leg saw passages by id, whichever leg chose them."""
    return {**legs.beside, **{hit.key: hit for hit in legs.words}}


def candidate(passage: Passage, hit: Hit | None, factor: float) -> Candidate:
    """A passage with its relevance. Without similarity (the query was not embedded) words count alone."""
    words = min(1.0, hit.score * factor) if hit else 0.0
    if passage.similarity is None:
        relevance = words
    else:
        meaning = max(0.0, min(1.0, passage.similarity))
        relevance = (MEANING * meaning + WORDS * words) / (MEANING + WORDS)
    return Candidate(scored(passage, relevance), hit)


def scored(passage: Passage, score: float) -> Passage:
    """The same with its score: field by field, at a third of what `replace` takes for each of eighty."""
    return Passage(
        passage.source,
        passage.id,
        passage.text,
        passage.tokens,
        passage.label,
        passage.similarity,
        score,
        passage.title,
        passage.fields,
        passage.created_at,
    )
