"""The second stage: candidates ordered anew by whoever reads question and text together.

What it is shown, and what its scores come to: relevance in [0, 1] again, so that boosts multiply it
as they did the first stage's. Similarity is left alone: threshold and match rules look at it alone.
Why so, and why these sizes: docs/decisions/0050.
"""

import math
from collections.abc import Sequence
from typing import Protocol

from app.domain.fusion import scored
from app.domain.passage import Candidate

RERANK = "rerank"
"""`Degraded.source` of a second stage that did not come, and the reason of an answer that cannot be used."""
MOST = 50
"""Candidates shown at most: more than are packed, no more than a small model reads in a second or two."""
TEXT_BYTES, QUERY_BYTES = 1_500, 500
"""UTF-8, of each text and of the question: together under 512 tokens, which is all that many models read.
Bytes, because they follow tokens in every script."""
GAP = " … "
"""Between the ends of a question that is too long: what it asks stands at one of them."""


class Reranker(Protocol):
    """Reads a question and each of several texts together."""

    @property
    def name(self) -> str:
        """Whose scores they are: results of two are never taken for each other's."""

    async def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite number a text, in their order; higher is better, of any scale. `RetrievalError`:
        timeout, unavailable, or rerank for an answer that is none."""


def reordered(candidates: Sequence[Candidate], scores: Sequence[float]) -> tuple[Candidate, ...]:
    """The first `len(scores)` by their scores, equal ones in the order they had; behind them the others as
    they were, at most as relevant as the last of those."""
    ranked = sorted(zip(scores, unit(scores), candidates, strict=False), key=lambda told: -told[0])
    rest = candidates[len(ranked) :]
    least = ranked[-1][1] if ranked else 1.0
    highest = max((item.passage.score for item in rest), default=0.0)
    factor = least / highest if highest > least else 1.0
    return (
        *(Candidate(scored(item.passage, score), item.words) for _, score, item in ranked),
        *(
            Candidate(scored(item.passage, min(least, item.passage.score * factor)), item.words)
            for item in rest
        ),
    )


def unit(scores: Sequence[float]) -> list[float]:
    """Scores in [0, 1], in their order: as they are where all lie there, else they are logits."""
    if all(0 <= score <= 1 for score in scores):
        return [float(score) for score in scores]
    return [logistic(score) for score in scores]


def logistic(score: float) -> float:
    """A logit as a probability; never overflows."""
    if score >= 0:
        return 1 / (1 + math.exp(-score))
    odds = math.exp(score)
    return odds / (1 + odds)


def shown(text: str, most: int = TEXT_BYTES) -> str:
    """The beginning of a text. Servers refuse blank ones."""
    cut = text[:most].encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
    return cut if cut.strip() else "-"


def asked(text: str) -> str:
    """A question, or of a long one its beginning and its end: a follow-up's own words stand last."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= QUERY_BYTES:
        return raw.decode()
    half = (QUERY_BYTES - len(GAP.encode())) // 2
    return GAP.join(part.decode("utf-8", "ignore") for part in (raw[:half], raw[-half:]))
