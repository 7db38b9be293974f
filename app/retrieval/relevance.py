"""What counts as a match, and when a message needs no search (docs/contract.md).

A passage's evidence is its similarity, a little more or less by the share of the question's words in it. Two
bounds apply: the threshold of the settings, and what chance explains: the best of N unrelated passages grows
with N like √(2 ln N), so the best evidence of a question must exceed that, or nothing matches. Relevance and
boosts never decide. Where the embedder cannot read the question, words alone decide. Figures:
docs/adr/0004.
"""

import math
from collections.abc import Iterable

from app.types import CERTAIN, Candidate, Hit

SHORT_CHARACTERS = 10
"""Shorter messages may skip retrieval."""
WORDS, WORDS_FOREIGN, TYPICAL = 0.3, 0.5, 0.2
"""Evidence of words: so much for all of the question's IDF mass, from what unrelated passages have of it;
more where `unrelated` texts are similar to the embedder."""
CHANCE = 0.105
"""The similarity of unrelated passages: its spread between passages and between questions."""
LEAST, LEAST_PER_CHANCE = 0.75, 2.0
"""Share of the best evidence that a further passage needs: at most LEAST, and less while little is in reach,
so many times what chance explains."""
MOST_OF_IT = 0.6
"""Coverage of the question's IDF mass that suffices while nothing is embedded."""
CONTENT, CONTENT_ILLEGIBLE = 0.35, 0.2
"""Share of the question's content that suffices while nothing is embedded, and in a language that the
embedder cannot read."""
UNRELATED = -1.0
"""Evidence below every threshold, which are in [-1, 1]; `CERTAIN` is above."""


def chance(passages: int) -> float:
    """Evidence that the best of so many unrelated passages may have."""
    return CHANCE * math.sqrt(2 * math.log(max(2, passages)))


def evidence(
    similarity: float | None, words: Hit | None, *, legible: bool = True, unrelated: float = 0.0
) -> float:
    """What the threshold is compared with. `legible`: the embedder can read the question; otherwise, and for
    a passage without a similarity, words alone decide, and the evidence is CERTAIN or UNRELATED. `unrelated`:
    the mean similarity of unrelated texts in the languages of the two."""
    if similarity is not None and legible:
        shared = (words.coverage if words else 0.0) - TYPICAL
        above = (similarity - unrelated) / (1 - unrelated)
        return above + shared * (WORDS_FOREIGN if unrelated else WORDS)
    least = CONTENT if legible else CONTENT_ILLEGIBLE
    sufficient = words is not None and (words.content > least or (legible and words.coverage > MOST_OF_IT))
    return CERTAIN if sufficient else UNRELATED


def least_related(every: Iterable[float], passages: int) -> float:
    """The least evidence of a match among the evidence of all candidates, with this number of passages in
    reach. What words alone decide is neither compared with chance nor makes others need more."""
    best = max((each for each in every if each < CERTAIN), default=UNRELATED)
    bound = chance(passages)
    return min(LEAST, LEAST_PER_CHANCE * bound) * best if best > bound else CERTAIN


def evidence_of(candidate: Candidate) -> float:
    """The evidence of a candidate; the similarity if none was recorded."""
    passage = candidate.passage
    known = passage.similarity if passage.evidence is None else passage.evidence
    return UNRELATED if known is None else known


def is_match(candidate: Candidate, threshold: float) -> bool:
    return evidence_of(candidate) > threshold


def skipped(message: str, candidates: Iterable[Candidate], threshold: float) -> bool:
    """A short message without a match: the model answers without context."""
    if len(message.strip()) >= SHORT_CHARACTERS:
        return False
    return not any(is_match(candidate, threshold) for candidate in candidates)
