"""Relevance in [0, 1], from both legs of all sources: the one place where it is made.

Not ranks (RRF) but two scales: similarity as it is, and what a passage holds of the question's words, by
their IDF, as a share of what the best one holds. Similarity keeps its own scale, never stretched to what this
query found: where an embedder cannot tell texts apart (a language it never learned), its similarities lie
close together and words decide. How much words weigh beside it is read off both legs (`contrast.py`), once a
request, so that passages of all sources compare; and the more, the less of the question the embedder can
read (`grasp.py`). Figures and what was weighed: docs/decisions/0009, 0049, 0057.
After Bruch, Gai, Ingber 2023, "An Analysis of Fusion Functions".
"""

from collections.abc import Mapping, Sequence

from app.domain.contrast import weight
from app.domain.passage import Candidate, Hit, Legs, Passage, new_passage
from app.domain.quick import quick

MEANING = 5.0
"""What similarity weighs beside words that weigh 1: a fifth of its scale lies between a related text and
one that is not."""
HELD = 0.8
"""Share of a passage's words that counts which of them it holds; the rest is its BM25. How often and in how
long a text they stand matters where words stand alone; meaning knows it better."""


running = quick(Candidate)


def fuse(found: Sequence[Legs], grasp: float = 1.0) -> list[Candidate]:
    """Every passage of every source, most relevant first; equal ones in the order the sources gave them.
    `grasp`: how much of the question the embedder can read (`grasp.py`)."""
    ceiling = max((strength(legs) for legs in found), default=0.0)
    words = balance(found, ceiling) / (grasp if ceiling > 0 else 1.0)
    candidates = [
        candidate(passage, hits.get(key), told.get(key, 0.0), factor, words)
        for legs in found
        for hits, factor in [(word_view(legs), scale(legs, ceiling))]
        for told in [worded(legs, hits, factor, grasp)]
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


def balance(found: Sequence[Legs], ceiling: float) -> float:
    """What words weigh in this request: both legs of all sources, one after the other. What neighbours lend
    says nothing of how clearly a leg tells."""
    factors = [scale(legs, ceiling) for legs in found]
    words = [
        (hit.score - hit.lent) * factor
        for legs, factor in zip(found, factors, strict=True)
        for hit in legs.words
    ]
    meaning = [hit.score for legs in found for hit in legs.meaning]
    return weight(sorted(words, reverse=True), sorted(meaning, reverse=True))


def word_view(legs: Legs) -> dict[str, Hit]:
    """How the word leg saw passages by id, whichever leg chose them."""
    return {**legs.dated, **legs.beside, **{hit.key: hit for hit in legs.words}}


def worded(legs: Legs, hits: Mapping[str, Hit], factor: float, grasp: float) -> dict[str, float]:
    """Beside meaning: what each holds of the question's words, its neighbours' loan included, and its BM25;
    the best of the best source comes to 1. Where a source does not tell what is held, all is BM25, and the
    more of it, the less meaning knows."""
    if factor <= 0:
        return {}
    best = legs.words[0].score
    loan = strength(legs) / best
    held = {key: hit.coverage + hit.lent * loan for key, hit in hits.items()}
    most, top = max(own for key, own in held.items() if key not in legs.dated), factor * best
    if most <= 0:
        return {key: min(top, hit.score * factor) for key, hit in hits.items()}
    share = HELD * grasp
    each, rest = share * top / most, (1 - share) * factor
    return {key: min(1.0, held[key] * each + hit.score * rest) for key, hit in hits.items()}


def candidate(passage: Passage, hit: Hit | None, told: float, factor: float, words: float) -> Candidate:
    """A passage with its relevance. Without similarity (the query was not embedded) BM25 alone counts."""
    if passage.similarity is None:
        relevance = min(1.0, hit.score * factor) if hit else 0.0
    else:
        meaning = max(0.0, min(1.0, passage.similarity))
        relevance = (MEANING * meaning + words * told) / (MEANING + words)
    return running(scored(passage, relevance), hit)


def scored(passage: Passage, score: float) -> Passage:
    """The same with its score: field by field, at a tenth of what `replace` takes for each of eighty."""
    return new_passage(
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
